//! What an operator sees of the quotas. Labels are bounded: teams beyond the first thousand are not shown one by one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use butler_api::quota::Dimension;
use butler_api::quota::ledger::Settled;
use butler_api::quota::report::Report;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::lock;

/// How many teams have metrics of their own.
const MOST_TEAMS: usize = 1000;
/// How many changes are written at once.
const SIZES: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// How many calls an answer takes.
const CALLS: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 5.0, 10.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Counted {
    team: String,
    resource: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTeam {
    team: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Called {
    call: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct By {
    evidence: &'static str,
}

type Floats = Gauge<f64, std::sync::atomic::AtomicU64>;

/// Metrics of the quotas.
#[derive(Clone, Debug)]
pub struct Metrics {
    used: Family<Counted, Floats>,
    limits: Family<Counted, Floats>,
    open: Family<OfTeam, Gauge>,
    calls: Family<Called, Counter>,
    settled: Family<By, Counter>,
    conflicts: Counter,
    lost: Counter,
    groups: Histogram,
    calls_per_answer: Histogram,
    teams: Arc<Mutex<BTreeSet<String>>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            used: Family::default(),
            limits: Family::default(),
            open: Family::default(),
            calls: Family::default(),
            settled: Family::default(),
            conflicts: Counter::default(),
            lost: Counter::default(),
            groups: Histogram::new(SIZES),
            calls_per_answer: Histogram::new(CALLS),
            teams: Arc::default(),
        }
    }
}

impl Metrics {
    /// Adds them to the registry of the program that serves them, as `butler_quota_…`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("butler_quota");
        registry.register("used", "What a team uses, changes under way included", self.used.clone());
        registry.register("limit", "What a team may use, where there is a limit", self.limits.clone());
        registry.register(
            "reservations_open",
            "Admitted changes of a team that were not seen stored yet",
            self.open.clone(),
        );
        registry.register("api_calls", "Calls to the API server for ledgers", self.calls.clone());
        registry.register(
            "settled",
            "What evidence did to ledgers: folded into what was seen, released, lowered, found past the gate",
            self.settled.clone(),
        );
        registry.register("conflicts", "Writes that somebody else was faster with", self.conflicts.clone());
        registry.register("ledgers_lost", "Ledgers that were found deleted or edited", self.lost.clone());
        registry.register("group_size", "Changes that were answered at once", self.groups.clone());
        registry.register(
            "calls_per_answer",
            "Calls to the API server that changes which were answered at once waited for",
            self.calls_per_answer.clone(),
        );
    }

    pub(super) fn called(&self, call: &'static str) {
        self.calls.get_or_create(&Called { call }).inc();
    }

    pub(super) fn conflicted(&self) {
        self.conflicts.inc();
    }

    pub(super) fn lost(&self) {
        self.lost.inc();
    }

    pub(super) fn grouped(&self, size: usize, calls: usize) {
        self.groups.observe(size as f64);
        self.calls_per_answer.observe(calls as f64);
    }

    pub(super) fn settled(&self, settled: Settled) {
        let Settled { folded, released, lowered, slipped } = settled;
        let rows =
            [("folded", folded), ("released", released), ("lowered", lowered), ("past-the-gate", slipped)];
        for (evidence, count) in rows.into_iter().filter(|(_, count)| *count > 0) {
            self.settled.get_or_create(&By { evidence }).inc_by(count as u64);
        }
    }

    pub(super) fn reported(&self, team: &str, report: &Report, open: usize) {
        let mut teams = lock(&self.teams);
        if !teams.contains(team) && teams.len() >= MOST_TEAMS {
            return;
        }
        teams.insert(team.to_owned());
        drop(teams);
        for row in &report.rows {
            let labels = Counted { team: team.to_owned(), resource: name(row.dimension) };
            self.used.get_or_create(&labels).set(row.used.nanos() as f64 / 1e9);
            if let Some(most) = row.most {
                self.limits.get_or_create(&labels).set(most.nanos() as f64 / 1e9);
            } else {
                self.limits.remove(&labels);
            }
        }
        let open = i64::try_from(open).unwrap_or(i64::MAX);
        self.open.get_or_create(&OfTeam { team: team.to_owned() }).set(open);
    }

    pub(super) fn forget(&self, team: &str) {
        lock(&self.teams).remove(team);
        for dimension in Dimension::ALL {
            let labels = Counted { team: team.to_owned(), resource: name(dimension) };
            self.used.remove(&labels);
            self.limits.remove(&labels);
        }
        self.open.remove(&OfTeam { team: team.to_owned() });
    }
}

fn name(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Clusters => "clusters",
        Dimension::Nodes => "nodes",
        Dimension::Cpu => "cpu",
        Dimension::Memory => "memory",
        Dimension::Storage => "storage",
    }
}
