//! What can fail when the API server is asked, and how it is told apart.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

use crate::mint::MintError;
use crate::registration::Registration;

/// An API server that has not answered by now is treated as one that is down.
const PATIENCE: Duration = Duration::from_secs(10);

/// What can fail in one round. It is tried again, and what is served goes on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("cannot {action}: {}", reason(source))]
    Request { action: String, source: Box<kube::Error> },
    #[error("cannot {action}: no answer within {} seconds", PATIENCE.as_secs())]
    NoAnswer { action: String },
    #[error(transparent)]
    Mint(#[from] MintError),
    /// A lost Secret cannot be made anew without knowing what is trusted.
    #[error("no certificate is made while {0} cannot be read")]
    Blind(Registration),
}

impl Failure {
    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Request { .. } => "Request",
            Self::NoAnswer { .. } => "NoAnswer",
            Self::Mint(_) => "Mint",
            Self::Blind(_) => "Blind",
        }
    }

    /// What the API server answered, if it did.
    fn code(&self) -> Option<u16> {
        match self {
            Self::Request { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            _ => None,
        }
    }

    /// Somebody else was faster: not a failure, look again.
    pub(super) fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// The API server would rather not, and will not change its mind by being asked again.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self.code(), Some(400..=403 | 422))
    }
}

/// The API server's own sentence, without the dump of the whole status that `kube` appends.
fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// Asks the API server; `action` says what for, as in "cannot read …".
pub(super) async fn ask<T>(
    action: String,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Failure> {
    match timeout(PATIENCE, request).await {
        Ok(answer) => answer.map_err(|source| Failure::Request { action, source: Box::new(source) }),
        Err(_) => Err(Failure::NoAnswer { action }),
    }
}
