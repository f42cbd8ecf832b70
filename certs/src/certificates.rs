//! The handle a program holds: where its certificate comes from, and what keeps it fresh.

use std::sync::Arc;

use kube::Client;
use rustls::crypto::ring;

use crate::files::{Files, FromFiles};
use crate::metrics::Metrics;
use crate::self_managed::SelfManaged;
use crate::serving::Serving;
use crate::settings::Settings;

enum Source {
    SelfManaged(Box<SelfManaged>),
    Files(Box<FromFiles>),
}

/// Serving certificates of one program. Nothing happens before [`run`](Self::run) is awaited.
pub struct Certificates {
    serving: Arc<Serving>,
    metrics: Metrics,
    source: Source,
}

impl Certificates {
    /// An authority and a certificate of our own, kept in a Secret that all replicas share.
    pub fn self_managed(client: Client, settings: Settings) -> Self {
        let metrics = Metrics::default();
        let serving = Serving::new(metrics.clone());
        let provider = Arc::new(ring::default_provider());
        let driver = SelfManaged::new(client, settings, provider, serving.clone(), metrics.clone());
        Self { serving, metrics, source: Source::SelfManaged(Box::new(driver)) }
    }

    /// A certificate that somebody else writes into a directory as `tls.crt` and `tls.key`.
    pub fn from_files(files: Files) -> Self {
        let metrics = Metrics::default();
        let serving = Serving::new(metrics.clone());
        let provider = Arc::new(ring::default_provider());
        let driver = FromFiles::new(files, provider, serving.clone(), metrics.clone());
        Self { serving, metrics, source: Source::Files(Box::new(driver)) }
    }

    /// The certificate in use, for [`server_config`](crate::server_config) and for readiness.
    pub fn serving(&self) -> Arc<Serving> {
        self.serving.clone()
    }

    /// What to register with the program's metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Loads the first certificate and keeps it fresh. Never ends; drop it to stop, at any moment.
    pub async fn run(self) {
        match self.source {
            Source::SelfManaged(driver) => driver.run().await,
            Source::Files(driver) => driver.run().await,
        }
    }
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Certificates").field("serving", &self.serving).finish_non_exhaustive()
    }
}
