//! What an operator sees of the policies: those in force with what they came to, and how loading went.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use butler_policies::policy::{Kind, Problem, Severity};
use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::in_force::{InForce, Policies};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfResult {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSeverity {
    severity: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

#[derive(Debug, EncodeLabelSet)]
struct Evaluated {
    policy: String,
    kind: &'static str,
    result: &'static str,
}

/// Metrics of the policies. There is a label for every policy that is loaded, and for no other.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    is_well: Gauge,
    last_success: Gauge<f64, AtomicU64>,
    loads: Family<OfResult, Counter>,
    problems: Family<OfSeverity, Gauge>,
}

impl Metrics {
    /// Adds them to the registry of the program that serves them, as `butler_policies_…`, with those of the policies
    /// in force.
    pub fn register(&self, policies: &Arc<Policies>, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("butler_policies");
        registry.register(
            "last_load_successful",
            "Whether the files in the directory, as they are now, are those in force",
            self.is_well.clone(),
        );
        registry.register(
            "last_load_success_timestamp_seconds",
            "When policies were last taken into force, in seconds since 1970",
            self.last_success.clone(),
        );
        registry.register(
            "loads",
            "Changes of the directory by what became of them: loaded, refused or unreadable",
            self.loads.clone(),
        );
        registry.register(
            "load_problems",
            "What the last load had to say about the files, by severity",
            self.problems.clone(),
        );
        registry.register_collector(Box::new(Shown(Arc::clone(policies))));
    }

    pub(super) fn loaded(&self, problems: &[Problem], now: Timestamp) {
        self.last_success.set(now.as_duration().as_secs_f64());
        self.is_well.set(1);
        self.told(problems);
        self.count("loaded");
    }

    pub(super) fn refused(&self, problems: &[Problem]) {
        self.is_well.set(0);
        self.told(problems);
        self.count("refused");
    }

    pub(super) fn unreadable(&self) {
        self.is_well.set(0);
        self.count("unreadable");
    }

    /// The directory is again as it was when its policies were taken into force.
    pub(super) fn settled(&self) {
        self.is_well.set(1);
    }

    /// The last thing that is said of a load: whoever sees the count sees the rest.
    fn count(&self, result: &'static str) {
        self.loads.get_or_create(&OfResult { result }).inc();
    }

    fn told(&self, problems: &[Problem]) {
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            let count = problems.iter().filter(|problem| problem.severity == severity).count();
            let gauge = self.problems.get_or_create(&OfSeverity { severity: severity.as_str() });
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}

/// What is in force at the moment of the scrape.
#[derive(Debug)]
struct Shown(Arc<Policies>);

impl Collector for Shown {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(in_force) = self.0.current() else { return Ok(()) };
        let InForce { set, meters, .. } = &*in_force;
        encoder
            .encode_descriptor(
                "loaded",
                "The policies in force, by a hash over their files",
                None,
                MetricType::Info,
            )?
            .encode_info(&[("hash", set.hash())])?;
        let mut counts = encoder.encode_descriptor(
            "in_force",
            "How many policies are in force",
            None,
            MetricType::Gauge,
        )?;
        for kind in [Kind::Validating, Kind::Mutating] {
            let count = i64::try_from(meters.named(kind).len()).unwrap_or(i64::MAX);
            counts.encode_family(&OfKind { kind: name_of(kind) })?.encode_gauge(&count)?;
        }
        let mut evaluations = encoder.encode_descriptor(
            "evaluations",
            "Policies with their bindings by what they came to",
            None,
            MetricType::Counter,
        )?;
        for kind in [Kind::Validating, Kind::Mutating] {
            for (policy, meter) in meters.named(kind) {
                for (result, count) in meter.counts() {
                    let labels = Evaluated {
                        policy: policy.to_string(),
                        kind: name_of(kind),
                        result: result.as_str(),
                    };
                    let mut evaluation = evaluations.encode_family(&labels)?;
                    evaluation.encode_counter::<NoLabelSet, _, f64>(&count, None)?;
                }
            }
        }
        let costs = meters.costs();
        let costs_encoder = encoder.encode_descriptor(
            "cost",
            "What policies cost per evaluation, in units of Kubernetes' budgets",
            None,
            costs.metric_type(),
        )?;
        costs.encode(costs_encoder)
    }
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Validating => "validating",
        Kind::Mutating => "mutating",
    }
}
