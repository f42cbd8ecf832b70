//! Kubeconfig files, and clients made from them.

use std::path::Path;

use k8s_openapi::ByteString;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use super::ControlPlaneError;
use crate::pki::{self, Issued};

/// Writes a kubeconfig that needs no other file, so that it can be copied elsewhere.
pub(super) fn write(
    path: &Path,
    server: &str,
    authority: &str,
    user: &str,
    identity: &Issued,
) -> Result<(), ControlPlaneError> {
    let base64 = |text: &str| ByteString(text.as_bytes().to_vec());
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "butler-bench", "cluster": {
            "server": server,
            "certificate-authority-data": base64(authority),
        }}],
        "users": [{ "name": user, "user": {
            "client-certificate-data": base64(&identity.certificate),
            "client-key-data": base64(&identity.key),
        }}],
        "contexts": [{ "name": "butler-bench", "context": { "cluster": "butler-bench", "user": user } }],
        "current-context": "butler-bench",
    });
    save(path, &kubeconfig)
}

/// Writes a kubeconfig for a server that speaks plain HTTP and knows nobody.
pub(crate) fn kubeconfig_without_credentials(path: &Path, server: &str) -> Result<(), ControlPlaneError> {
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "butler-bench", "cluster": { "server": server } }],
        "contexts": [{ "name": "butler-bench", "context": { "cluster": "butler-bench" } }],
        "current-context": "butler-bench",
    });
    save(path, &kubeconfig)
}

fn save(path: &Path, kubeconfig: &serde_json::Value) -> Result<(), ControlPlaneError> {
    let text = serde_saphyr::to_string(kubeconfig).map_err(|error| ControlPlaneError::Kubeconfig {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(pki::write(path, &text)?)
}

/// A new client: clients are not shared, because each is bound to the runtime that made it.
pub(super) async fn client(path: &Path) -> Result<kube::Client, ControlPlaneError> {
    let failed = |reason| ControlPlaneError::Kubeconfig { path: path.to_owned(), reason };
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| failed(error.to_string()))?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|error| failed(error.to_string()))?;
    // A proxy from the environment does not know the way to our loopback.
    config.proxy_url = None;
    kube::Client::try_from(config).map_err(|error| failed(error.to_string()))
}

/// A client for a server that speaks plain HTTP and knows nobody, such as a manager's health endpoint.
pub(crate) fn plain_client(address: &str) -> Result<kube::Client, ControlPlaneError> {
    let failed = |reason| ControlPlaneError::Kubeconfig { path: address.into(), reason };
    let url = address.parse().map_err(|error: http::uri::InvalidUri| failed(error.to_string()))?;
    kube::Client::try_from(kube::Config::new(url)).map_err(|error| failed(error.to_string()))
}
