//! What an operator sees of the frame.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WithResult {
    kind: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WithReason {
    kind: String,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WithVerb {
    kind: String,
    verb: &'static str,
}

/// Metrics of the frame. Every label has a fixed set of values.
#[derive(Clone, Debug)]
pub struct Metrics {
    leader: Gauge,
    reconciles: Family<WithResult, Counter>,
    errors: Family<WithReason, Counter>,
    durations: Family<OfKind, Histogram, fn() -> Histogram>,
    depth: Family<OfKind, Gauge>,
    oldest: Family<OfKind, Gauge<f64, AtomicU64>>,
    writes: Family<WithVerb, Counter>,
    watches: Family<WithReason, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            leader: Gauge::default(),
            reconciles: Family::default(),
            errors: Family::default(),
            // From a look that finds nothing to do to the bound of one reconcile.
            durations: Family::new_with_constructor(|| {
                Histogram::new([0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0])
            }),
            depth: Family::default(),
            oldest: Family::default(),
            writes: Family::default(),
            watches: Family::default(),
        }
    }
}

impl Metrics {
    /// Adds them to the registry of the program, as `butler_reconciler_…`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("butler_reconciler");
        registry.register("leader", "Whether this replica is the one that writes", self.leader.clone());
        registry.register("reconciles", "Reconciles, by kind and result", self.reconciles.clone());
        registry.register(
            "errors",
            "Reconciles that failed and are tried again, by kind and reason",
            self.errors.clone(),
        );
        registry.register_with_unit(
            "reconcile_duration",
            "How long reconciles took, by kind",
            Unit::Seconds,
            self.durations.clone(),
        );
        registry.register(
            "queue_depth",
            "Objects that are due and not yet worked on, by kind",
            self.depth.clone(),
        );
        registry.register_with_unit(
            "queue_oldest",
            "For how long the first of them has been due, by kind",
            Unit::Seconds,
            self.oldest.clone(),
        );
        registry.register(
            "writes",
            "Writes to the API server besides the lease, by kind and verb",
            self.writes.clone(),
        );
        registry.register(
            "watch_failures",
            "Watches that failed and are tried again, and objects that cannot be read, by kind and reason",
            self.watches.clone(),
        );
    }

    pub(super) fn lead(&self, is_leading: bool) {
        self.leader.set(is_leading.into());
    }

    pub(super) fn reconciled(&self, kind: &'static str, result: &'static str, took: Duration) {
        self.reconciles.get_or_create(&WithResult { kind, result }).inc();
        self.durations.get_or_create(&OfKind { kind }).observe(took.as_secs_f64());
    }

    pub(super) fn failed(&self, kind: &str, reason: &'static str) {
        self.errors.get_or_create(&WithReason { kind: kind.to_owned(), reason }).inc();
    }

    pub(super) fn queued(&self, kind: &'static str, (depth, oldest): (usize, Duration)) {
        self.depth.get_or_create(&OfKind { kind }).set(i64::try_from(depth).unwrap_or(i64::MAX));
        self.oldest.get_or_create(&OfKind { kind }).set(oldest.as_secs_f64());
    }

    pub(super) fn wrote(&self, kind: &str, verb: &'static str) {
        self.writes.get_or_create(&WithVerb { kind: kind.to_owned(), verb }).inc();
    }

    pub(super) fn watch_failed(&self, kind: &str, reason: &'static str) {
        self.watches.get_or_create(&WithReason { kind: kind.to_owned(), reason }).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_read_as_an_operator_expects() {
        let metrics = Metrics::default();
        metrics.lead(true);
        metrics.reconciled("Team", "changed", Duration::from_millis(30));
        metrics.failed("Team", "Forbidden");
        metrics.queued("Team", (3, Duration::from_millis(1500)));
        metrics.wrote("Namespace", "apply");
        metrics.watch_failed("RoleBinding", "Forbidden");
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "butler_reconciler_leader 1",
            "butler_reconciler_reconciles_total{kind=\"Team\",result=\"changed\"} 1",
            "butler_reconciler_errors_total{kind=\"Team\",reason=\"Forbidden\"} 1",
            "butler_reconciler_reconcile_duration_seconds_bucket{le=\"0.1\",kind=\"Team\"} 1",
            "butler_reconciler_queue_depth{kind=\"Team\"} 3",
            "butler_reconciler_queue_oldest_seconds{kind=\"Team\"} 1.5",
            "butler_reconciler_writes_total{kind=\"Namespace\",verb=\"apply\"} 1",
            "butler_reconciler_watch_failures_total{kind=\"RoleBinding\",reason=\"Forbidden\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
    }
}
