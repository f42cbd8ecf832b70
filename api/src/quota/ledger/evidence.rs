//! What was seen, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Held, Ledger, Open, Slot};
use crate::names::ObjectUid;
use crate::quota::holding::Holding;
use crate::reference::NsRef;

/// A cluster of the team that was stored at some revision, wherever that was learned: it stays true.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sighting {
    /// The object.
    pub uid: ObjectUid,
    /// Its `metadata.resourceVersion`.
    pub revision: u64,
    /// What it took.
    pub holding: Holding,
    /// Whether it is being deleted. Changes of such an object are not judged, and nothing is built for them.
    pub is_leaving: bool,
}

/// All clusters of the team in some namespaces, as one list of the API server shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The revision of the list.
    pub revision: u64,
    /// The namespaces that were listed; nothing means all.
    pub namespaces: Option<BTreeSet<String>>,
    /// The clusters.
    pub clusters: BTreeMap<NsRef, Sighting>,
}

/// What evidence did to a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Requests that were seen stored, or overtaken by another.
    pub folded: usize,
    /// Requests that were not stored.
    pub released: usize,
    /// Clusters that are gone, or take less than they may.
    pub lowered: usize,
    /// Clusters that take more than they were admitted with.
    pub slipped: usize,
}

impl Settled {
    /// Whether anything came of it.
    pub fn is_something(&self) -> bool {
        *self != Self::default()
    }
}

impl std::ops::AddAssign for Settled {
    fn add_assign(&mut self, other: Self) {
        self.folded += other.folded;
        self.released += other.released;
        self.lowered += other.lowered;
        self.slipped += other.slipped;
    }
}

impl Ledger {
    /// A ledger that grants what there is, for a team that has none yet.
    pub fn of(team: &str, inventory: &Inventory) -> Self {
        let mut ledger = Self::new(team);
        for (at, seen) in &inventory.clusters {
            let Sighting { uid, revision, holding, .. } = seen.clone();
            ledger.change(at, |slot| slot.held = Some(Held { uid, revision, holding, granted: true }));
        }
        ledger
    }

    /// Takes in that a cluster was seen, if the ledger knows of it. What it does not know is left to a list: a sighting may
    /// be of something that the ledger has already seen the end of.
    pub fn fold(&mut self, at: &NsRef, seen: &Sighting) -> Settled {
        let knows = |slot: &Slot| slot.held.is_some() || slot.open.iter().any(|open| open.uid == seen.uid);
        let is_news = self.slots.get(at).is_some_and(|slot| knows(slot) && slot.is_news(seen));
        if is_news { self.see(at, seen) } else { Settled::default() }
    }

    /// Takes in a list that was made after this ledger was read. `is_over` says of which requests the time had passed
    /// before the list was asked for, so that what it does not show will never be.
    pub fn settle(&mut self, inventory: &Inventory, is_over: impl Fn(&NsRef, &Open) -> bool) -> Settled {
        let is_listed =
            |at: &NsRef| inventory.namespaces.as_ref().is_none_or(|listed| listed.contains(&at.namespace));
        let mut settled = Settled::default();
        for (at, seen) in &inventory.clusters {
            if self.slots.get(at).is_none_or(|slot| slot.is_news(seen)) {
                settled += self.see(at, seen);
            }
        }
        let stale = |(at, slot): (&NsRef, &Slot)| {
            let is_gone = !inventory.clusters.contains_key(at);
            let looks = is_listed(at) && (is_gone || !slot.open.is_empty());
            looks.then(|| (at.clone(), is_gone))
        };
        let looked_for: Vec<(NsRef, bool)> = self.slots.iter().filter_map(stale).collect();
        for (at, is_gone) in looked_for {
            let is_over = |open: &Open| is_over(&at, open);
            settled += self.miss(&at, is_gone.then_some(inventory.revision), is_over);
        }
        settled
    }

    fn see(&mut self, at: &NsRef, seen: &Sighting) -> Settled {
        let mut settled = Settled::default();
        self.change(at, |slot| {
            let Sighting { uid, revision, .. } = *seen;
            let held = slot.held.as_ref().filter(|held| held.uid == uid);
            // What the object may have become by requests that came before it was seen.
            let past = slot
                .open
                .iter()
                .filter(|open| open.uid == uid && open.base.is_none_or(|base| base < revision));
            let known = held.map(|held| (held.granted, &held.holding));
            let known = known.into_iter().chain(past.map(|open| (open.granted, &open.holding)));
            let granted = known.clone().any(|(granted, most)| granted && most.covers(&seen.holding));
            // Nothing is built for what is being deleted, so whatever its spec says, it takes what it had.
            let had = known.filter(|_| seen.is_leaving).fold(
                None,
                |had: Option<(bool, Holding)>, (granted, most)| {
                    Some(had.map_or_else(
                        || (granted, most.clone()),
                        |(all, had)| (all && granted, had.joined(most)),
                    ))
                },
            );
            let (granted, holding) = match had {
                Some(had) if !granted => had,
                _ => (granted, seen.holding.clone()),
            };
            let (before, was_granted) = match &slot.held {
                Some(held) => (Some(&held.holding), held.granted),
                None => (None, true),
            };
            settled.lowered += usize::from(before.is_some_and(|before| !holding.covers(before)));
            settled.slipped += usize::from(!granted && was_granted);
            let count = slot.open.len();
            slot.open.retain(|open| match open.base {
                Some(base) => base >= revision,
                None => open.uid != uid,
            });
            settled.folded += count - slot.open.len();
            slot.held = Some(Held { uid, revision, holding, granted });
        });
        settled
    }

    /// Takes in what is not there: nothing at all at `gone`, and none of the requests that are over.
    fn miss(&mut self, at: &NsRef, gone: Option<u64>, is_over: impl Fn(&Open) -> bool) -> Settled {
        let mut settled = Settled::default();
        let Some(slot) = self.slots.get(at) else { return settled };
        let is_gone = |revision: u64| gone.is_some_and(|gone| revision <= gone);
        let leaves = |open: &Open| open.base.is_some_and(is_gone) || is_over(open);
        let held_leaves = slot.held.as_ref().is_some_and(|held| is_gone(held.revision));
        if !held_leaves && !slot.open.iter().any(leaves) {
            return settled;
        }
        self.change(at, |slot| {
            if held_leaves {
                slot.held = None;
                settled.lowered += 1;
            }
            let count = slot.open.len();
            slot.open.retain(|open| !leaves(open));
            settled.released += count - slot.open.len();
        });
        settled
    }
}

impl Slot {
    /// Whether a sighting says anything that is not known.
    fn is_news(&self, seen: &Sighting) -> bool {
        self.held.as_ref().is_none_or(|held| held.revision < seen.revision)
    }
}
