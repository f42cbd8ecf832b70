//! What is counted of each policy, as long as it is loaded.
//!
//! A family of counters would remember every policy that there ever was, and would be asked for a label at every
//! evaluation. These are found by name and belong to the set: what leaves it leaves the metrics.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use butler_policies::policy::{Evaluation, Kind, Outcome, PolicySet};
use prometheus_client::metrics::histogram::Histogram;

/// The upper bounds of the histogram of costs. One expression may cost a million, a policy ten.
const COSTS: [f64; 8] = [10.0, 30.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7];

/// By policy.
#[derive(Debug)]
pub(super) struct Meters {
    validating: HashMap<Arc<str>, Arc<Meter>>,
    mutating: HashMap<Arc<str>, Arc<Meter>>,
    costs: Histogram,
}

/// Of one policy, by what it came to.
#[derive(Debug, Default)]
pub(super) struct Meter([AtomicU64; Outcome::ALL.len()]);

impl Default for Meters {
    fn default() -> Self {
        Self { validating: HashMap::new(), mutating: HashMap::new(), costs: Histogram::new(COSTS) }
    }
}

impl Meters {
    /// Those of a set, going on where those of the set before are.
    pub(super) fn of(set: &PolicySet, before: Option<&Self>) -> Self {
        let mut meters = Self::default();
        if let Some(before) = before {
            meters.costs = before.costs.clone();
        }
        for policy in set.policies() {
            let name: Arc<str> = policy.name.as_str().into();
            let kept = before.and_then(|before| before.named(policy.kind).get(&name));
            let meter = kept.map(Arc::clone).unwrap_or_default();
            match policy.kind {
                Kind::Validating => meters.validating.insert(name, meter),
                Kind::Mutating => meters.mutating.insert(name, meter),
            };
        }
        meters
    }

    pub(super) fn named(&self, kind: Kind) -> &HashMap<Arc<str>, Arc<Meter>> {
        match kind {
            Kind::Validating => &self.validating,
            Kind::Mutating => &self.mutating,
        }
    }

    /// What policies cost, all together.
    pub(super) fn costs(&self) -> &Histogram {
        &self.costs
    }

    pub(super) fn count(&self, kind: Kind, evaluation: &Evaluation) {
        if let Some(meter) = self.named(kind).get(&evaluation.policy)
            && let Some(count) = meter.0.get(evaluation.result as usize)
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
        // Costs are far below what a float cannot count.
        self.costs.observe(evaluation.cost as f64);
    }
}

impl Meter {
    /// What it came to so far, where that is anything.
    pub(super) fn counts(&self) -> impl Iterator<Item = (Outcome, u64)> {
        let counts = Outcome::ALL.into_iter().zip(&self.0);
        counts.map(|(result, count)| (result, count.load(Ordering::Relaxed))).filter(|(_, count)| *count > 0)
    }
}
