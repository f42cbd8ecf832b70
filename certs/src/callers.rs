//! Proof that a caller is who it must be: the API server, or its front proxy.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::bell::Bell;
use crate::certificate::{Certificate, unix_time};
use crate::metrics::Metrics;

/// Why callers cannot be checked against an authority.
#[derive(Debug, thiserror::Error)]
pub enum CallersError {
    /// The text holds no certificate of an authority.
    #[error(
        "the client authority is not one or more X.509 certificates in PEM form; give the `ca.crt` that signed the caller's certificate"
    )]
    NoAuthority,
    /// The file cannot be read.
    #[error(
        "cannot read the client authority `{path}`: {source}; check that the file exists and may be read"
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
}

/// Why a caller is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotProved {
    /// It showed no certificate.
    #[error("the caller showed no certificate")]
    NoCertificate,
    /// Its certificate does not parse.
    #[error("the caller's certificate is not an X.509 certificate")]
    NotACertificate,
    /// Its certificate is not signed by the client authority, is over, or is not for clients.
    #[error("the caller's certificate is not a valid client certificate of the authority we trust")]
    NotTrusted,
    /// Its certificate is good but somebody else's.
    #[error("the caller's certificate is for {presented}, which is not among the allowed names")]
    NotAllowed {
        /// The names in it.
        presented: String,
    },
}

/// A caller that has proved who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name by which it was let in: an allowed one if there are such, else its common name.
    pub name: String,
    /// The common name in its certificate, which is the only one that counts where Kubernetes says so.
    pub common_name: Option<String>,
}

/// Who may call: holders of a certificate of this authority, with one of these names.
#[derive(Debug)]
pub struct Callers {
    verifier: ArcSwap<Arc<dyn ClientCertVerifier>>,
    allowed: BTreeSet<String>,
}

impl Callers {
    /// `authority` is PEM. Without any allowed name every certificate of that authority will do, as with
    /// kube-apiserver's `--requestheader-allowed-names`.
    ///
    /// # Errors
    /// When `authority` holds no certificate.
    pub fn new<'a>(
        authority: &[u8],
        allowed: impl IntoIterator<Item = &'a str>,
    ) -> Result<Arc<Self>, CallersError> {
        let allowed = allowed.into_iter().map(str::to_owned).collect();
        Ok(Arc::new(Self { verifier: ArcSwap::from_pointee(verifier(authority)?), allowed }))
    }

    /// The same with an authority from a file; see [`follow`](Self::follow).
    ///
    /// # Errors
    /// When the file cannot be read or holds no certificate.
    pub fn from_file<'a>(
        path: &Path,
        allowed: impl IntoIterator<Item = &'a str>,
    ) -> Result<Arc<Self>, CallersError> {
        Self::new(&read(path)?, allowed)
    }

    /// Trusts another authority from now on, at the next handshake. A bad one changes nothing.
    ///
    /// # Errors
    /// When `authority` holds no certificate.
    pub fn trust(&self, authority: &[u8]) -> Result<(), CallersError> {
        self.verifier.store(Arc::new(verifier(authority)?));
        Ok(())
    }

    /// Trusts whatever is in the file, as it changes. Never ends; drop it to stop.
    pub async fn follow(self: Arc<Self>, path: PathBuf, metrics: Metrics) {
        let mut bell = Bell::new(path.parent().unwrap_or(Path::new(".")));
        let mut last = None;
        loop {
            let contents = read(&path);
            let digest = contents.as_ref().ok().cloned();
            if last.as_ref() != Some(&digest) {
                match contents.and_then(|authority| self.trust(&authority)) {
                    Ok(()) => tracing::info!("the client authority is loaded"),
                    Err(error) => {
                        metrics.refused("ClientAuthority");
                        tracing::warn!("client authority refused: {error}; the one in use goes on");
                    }
                }
                last = Some(digest);
            }
            bell.wait(None).await;
        }
    }

    /// Who shows this chain, the caller's own certificate first. A pure function of the chain, what is trusted
    /// and the time; for use after the handshake, where one port serves several kinds of callers.
    ///
    /// # Errors
    /// Says what is missing in the proof.
    pub fn recognise(&self, chain: &[CertificateDer<'_>], now: Timestamp) -> Result<Caller, NotProved> {
        let (first, intermediates) = chain.split_first().ok_or(NotProved::NoCertificate)?;
        let certificate =
            Certificate::from_der(first.clone().into_owned()).map_err(|_| NotProved::NotACertificate)?;
        let verifier = self.verifier.load();
        verifier
            .verify_client_cert(first, intermediates, unix_time(now))
            .map_err(|_| NotProved::NotTrusted)?;
        judge_names(&certificate, &self.allowed)
    }
}

/// Whether the certificate is for one of the allowed names. Its common name counts, since that is where
/// Kubernetes puts a client's name, and so do its alternative names.
fn judge_names(certificate: &Certificate, allowed: &BTreeSet<String>) -> Result<Caller, NotProved> {
    let common = certificate.common_name.as_ref();
    let mut presented = common.into_iter().chain(&certificate.names);
    if allowed.is_empty() {
        let name = presented.next().cloned().unwrap_or_default();
        return Ok(Caller { name, common_name: common.cloned() });
    }
    match presented.clone().find(|name| allowed.contains(*name)) {
        Some(name) => Ok(Caller { name: name.clone(), common_name: common.cloned() }),
        None => {
            let names: Vec<String> = presented.map(|name| format!("`{name}`")).collect();
            let presented = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
            Err(NotProved::NotAllowed { presented })
        }
    }
}

fn verifier(authority: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, CallersError> {
    let certificates = Certificate::all_from_pem(authority).map_err(|_| CallersError::NoAuthority)?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate.der).map_err(|_| CallersError::NoAuthority)?;
    }
    let provider = Arc::new(ring::default_provider());
    WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
        .build()
        .map_err(|_| CallersError::NoAuthority)
}

fn read(path: &Path) -> Result<Vec<u8>, CallersError> {
    fs::read(path).map_err(|source| CallersError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
