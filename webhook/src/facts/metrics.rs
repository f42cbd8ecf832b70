//! What an operator sees of the facts.

use std::fmt::{self, Write};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use butler_policies::facts::{Fact, FactKind};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind(FactKind);

impl EncodeLabelValue for Kind {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        write!(encoder, "{}", self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKindAndReason {
    kind: Kind,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKindAndOutcome {
    kind: Kind,
    outcome: &'static str,
}

/// Metrics of the facts. Every label has a fixed set of values.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    age: Family<OfKind, Gauge<f64, AtomicU64>>,
    objects: Family<OfKind, Gauge>,
    failures: Family<OfKindAndReason, Counter>,
    looks: Family<OfKindAndOutcome, Counter>,
    snapshots: Counter,
}

impl Metrics {
    /// Adds them to the registry of the program that serves them, as `butler_facts_…`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("butler_facts");
        registry.register(
            "age_seconds",
            "Seconds since the watch of a kind last said anything good, an event or a sign of life",
            self.age.clone(),
        );
        registry.register("objects", "Objects that are known, by kind", self.objects.clone());
        registry.register(
            "watch_failures",
            "Watches and looks at Secrets that failed and are tried again, by kind and reason",
            self.failures.clone(),
        );
        registry.register(
            "live_reads",
            "Facts that were read from the API server before a denial, by kind and outcome",
            self.looks.clone(),
        );
        registry.register("snapshots", "Snapshots that were published", self.snapshots.clone());
    }

    pub(super) fn seen(&self, kind: FactKind, objects: usize, age: Duration) {
        let of = OfKind { kind: Kind(kind) };
        self.age.get_or_create(&of).set(age.as_secs_f64());
        self.objects.get_or_create(&of).set(i64::try_from(objects).unwrap_or(i64::MAX));
    }

    pub(super) fn failed(&self, kind: FactKind, reason: &'static str) {
        self.failures.get_or_create(&OfKindAndReason { kind: Kind(kind), reason }).inc();
    }

    pub(super) fn looked(&self, kind: FactKind, fact: &Fact) {
        let outcome = match fact {
            Fact::Absent => "absent",
            Fact::Unreadable => "unreadable",
            _ => "found",
        };
        self.looks.get_or_create(&OfKindAndOutcome { kind: Kind(kind), outcome }).inc();
    }

    pub(super) fn published(&self) {
        self.snapshots.inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_read_as_an_operator_expects() {
        let metrics = Metrics::default();
        metrics.seen(FactKind::Cluster, 3, Duration::from_millis(1500));
        metrics.failed(FactKind::Team, "Forbidden");
        metrics.looked(FactKind::User, &Fact::Absent);
        metrics.published();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "butler_facts_age_seconds{kind=\"TenantCluster\"} 1.5",
            "butler_facts_objects{kind=\"TenantCluster\"} 3",
            "butler_facts_watch_failures_total{kind=\"Team\",reason=\"Forbidden\"} 1",
            "butler_facts_live_reads_total{kind=\"User\",outcome=\"absent\"} 1",
            "butler_facts_snapshots_total 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
    }
}
