//! What an operator sees: when certificates end, and whether new ones were taken.

use std::sync::atomic::AtomicU64;

use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Certificate {
    certificate: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Change {
    step: &'static str,
}

/// Metrics of one set of certificates. Every label has a fixed set of values.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    expiry: Family<Certificate, Gauge>,
    reloads: Family<Outcome, Counter>,
    refusals: Family<Reason, Counter>,
    steps: Family<Change, Counter>,
    corrections: Counter<u64, AtomicU64>,
    failures: Family<Reason, Counter>,
}

impl Metrics {
    /// Adds them to the registry of the program that serves them, as `butler_certificate_…`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("butler_certificate");
        registry.register(
            "expiry_timestamp_seconds",
            "When the certificate in use ends, in seconds since 1970",
            self.expiry.clone(),
        );
        registry.register("reloads", "New certificates by what became of them", self.reloads.clone());
        registry.register("refusals", "Certificates that were not taken, by reason", self.refusals.clone());
        registry.register(
            "steps",
            "Changes this replica made to the stored certificates",
            self.steps.clone(),
        );
        registry.register(
            "bundle_corrections",
            "Registrations whose caBundle this replica wrote",
            self.corrections.clone(),
        );
        registry.register(
            "failures",
            "Rounds that failed and are tried again, by what failed",
            self.failures.clone(),
        );
    }

    pub(crate) fn serving_ends(&self, until: Timestamp) {
        self.expiry.get_or_create(&Certificate { certificate: "serving" }).set(until.as_second());
    }

    pub(crate) fn authority_ends(&self, until: Timestamp) {
        self.expiry.get_or_create(&Certificate { certificate: "authority" }).set(until.as_second());
    }

    pub(crate) fn loaded(&self) {
        self.reloads.get_or_create(&Outcome { result: "loaded" }).inc();
    }

    pub(crate) fn refused(&self, reason: &'static str) {
        self.reloads.get_or_create(&Outcome { result: "refused" }).inc();
        self.refusals.get_or_create(&Reason { reason }).inc();
    }

    pub(crate) fn stepped(&self, step: &'static str) {
        self.steps.get_or_create(&Change { step }).inc();
    }

    pub(crate) fn corrected(&self) {
        self.corrections.inc();
    }

    pub(crate) fn failed(&self, reason: &'static str) {
        self.failures.get_or_create(&Reason { reason }).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_read_as_an_operator_expects() {
        let metrics = Metrics::default();
        metrics.serving_ends(Timestamp::from_second(1_800_000_000).unwrap());
        metrics.loaded();
        metrics.refused("KeyMismatch");
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "butler_certificate_expiry_timestamp_seconds{certificate=\"serving\"} 1800000000",
            "butler_certificate_reloads_total{result=\"loaded\"} 1",
            "butler_certificate_reloads_total{result=\"refused\"} 1",
            "butler_certificate_refusals_total{reason=\"KeyMismatch\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
    }
}
