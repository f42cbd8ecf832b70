//! One control plane: etcd, kube-apiserver and kube-controller-manager, started together and gone together.

mod api_server;
mod command;
mod controller_manager;
mod data_directory;
mod error;
mod etcd;
mod kubeconfig;
mod objects;
mod options;
mod ports;
mod program;
mod programs;
mod user;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::sleep;

use self::api_server::ApiServer;
use self::data_directory::DataDirectory;
use self::etcd::Etcd;
use self::objects::Kinds;
use crate::binaries::Binary;
use crate::pki::Pki;

pub use self::command::CommandOutput;
pub use self::data_directory::Running;
pub use self::error::ControlPlaneError;
pub use self::objects::FIELD_MANAGER;
pub use self::options::{CONTROLLERS, Options};
pub use self::ports::{free_port, is_free};
pub use self::user::User;

pub(crate) use self::api_server::readiness;
pub(crate) use self::kubeconfig::{kubeconfig_without_credentials, plain_client};
pub(crate) use self::program::Program;
pub(crate) use self::programs::{blocking, find};

/// How long a port that should be free gets to become so.
const PORT_PAUSE: Duration = Duration::from_millis(500);

/// A running control plane. Dropping it ends its programs and removes its directory, unless that was asked to
/// be kept.
#[derive(Debug)]
pub struct ControlPlane {
    // In the order in which they end: each needs those after it.
    controller_manager: Mutex<Option<Program>>,
    api_server: tokio::sync::Mutex<ApiServer>,
    etcd: Arc<Etcd>,
    directory: Arc<DataDirectory>,

    pki: Pki,
    url: String,
    kubeconfig: PathBuf,
    kinds: Kinds,
}

impl ControlPlane {
    /// Starts a control plane and waits until its API server is ready. The first start on a machine builds
    /// the programs.
    ///
    /// # Errors
    /// When the programs cannot be had, the data directory or the port cannot be used, or a program does not
    /// get ready.
    pub async fn start(options: Options) -> Result<Self, ControlPlaneError> {
        let programs = Programs::find(&options).await?;
        let directory = programs.open_directory(&options).await?;
        let etcd =
            |directory: &Arc<DataDirectory>| Etcd::start(&programs.etcd, directory.clone()).map(Arc::new);
        bring_up(&programs, &options, &directory, "/registry", etcd).await
    }

    /// Starts a second API server that stores its objects in this one's etcd, under a prefix of its own: what
    /// a tenant gets. Two tenants of the same `name` share their objects. The etcd runs until the last of its
    /// users is dropped.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub async fn start_tenant(&self, name: &str, options: Options) -> Result<Self, ControlPlaneError> {
        let programs = Programs::find(&options).await?;
        let directory = programs.open_directory(&options).await?;
        let prefix = format!("/tenants/{name}");
        bring_up(&programs, &options, &directory, &prefix, |_| Ok(self.etcd.clone())).await
    }

    /// The control plane that the tests of this process share, started by whoever asks first. It ends with
    /// the process.
    ///
    /// # Errors
    /// As for [`start`](Self::start); the next caller tries again.
    pub async fn shared() -> Result<&'static Self, ControlPlaneError> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED.get_or_try_init(|| Self::start(Options::default())).await
    }

    /// The administrator's kubeconfig. It needs no other file.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A new client that acts as the administrator. Each call makes one, because a client is bound to the
    /// runtime that made it and every test has a runtime of its own.
    ///
    /// # Errors
    /// When the kubeconfig has been removed or changed.
    pub async fn client(&self) -> Result<kube::Client, ControlPlaneError> {
        kubeconfig::client(&self.kubeconfig).await
    }

    /// Where the API server is, for example `https://127.0.0.1:20443`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificates of this control plane.
    pub fn pki(&self) -> &Pki {
        &self.pki
    }

    /// The directory with everything: keys, data, logs.
    pub fn data_directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where the programs' logs are.
    pub fn logs(&self) -> PathBuf {
        self.directory.logs()
    }

    /// The audit log, one JSON object per line, if [`Options::audit_policy`] was given.
    pub fn audit_log(&self) -> PathBuf {
        api_server::audit_log(&self.directory)
    }

    /// Stops the API server politely; etcd goes on, and so does whoever waits for the API server to come
    /// back.
    pub async fn stop_api_server(&self) {
        self.api_server.lock().await.stop().await;
    }

    /// Starts the API server again on the same data and the same port, after stopping it if it runs.
    ///
    /// # Errors
    /// When it does not get ready.
    pub async fn restart_api_server(&self) -> Result<(), ControlPlaneError> {
        let mut api_server = self.api_server.lock().await;
        api_server.stop().await;
        let client = self.client().await?;
        let mut attempt = 1;
        loop {
            match api_server.start(&client, &self.etcd).await {
                // One that had to be killed may hold the port for a moment longer, and the port cannot
                // change: it is in every kubeconfig that was handed out.
                Err(error) if error.is_port_taken() && attempt < ports::ATTEMPTS => {
                    attempt += 1;
                    sleep(PORT_PAUSE).await;
                }
                result => return result,
            }
        }
    }

    /// An error with its last words if one of the programs has ended unasked.
    ///
    /// # Errors
    /// As said.
    pub async fn check(&self) -> Result<(), ControlPlaneError> {
        self.etcd.check()?;
        self.api_server.lock().await.check()?;
        match self.controller_manager.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(program) => program.check(),
            None => Ok(()),
        }
    }
}

/// Starts the programs, again with other ports if somebody was faster on one of them.
async fn bring_up(
    programs: &Programs,
    options: &Options,
    directory: &Arc<DataDirectory>,
    prefix: &str,
    etcd: impl Fn(&Arc<DataDirectory>) -> Result<Arc<Etcd>, ControlPlaneError>,
) -> Result<ControlPlane, ControlPlaneError> {
    let pki = Pki::open(&directory.path().join("pki"), api_server::SERVICE_ADDRESS)?;
    let administrator = pki.cluster().client("kubernetes-admin", &["system:masters"])?;
    let kubeconfig = directory.path().join("kubeconfig");

    let mut attempt = 1;
    let (url, api_server, etcd) = loop {
        let port = match options.api_port {
            Some(port) => until_free(port).await?,
            None => ports::free_port().ok_or(ControlPlaneError::NoFreePort)?,
        };
        let url = format!("https://127.0.0.1:{port}");
        kubeconfig::write(
            &kubeconfig,
            &url,
            pki.cluster().certificate(),
            "kubernetes-admin",
            &administrator,
        )?;
        let client = kubeconfig::client(&kubeconfig).await?;

        let etcd = etcd(directory)?;
        let mut api_server =
            ApiServer::new(&programs.api_server, port, prefix, &etcd, &pki, directory, options)?;
        match api_server.start(&client, &etcd).await {
            Ok(()) => break (url, api_server, etcd),
            Err(error) if error.is_port_taken() && attempt < ports::ATTEMPTS => attempt += 1,
            Err(error) => return Err(error),
        }
    };

    let controller_manager = match &programs.controller_manager {
        Some(binary) => Some(controller_manager::start(binary, &url, &options.controllers, &pki, directory)?),
        None => None,
    };
    Ok(ControlPlane {
        controller_manager: Mutex::new(controller_manager),
        api_server: tokio::sync::Mutex::new(api_server),
        etcd,
        directory: directory.clone(),
        pki,
        url,
        kubeconfig,
        kinds: Kinds::default(),
    })
}

/// Gives a port a moment: the control plane that had it may just be ending.
async fn until_free(port: u16) -> Result<u16, ControlPlaneError> {
    if !ports::is_free(port) {
        sleep(PORT_PAUSE).await;
    }
    if ports::is_free(port) { Ok(port) } else { Err(ControlPlaneError::PortInUse { port }) }
}

/// Where the programs are that a start needs.
struct Programs {
    etcd: PathBuf,
    api_server: PathBuf,
    controller_manager: Option<PathBuf>,
}

impl Programs {
    async fn find(options: &Options) -> Result<Self, ControlPlaneError> {
        if options.controllers.is_empty() {
            let [etcd, api_server] = programs::find([Binary::Etcd, Binary::KubeApiserver]).await?;
            return Ok(Self { etcd, api_server, controller_manager: None });
        }
        let wanted = [Binary::Etcd, Binary::KubeApiserver, Binary::KubeControllerManager];
        let [etcd, api_server, controller_manager] = programs::find(wanted).await?;
        Ok(Self { etcd, api_server, controller_manager: Some(controller_manager) })
    }

    async fn open_directory(&self, options: &Options) -> Result<Arc<DataDirectory>, ControlPlaneError> {
        Ok(Arc::new(match &options.data_directory {
            None => DataDirectory::temporary()?,
            Some(path) => DataDirectory::kept(path, &self.kubernetes_version().await?)?,
        }))
    }

    /// `Kubernetes v1.36.4` without the first word.
    async fn kubernetes_version(&self) -> Result<String, ControlPlaneError> {
        let failed = |source| ControlPlaneError::Start { program: "kube-apiserver".to_owned(), source };
        let mut command = Command::new(&self.api_server);
        command.arg("--version");
        let output = programs::blocking(move || command.output().map_err(failed)).await?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.trim().trim_start_matches("Kubernetes ").to_owned())
    }
}
