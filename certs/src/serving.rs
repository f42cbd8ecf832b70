//! The certificate in use, and the place where rustls asks for it.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use jiff::Timestamp;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;

use crate::certificate::Fingerprint;
use crate::metrics::Metrics;
use crate::pair::{Pair, Refusal};

/// Serves the newest good certificate at every handshake. Connections that are open go on as they are, so
/// loading a new one drops no call.
pub struct Serving {
    current: ArcSwapOption<Pair>,
    loaded: watch::Sender<Option<Fingerprint>>,
    metrics: Metrics,
}

impl Serving {
    pub(crate) fn new(metrics: Metrics) -> Arc<Self> {
        Arc::new(Self { current: ArcSwapOption::empty(), loaded: watch::Sender::new(None), metrics })
    }

    /// Whether a certificate is loaded.
    pub fn is_ready(&self) -> bool {
        self.current.load().is_some()
    }

    /// Waits until a certificate is loaded.
    pub async fn ready(&self) {
        // The sender is in `self`, so it cannot be gone.
        let _ = self.loaded.subscribe().wait_for(Option::is_some).await;
    }

    /// When the certificate in use ends.
    pub fn expiry(&self) -> Option<Timestamp> {
        self.current.load().as_ref().map(|pair| pair.certificate.validity.until)
    }

    pub(crate) fn serves(&self, id: Fingerprint) -> bool {
        self.current.load().as_ref().is_some_and(|pair| pair.certificate.id == id)
    }

    /// Takes a certificate into use.
    pub(crate) fn load(&self, pair: Pair) {
        let (id, validity) = (pair.certificate.id, pair.certificate.validity);
        self.current.store(Some(Arc::new(pair)));
        self.metrics.serving_ends(validity.until);
        self.metrics.loaded();
        self.loaded.send_replace(Some(id));
        tracing::info!(certificate = %id, until = %validity.until, "serving with a new certificate");
    }

    /// Notes that a certificate was not taken.
    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.metrics.refused(refusal.reason());
        tracing::warn!(reason = refusal.reason(), "certificate refused: {refusal}");
    }
}

impl ResolvesServerCert for Serving {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.load().as_ref().map(|pair| pair.certified.clone())
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let certificate = self.current.load().as_ref().map(|pair| pair.certificate.id);
        formatter.debug_struct("Serving").field("certificate", &certificate).finish_non_exhaustive()
    }
}
