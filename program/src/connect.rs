//! How a program reaches the API server.

use std::path::{Path, PathBuf};

use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

/// Why the API server cannot be reached.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ConnectError {
    #[error("cannot read the kubeconfig `{path}`: {source}; check that the file exists and names a cluster")]
    Kubeconfig { path: PathBuf, source: KubeconfigError },
    #[error("cannot tell how to reach the API server: {0}; run in a pod, or give a --kubeconfig")]
    NoConfig(#[from] InferConfigError),
    #[error("cannot reach the API server: {0}")]
    Client(#[from] kube::Error),
}

/// A client that acts as the kubeconfig says; without one, as a pod of its cluster does.
///
/// # Errors
/// When the kubeconfig cannot be read, or there is none and this is no pod.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    Ok(Client::try_from(config(kubeconfig).await?)?)
}

/// How such a client connects, for whoever wants it otherwise in some way.
///
/// # Errors
/// As for [`connect`].
pub async fn config(kubeconfig: Option<&Path>) -> Result<Config, ConnectError> {
    let mut config = match kubeconfig {
        None => Config::infer().await?,
        Some(path) => {
            let unreadable = |source| ConnectError::Kubeconfig { path: path.to_owned(), source };
            let file = Kubeconfig::read_from(path).map_err(unreadable)?;
            Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(unreadable)?
        }
    };
    // The client would ask up to fifteen times by itself, writes too, and nobody would see it. What is asked again, and when,
    // is decided by whoever asks: in a turn, by a watch, or by `patiently`.
    config.default_retry = false;
    Ok(config)
}
