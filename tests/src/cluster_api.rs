//! Cluster API's own managers, core and kubeadm bootstrap, on a control plane of the bench.
//!
//! Their manifests expect pods behind Services. Here they are plain processes, so every reference to a
//! Service becomes a URL on loopback: in the conversion of the CRDs and in the webhook registrations.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    self as apiextensions, CustomResourceConversion, CustomResourceDefinition, WebhookConversion,
};
use kube::Resource;
use kube::api::{Api, Patch, PatchParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use crate::binaries::{Binaries, Binary};
use crate::control_plane::{
    self, ControlPlane, ControlPlaneError, FIELD_MANAGER, Program, blocking, free_port,
};
use crate::pki::{LOOPBACK, make_private_directory};

const READY_PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(50);
const ATTEMPTS: usize = 5;

/// One of the managers.
struct Manager {
    name: &'static str,
    binary: PathBuf,
    /// The directory of its CRDs.
    crds: PathBuf,
    /// The file with its webhook registrations.
    webhooks: PathBuf,
    /// Kinds that Cluster API finds by reference carry the contract that they fulfil as a label. The module's
    /// own kustomization adds it; the plain files lack it.
    has_contract: bool,
}

async fn managers() -> Result<[Manager; 2], ControlPlaneError> {
    let wanted = [Binary::ClusterApi, Binary::KubeadmBootstrap];
    let [core, bootstrap] = control_plane::find(wanted).await?;
    let manifests = blocking(move || Binaries::ensure(&wanted)?.cluster_api_manifests()).await?;
    Ok([
        Manager {
            name: "cluster-api",
            binary: core,
            crds: manifests.core_crds,
            webhooks: manifests.core_webhooks,
            has_contract: false,
        },
        Manager {
            name: "kubeadm-bootstrap",
            binary: bootstrap,
            crds: manifests.bootstrap_crds,
            webhooks: manifests.bootstrap_webhooks,
            has_contract: true,
        },
    ])
}

/// Running managers of Cluster API. Dropping it ends them; the CRDs and webhooks stay, and refuse everything
/// from then on, so keep it for as long as the control plane.
#[derive(Debug)]
pub struct ClusterApi {
    programs: Vec<Program>,
}

impl ClusterApi {
    /// Installs the CRDs, starts the managers, waits until they are ready, and registers their webhooks.
    ///
    /// # Errors
    /// When the programs or manifests cannot be had, or a manager does not get ready.
    pub async fn start(plane: &ControlPlane) -> Result<Self, ControlPlaneError> {
        let managers = managers().await?;
        let mut attempt = 1;
        loop {
            match attempt_start(plane, &managers).await {
                Err(error) if error.is_port_taken() && attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    /// An error with its last words if one of the managers has ended.
    ///
    /// # Errors
    /// As said.
    pub fn check(&mut self) -> Result<(), ControlPlaneError> {
        self.programs.iter_mut().try_for_each(Program::check)
    }
}

async fn attempt_start(plane: &ControlPlane, managers: &[Manager]) -> Result<ClusterApi, ControlPlaneError> {
    let authority = plane.pki().cluster().certificate();
    let mut placed = Vec::new();
    let mut crds = Vec::new();
    for manager in managers {
        let port = || free_port().ok_or(ControlPlaneError::NoFreePort);
        let (address, health_port) = (Address { port: port()?, authority }, port()?);
        crds.extend(manager.crds(&address)?);
        placed.push((manager, address, health_port));
    }
    // All of them before any manager: each manager watches kinds of the other, and ends when one is not
    // served.
    plane.install_crds(&crds).await?;

    let mut programs = Vec::new();
    for (manager, address, health_port) in &placed {
        programs.push(manager.start(plane, address.port, *health_port)?);
    }
    for (program, (_, _, health_port)) in programs.iter_mut().zip(&placed) {
        until_ready(program, *health_port).await?;
    }
    // After the managers are ready, so that no request meets a webhook that does not answer.
    for (manager, address, _) in &placed {
        manager.register_webhooks(plane, address).await?;
    }
    Ok(ClusterApi { programs })
}

impl Manager {
    fn start(
        &self,
        plane: &ControlPlane,
        webhook_port: u16,
        health_port: u16,
    ) -> Result<Program, ControlPlaneError> {
        let certificates = plane.data_directory().join("pki").join(self.name);
        make_private_directory(&certificates)?;
        let certificate = plane.pki().cluster().server(self.name, &LOOPBACK, &["localhost"])?;
        certificate.keep(&certificates.join("tls"))?;

        let mut command = Command::new(&self.binary);
        command.args([
            format!("--kubeconfig={}", plane.kubeconfig().display()),
            // The manager offers no choice of address for this one: it listens on all of them.
            format!("--webhook-port={webhook_port}"),
            format!("--webhook-cert-dir={}", certificates.display()),
            format!("--health-addr=127.0.0.1:{health_port}"),
            "--diagnostics-address=127.0.0.1:0".to_owned(),
            "--insecure-diagnostics=true".to_owned(),
            "--leader-elect=false".to_owned(),
            // Flatcar's worker configuration.
            "--feature-gates=KubeadmBootstrapFormatIgnition=true".to_owned(),
        ]);
        Program::start(self.name, &command, plane.logs().join(format!("{}.log", self.name)))
    }

    fn crds(&self, address: &Address<'_>) -> Result<Vec<CustomResourceDefinition>, ControlPlaneError> {
        let directory = &self.crds;
        let mut crds: Vec<CustomResourceDefinition> = Vec::new();
        for entry in fs::read_dir(directory).map_err(ControlPlaneError::file(directory))? {
            let path = entry.map_err(ControlPlaneError::file(directory))?.path();
            crds.extend(read::<CustomResourceDefinition>(&path)?);
        }
        for crd in &mut crds {
            if crd.spec.versions.len() > 1 {
                crd.spec.conversion = Some(address.conversion());
            }
            if self.has_contract {
                let labels = crd.metadata.labels.get_or_insert_default();
                labels.insert("cluster.x-k8s.io/v1beta1".to_owned(), "v1beta1".to_owned());
                labels.insert("cluster.x-k8s.io/v1beta2".to_owned(), "v1beta2".to_owned());
            }
        }
        Ok(crds)
    }

    /// Both managers' manifests call their registrations by the same names, so each gets the manager's name
    /// in front.
    async fn register_webhooks(
        &self,
        plane: &ControlPlane,
        address: &Address<'_>,
    ) -> Result<(), ControlPlaneError> {
        let client = plane.client().await?;
        for mut registration in read::<MutatingWebhookConfiguration>(&self.webhooks)? {
            for webhook in registration.webhooks.iter_mut().flatten() {
                address.instead_of_service(&mut webhook.client_config);
            }
            registration.metadata.name = Some(format!("{}-mutating", self.name));
            apply(Api::all(client.clone()), &registration).await?;
        }
        for mut registration in read::<ValidatingWebhookConfiguration>(&self.webhooks)? {
            for webhook in registration.webhooks.iter_mut().flatten() {
                address.instead_of_service(&mut webhook.client_config);
            }
            registration.metadata.name = Some(format!("{}-validating", self.name));
            apply(Api::all(client.clone()), &registration).await?;
        }
        Ok(())
    }
}

/// Where a manager's webhooks are, and who vouches for its certificate.
struct Address<'a> {
    port: u16,
    authority: &'a str,
}

impl Address<'_> {
    fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    fn authority(&self) -> ByteString {
        ByteString(self.authority.as_bytes().to_vec())
    }

    fn conversion(&self) -> CustomResourceConversion {
        CustomResourceConversion {
            strategy: "Webhook".to_owned(),
            webhook: Some(WebhookConversion {
                client_config: Some(apiextensions::WebhookClientConfig {
                    ca_bundle: Some(self.authority()),
                    service: None,
                    url: Some(self.url("/convert")),
                }),
                conversion_review_versions: vec!["v1".to_owned()],
            }),
        }
    }

    fn instead_of_service(&self, config: &mut WebhookClientConfig) {
        let path = config.service.take().and_then(|service| service.path).unwrap_or_default();
        config.url = Some(self.url(&path));
        config.ca_bundle = Some(self.authority());
    }
}

/// The documents of a manifest that are of this kind.
fn read<K>(path: &Path) -> Result<Vec<K>, ControlPlaneError>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let failed =
        |error: String| ControlPlaneError::Manifest { reason: format!("`{}`: {error}", path.display()) };
    let text = fs::read_to_string(path).map_err(ControlPlaneError::file(path))?;
    let documents: Vec<serde_json::Value> =
        serde_saphyr::from_multiple(&text).map_err(|error| failed(error.to_string()))?;
    let kind = K::kind(&());
    let ours =
        documents.into_iter().filter(|document| document.get("kind").is_some_and(|name| *name == *kind));
    ours.map(serde_json::from_value).collect::<Result<_, _>>().map_err(|error| failed(error.to_string()))
}

async fn apply<K>(api: Api<K>, object: &K) -> Result<(), ControlPlaneError>
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
{
    let name = object.meta().name.clone().unwrap_or_default();
    let params = PatchParams::apply(FIELD_MANAGER).force().validation_strict();
    let applied = api.patch(&name, &params, &Patch::Apply(object)).await;
    applied.map(drop).map_err(ControlPlaneError::request(format!("apply {} `{name}`", K::kind(&()))))
}

async fn until_ready(program: &mut Program, health_port: u16) -> Result<(), ControlPlaneError> {
    let address = format!("http://127.0.0.1:{health_port}");
    let client = control_plane::plain_client(&address)?;
    let started = Instant::now();
    loop {
        program.check()?;
        match control_plane::readiness(&client).await {
            Ok(()) => return Ok(()),
            Err(waiting_for) if started.elapsed() > READY_PATIENCE => {
                return Err(program.not_ready(READY_PATIENCE, waiting_for));
            }
            Err(_) => sleep(GLANCE).await,
        }
    }
}
