//! What a desk does when nobody waits: it makes its ledger say what is stored.

use std::sync::Arc;
use std::time::Duration;

use butler_api::quota::Limits;
use butler_api::quota::ledger::Settled;
use butler_api::quota::report::Report;
use butler_api::reference::NsRef;
use butler_policies::Facts;
use butler_policies::facts::{FactKind, Lookup};
use kube::ResourceExt;

use super::desk::Desk;
use super::knows_enough;
use super::store::{is_of, sighting};

/// A list that was no use is not repeated at once: the facts may lag behind.
const BETWEEN_LISTS: Duration = Duration::from_secs(2);

impl Desk {
    /// One round. Whether the team and its ledger are gone.
    pub(super) async fn look_after(&mut self) -> bool {
        self.adopt_told();
        let facts = self.shared.facts.current();
        let is_gone = matches!(facts.team(&self.team), Lookup::Absent) && facts.knows_all(FactKind::Team);
        // Whoever does not know the platform yet cannot say what a team has, and should not try.
        if !knows_enough(&facts) || (self.copy.is_none() && !is_gone && self.read(true).await.is_err()) {
            return false;
        }
        if is_gone && self.leave().await {
            return true;
        }
        if self.copy.is_none() {
            return false;
        }
        let is_same = self.compared.as_ref().is_some_and(|last| Arc::ptr_eq(last, &facts));
        if !is_same {
            self.fold_all(&facts);
        }
        let differs = !is_same && self.differs(&facts);
        let may_list = self.last_list.is_none_or(|last| last.elapsed() >= BETWEEN_LISTS);
        if may_list && (differs || self.has_overdue()) {
            self.begin_list(Duration::ZERO);
        }
        if !differs {
            self.compared = Some(facts.clone());
        }
        if self.is_dirty {
            self.write_by_itself().await;
        }
        self.keep_promise().await;
        if let Some(copy) = &mut self.copy {
            copy.rest();
        }
        self.report(&facts);
        false
    }

    /// Shows in the metrics what the ledger says. The reconciler writes the same into the Team's status.
    fn report(&self, facts: &Facts) {
        let Some(copy) = &self.copy else { return };
        let Some(team) = facts.team(&self.team).found() else { return };
        let limits = Limits { name: &self.team, team: &team.spec, config: facts.config_spec() };
        if let Ok(report) = Report::of(&copy.ledger, &limits) {
            self.shared.metrics.reported(&self.team, &report, copy.ledger.open());
        }
    }

    /// Takes in what the watch has shown of requests that are under way.
    pub(super) fn fold_open(&mut self) {
        let facts = self.shared.facts.current();
        let Some(copy) = self.copy.as_mut().filter(|copy| copy.ledger.open() > 0) else { return };
        let open = copy.ledger.slots().iter().filter(|(_, slot)| !slot.open.is_empty());
        let seen: Vec<_> = open
            .filter_map(|(at, _)| facts.cluster(at).found())
            .filter_map(|cluster| sighting(cluster, &self.team, &facts))
            .collect();
        let mut settled = Settled::default();
        seen.iter().for_each(|(at, seen)| settled += copy.ledger.fold(at, seen));
        self.is_dirty |= settled.is_something();
        self.shared.metrics.settled(settled);
    }

    /// Takes in everything that the watch has shown since last time.
    fn fold_all(&mut self, facts: &Facts) {
        let Some(copy) = &mut self.copy else { return };
        let mut settled = Settled::default();
        for cluster in facts.clusters_of_team(&self.team) {
            let at = NsRef { name: cluster.name_any(), namespace: cluster.namespace().unwrap_or_default() };
            let revision = cluster.resource_version().and_then(|it| it.parse::<u64>().ok());
            let known = copy.ledger.slots().get(&at);
            let is_news = known.is_some_and(|slot| {
                !slot.open.is_empty() || slot.held.as_ref().map(|held| held.revision) < revision
            });
            if let Some((at, seen)) = is_news.then(|| sighting(cluster, &self.team, facts)).flatten() {
                settled += copy.ledger.fold(&at, &seen);
            }
        }
        self.is_dirty |= settled.is_something();
        self.shared.metrics.settled(settled);
    }

    /// Whether the ledger has clusters that the facts do not have, or the other way round.
    fn differs(&self, facts: &Facts) -> bool {
        let Some(copy) = self.copy.as_ref().filter(|_| facts.knows_all(FactKind::Cluster)) else {
            return false;
        };
        let slots = copy.ledger.slots();
        let is_there = |at: &NsRef, uid: String| {
            let cluster = facts.cluster(at).found().filter(|cluster| is_of(cluster, &self.team));
            cluster.is_some_and(|cluster| cluster.uid().as_ref() == Some(&uid))
        };
        let mut held = slots.iter().filter_map(|(at, slot)| Some((at, slot.held.as_ref()?)));
        let is_gone = held.any(|(at, held)| !is_there(at, held.uid.to_string()));
        let mut here = facts.clusters_of_team(&self.team);
        is_gone
            || here.any(|cluster| {
                let at =
                    NsRef { name: cluster.name_any(), namespace: cluster.namespace().unwrap_or_default() };
                !slots.contains_key(&at)
            })
    }

    /// Removes the ledger of a team that is gone, once nothing is in it.
    async fn leave(&mut self) -> bool {
        if self.copy.as_ref().is_some_and(|copy| !copy.ledger.slots().is_empty()) {
            return false;
        }
        // The facts may not have heard of a new team yet.
        if !matches!(self.shared.store.team(&self.team).await, Ok(None)) {
            return false;
        }
        self.copy.is_none() || self.shared.store.delete(&self.version).await.is_ok()
    }
}
