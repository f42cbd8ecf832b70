//! etcd, reachable with its own client certificate only.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::data_directory::DataDirectory;
use super::program::Program;
use super::{ControlPlaneError, ports};
use crate::pki::{Authority, LOOPBACK, make_private_directory};

/// Enough to close its files; with nothing to flush it takes a fraction of this.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Etcd {
    program: Mutex<Program>,
    port: u16,
    pki: PathBuf,
    // Dropped after the program: its data is in there. Shared, since a tenant may outlive the control plane
    // whose etcd it uses.
    directory: Arc<DataDirectory>,
}

impl Etcd {
    /// Starts it without waiting: whoever connects retries until it answers.
    pub(super) fn start(binary: &Path, directory: Arc<DataDirectory>) -> Result<Self, ControlPlaneError> {
        let pki = directory.path().join("pki/etcd");
        make_private_directory(&pki)?;
        let authority = Authority::open(&pki.join("ca"), "butler-bench-etcd")?;
        authority.server("etcd", &LOOPBACK, &["localhost"])?.keep(&pki.join("server"))?;
        authority.client("kube-apiserver-etcd-client", &[])?.keep(&pki.join("client"))?;

        let port = ports::free_port().ok_or(ControlPlaneError::NoFreePort)?;
        let file = |name: &str| pki.join(name).display().to_string();
        let mut command = Command::new(binary);
        // Etcd takes every flag from the environment too, and ends if both set one.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"ETCD_") {
                command.env_remove(name);
            }
        }
        command.args([
            "--name=bench".to_owned(),
            format!("--data-dir={}", directory.path().join("etcd").display()),
            format!("--listen-client-urls=https://127.0.0.1:{port}"),
            format!("--advertise-client-urls=https://127.0.0.1:{port}"),
            // There are no peers. Port 0 lets the kernel choose one that nobody will ever call.
            "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
            "--initial-advertise-peer-urls=http://127.0.0.1:0".to_owned(),
            "--initial-cluster=bench=http://127.0.0.1:0".to_owned(),
            format!("--cert-file={}", file("server.crt")),
            format!("--key-file={}", file("server.key")),
            format!("--trusted-ca-file={}", file("ca.crt")),
            "--client-cert-auth=true".to_owned(),
            // Its default of two gigabytes is for production; a storm of the bench must not fill it up.
            "--quota-backend-bytes=8589934592".to_owned(),
            "--log-level=warn".to_owned(),
        ]);
        if directory.is_temporary() {
            command.arg("--unsafe-no-fsync");
        }
        let program = Program::start("etcd", &command, directory.log("etcd"))?;
        Ok(Self { program: Mutex::new(program), port, pki, directory })
    }

    pub(super) fn check(&self) -> Result<(), ControlPlaneError> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner).check()
    }

    /// What kube-apiserver needs to be told to store everything under `prefix`.
    pub(super) fn flags(&self, prefix: &str) -> Vec<String> {
        let file = |name: &str| self.pki.join(name).display().to_string();
        vec![
            format!("--etcd-servers=https://127.0.0.1:{}", self.port),
            format!("--etcd-cafile={}", file("ca.crt")),
            format!("--etcd-certfile={}", file("client.crt")),
            format!("--etcd-keyfile={}", file("client.key")),
            format!("--etcd-prefix={prefix}"),
        ]
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // What is about to be removed need not be closed properly.
        if !self.directory.is_temporary() {
            self.program.get_mut().unwrap_or_else(PoisonError::into_inner).stop(PATIENCE);
        }
    }
}
