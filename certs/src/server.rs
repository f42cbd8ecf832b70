//! The TLS side of a server: our certificate, and what is asked of callers.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};

use crate::callers::Callers;
use crate::serving::Serving;

/// What callers have to show.
#[derive(Clone, Debug)]
pub enum Proof {
    /// Nothing.
    NotAsked,
    /// Nothing, or a certificate that one of these recognises. Ask again per request which of them does.
    Offered(Vec<Arc<Callers>>),
    /// A certificate that one of these recognises; without it there is no connection.
    Required(Vec<Arc<Callers>>),
    /// Nothing, or any certificate that they hold the key of. It proves nothing by itself: ask per request whose it is,
    /// by [`Callers::recognise`], where who is trusted changes or a caller may prove itself otherwise.
    Shown,
}

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up TLS: {0}")]
pub struct ServerConfigError(#[from] Error);

/// TLS 1.2 and 1.3 with whatever certificate is current, for HTTP/2 and HTTP/1.1. kube-apiserver takes HTTP/2 where
/// it is offered; whoever does not speak it sets `alpn_protocols` anew.
///
/// Sessions are not resumed: kube-apiserver never does, and a resumed one would skip both the current certificate
/// and the proof.
///
/// # Errors
/// When the provider lacks what TLS needs.
pub fn server_config(serving: Arc<Serving>, proof: Proof) -> Result<ServerConfig, ServerConfigError> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ClientCertVerifier> = match proof {
        Proof::NotAsked => WebPkiClientVerifier::no_client_auth(),
        Proof::Offered(callers) => {
            Arc::new(Door { callers: Some(callers), is_required: false, provider: provider.clone() })
        }
        Proof::Required(callers) => {
            Arc::new(Door { callers: Some(callers), is_required: true, provider: provider.clone() })
        }
        Proof::Shown => Arc::new(Door { callers: None, is_required: false, provider: provider.clone() }),
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(serving);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Lets in whom any of the callers' lists recognises.
struct Door {
    /// Without them, everybody.
    callers: Option<Vec<Arc<Callers>>>,
    is_required: bool,
    provider: Arc<CryptoProvider>,
}

impl fmt::Debug for Door {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Door").field("is_required", &self.is_required).finish_non_exhaustive()
    }
}

impl ClientCertVerifier for Door {
    fn client_auth_mandatory(&self) -> bool {
        self.is_required
    }

    /// No hints: what is trusted may change at any time, and a client with one certificate sends it anyway.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let Some(lists) = &self.callers else { return Ok(ClientCertVerified::assertion()) };
        let chain: Vec<CertificateDer<'_>> =
            std::iter::once(end_entity).chain(intermediates).cloned().collect();
        let now = i64::try_from(now.as_secs()).ok().and_then(|second| Timestamp::from_second(second).ok());
        let now = now.unwrap_or(Timestamp::MAX);
        let mut refusal = None;
        for callers in lists {
            match callers.recognise(&chain, now) {
                Ok(_) => return Ok(ClientCertVerified::assertion()),
                Err(error) => refusal = Some(error),
            }
        }
        if let Some(refusal) = refusal {
            tracing::warn!("a caller was refused: {refusal}");
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
