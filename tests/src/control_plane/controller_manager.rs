//! kube-controller-manager, limited to a few controllers.

use std::path::Path;
use std::process::Command;

use super::data_directory::DataDirectory;
use super::program::Program;
use super::{ControlPlaneError, kubeconfig};
use crate::pki::Pki;

/// Starts it. It must find an API server that is ready, else it gives up after ten seconds.
pub(super) fn start(
    binary: &Path,
    server: &str,
    controllers: &[String],
    pki: &Pki,
    directory: &DataDirectory,
) -> Result<Program, ControlPlaneError> {
    // In the masters' group, because the alternative, a service account for each controller, makes the start
    // slower.
    let user = "system:kube-controller-manager";
    let identity = pki.cluster().client(user, &["system:masters"])?;
    let kubeconfig = directory.path().join("config/controller-manager.kubeconfig");
    kubeconfig::write(&kubeconfig, server, pki.cluster().certificate(), user, &identity)?;

    let file = |name: &str| pki.file(name).display().to_string();
    let mut command = Command::new(binary);
    command.args([
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={}", controllers.join(",")),
        format!("--root-ca-file={}", file("ca.crt")),
        format!("--service-account-private-key-file={}", file("sa.key")),
        format!("--cluster-signing-cert-file={}", file("ca.crt")),
        format!("--cluster-signing-key-file={}", file("ca.key")),
        "--leader-elect=false".to_owned(),
        // Serves nothing.
        "--secure-port=0".to_owned(),
        // Tests delete many namespaces and owners at once; the default of 20 requests a second is for big
        // clusters.
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ]);
    Program::start("kube-controller-manager", &command, directory.log("kube-controller-manager"))
}
