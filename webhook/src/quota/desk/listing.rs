//! Lists of the team's clusters, made beside the desk, and those who wait for one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use butler_api::names::ObjectUid;
use butler_api::quota::ledger::{Inventory, Open};
use butler_api::reference::NsRef;
use butler_policies::Facts;
use butler_policies::facts::FactKind;
use tokio::task::JoinError;
use tokio::time::sleep;

use super::super::store::CallError;
use super::{Desk, GROUP_PATIENCE, PAUSE, Party, Trouble, send};

/// A list that was made beside the desk.
pub(in super::super) struct Listed {
    /// When it was asked for: what was over by then, and is not in it, will never be.
    began: Instant,
    /// What was known then.
    facts: Arc<Facts>,
    inventory: Result<Inventory, CallError>,
}

impl Desk {
    /// Sets those aside whom only a list can help.
    pub(super) fn park(&mut self, mut party: Party) {
        party.calls += 1;
        self.parked.push(party);
        self.begin_list(Duration::ZERO);
    }

    /// Begins a list, unless one is being made.
    pub(in super::super) fn begin_list(&mut self, after: Duration) {
        if !self.listing.is_empty() {
            return;
        }
        let (shared, team, namespace) = (self.shared.clone(), self.team.clone(), self.namespace());
        self.listing.spawn(async move {
            sleep(after).await;
            let (began, facts) = (Instant::now(), shared.facts.current());
            let inventory = shared.store.list(&team, namespace.as_deref(), &facts).await;
            Listed { began, facts, inventory }
        });
    }

    /// The one namespace that all clusters of the team are in, if that is known.
    fn namespace(&self) -> Option<String> {
        let facts = self.shared.facts.current();
        let team = facts.team(&self.team).found();
        let home = team.map_or(self.team.as_str(), |team| team.namespace());
        let slots = self.copy.iter().flat_map(|copy| copy.ledger.slots().keys());
        let elsewhere = !facts.hears_of(FactKind::Cluster)
            || slots.map(|at| at.namespace.as_str()).any(|namespace| namespace != home)
            || facts
                .clusters_of_team(&self.team)
                .any(|cluster| cluster.metadata.namespace.as_deref() != Some(home));
        (!elsewhere).then(|| home.to_owned())
    }

    /// Takes in what a list shows. Those who waited for it come back, to be answered.
    pub(super) fn take_in(&mut self, listed: Result<Listed, JoinError>) -> Option<Party> {
        self.last_list = Some(Instant::now());
        let Ok(Listed { began, facts, inventory }) = listed else {
            self.begin_list(PAUSE);
            return None;
        };
        self.parked.retain_mut(Party::is_waited_for);
        let inventory = match inventory {
            Ok(inventory) => inventory,
            Err(error) => {
                let is_over = |party: &mut Party| party.began.elapsed() >= GROUP_PATIENCE;
                for mut party in self.parked.extract_if(.., is_over) {
                    let trouble = Trouble::Failed(error.to_string());
                    party.answers.iter_mut().for_each(|answer| send(answer, Err(trouble.clone())));
                }
                if !self.parked.is_empty() {
                    self.begin_list(PAUSE);
                }
                return None;
            }
        };
        if let Some(copy) = &mut self.copy {
            let (seen, bound) = (&self.seen, self.shared.bound);
            let settled = copy.settle(&inventory, |at, open| is_over(seen, at, open, bound, began));
            self.is_dirty |= settled.is_something();
            self.shared.metrics.settled(settled);
            self.compared = Some(facts);
        }
        let parties = self.parked.extract_if(.., |party| party.began <= began);
        let together = parties.reduce(Party::with);
        if !self.parked.is_empty() {
            self.begin_list(Duration::ZERO);
        }
        together
    }

    /// Whether a request may be over, so that a list would tell.
    pub(in super::super) fn has_overdue(&self) -> bool {
        self.seen.values().any(|since| since.elapsed() >= self.shared.bound)
    }
}

impl Party {
    /// Both at once. The later one says how long they are worked on, since each who waits has a limit of its own.
    fn with(mut self, other: Self) -> Self {
        self.group.absorb(other.group);
        self.answers.extend(other.answers);
        self.began = self.began.max(other.began);
        self.calls = self.calls.max(other.calls);
        self
    }

    /// Leaves out those who have given up, for whom nothing must be taken up any more. Whether somebody is left.
    pub(super) fn is_waited_for(&mut self) -> bool {
        let waits = |answer: &Option<_>| answer.as_ref().is_some_and(|it: &super::Answer| !it.is_closed());
        let waiting: Vec<bool> = self.answers.iter().map(waits).collect();
        self.answers.retain(waits);
        self.group.keep(waiting);
        !self.answers.is_empty()
    }
}

pub(super) fn key(at: &NsRef, open: &Open) -> (NsRef, ObjectUid, u64) {
    (at.clone(), open.uid, open.ticket)
}

/// Whether the time of a request had passed when something began.
fn is_over(
    seen: &HashMap<(NsRef, ObjectUid, u64), Instant>,
    at: &NsRef,
    open: &Open,
    bound: Duration,
    began: Instant,
) -> bool {
    seen.get(&key(at, open)).is_some_and(|since| began.saturating_duration_since(*since) >= bound)
}
