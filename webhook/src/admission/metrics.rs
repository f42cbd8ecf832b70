//! What an operator sees of the reviews. Every label has a fixed set of values.

use std::time::Duration;

use butler_policies::Finding;
use butler_policies::review::Operation;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Outcome;
use crate::endpoint::Endpoint;

/// In seconds: a review takes tens of microseconds, one that looks something up milliseconds, and after five seconds
/// nobody listens any more.
const BUCKETS: [f64; 12] =
    [20e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 5e-3, 20e-3, 100e-3, 500e-3, 2.0, 5.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reviewed {
    webhook: &'static str,
    kind: &'static str,
    operation: &'static str,
    verdict: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Webhook {
    webhook: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Found {
    rule: &'static str,
    reason: &'static str,
    severity: &'static str,
}

/// Metrics of the reviews.
#[derive(Clone, Debug)]
pub struct Metrics {
    reviews: Family<Reviewed, Counter>,
    duration: Family<Webhook, Histogram>,
    findings: Family<Found, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            reviews: Family::default(),
            duration: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            findings: Family::default(),
        }
    }
}

impl Metrics {
    /// Adds them to the registry of the program that serves them, as `butler_admission_…`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("butler_admission");
        registry.register("reviews", "Reviews by what became of them", self.reviews.clone());
        registry.register(
            "review_duration_seconds",
            "From the last byte of a review to the first of its answer",
            self.duration.clone(),
        );
        registry.register("findings", "What was found, by rule and reason", self.findings.clone());
    }

    /// A review ended. What was done to the object is unknown if the review could not be read.
    pub(super) fn reviewed(
        &self,
        endpoint: Endpoint,
        operation: Option<Operation>,
        outcome: Outcome,
        took: Duration,
    ) {
        let labels = Reviewed {
            webhook: endpoint.webhook,
            kind: endpoint.kind.as_str(),
            operation: operation.map_or("unknown", Operation::as_str),
            verdict: outcome.as_str(),
        };
        self.reviews.get_or_create(&labels).inc();
        self.duration.get_or_create(&Webhook { webhook: endpoint.webhook }).observe(took.as_secs_f64());
    }

    /// A review was answered with these.
    pub(super) fn found(&self, findings: &[Finding]) {
        for finding in findings {
            let severity = if finding.denies() { "deny" } else { "warn" };
            let labels = Found { rule: finding.rule, reason: finding.reason, severity };
            self.findings.get_or_create(&labels).inc();
        }
    }
}
