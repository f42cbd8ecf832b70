//! What was seen, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Ask, Held, Ledger, Open, Slot};
use crate::names::ObjectUid;
use crate::quota::holding::Holding;
use crate::quota::limit::Limit;
use crate::reference::NsRef;

/// A cluster that was stored at some revision, wherever that was learned: it stays true.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sighting {
    /// The object.
    pub uid: ObjectUid,
    /// Its `metadata.resourceVersion`.
    pub revision: u64,
    /// When it was created, in seconds since 1970.
    pub created: i64,
    /// What it took of the team; nothing if it was not the team's. Then it may be joining: a request that makes it the
    /// team's changes an object that is there all the time.
    pub holding: Option<Holding>,
    /// Whether it is being deleted. Its machines exist until it is gone.
    pub is_leaving: bool,
}

/// All clusters in some namespaces, of whatever team, as one list of the API server shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The revision of the list.
    pub revision: u64,
    /// The namespaces that were listed; nothing means all.
    pub namespaces: Option<BTreeSet<String>>,
    /// The clusters.
    pub clusters: BTreeMap<NsRef, Sighting>,
    /// Those of which nobody can say what they take. They are there, which is all that follows.
    pub unreadable: BTreeSet<NsRef>,
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
    /// A ledger for a team that has none. What there is counts, and is granted as far as it is within the limits, the oldest
    /// first: without a ledger nobody can tell what was admitted from what slipped past the gate, and a ledger that is lost
    /// must not be a way to a grant that is beyond the limits. What is not granted can be asked for ([`Ledger::grant`]).
    ///
    /// `limits` are those that count for a cluster, or nothing if they cannot be read, and then nothing fits.
    pub fn of(team: &str, inventory: &Inventory, limits: impl Fn(&Holding) -> Option<Vec<Limit>>) -> Self {
        let mut ledger = Self { listed: inventory.revision, ..Self::new(team) };
        let own = |(at, seen): (&NsRef, &Sighting)| {
            let Sighting { uid, revision, created, .. } = *seen;
            let holding = seen.holding.clone()?;
            Some((created, at.clone(), Held { uid, revision, holding, granted: false }))
        };
        let mut found: Vec<(i64, NsRef, Held)> = inventory.clusters.iter().filter_map(own).collect();
        found.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let mut beyond = Vec::new();
        for (_, at, mut held) in found {
            let ask = Ask {
                at: at.clone(),
                uid: held.uid,
                base: Some(held.revision),
                old: None,
                new: held.holding.clone(),
            };
            held.granted = limits(&held.holding).is_some_and(|limits| ledger.weigh(&ask, &limits).is_ok());
            if held.granted {
                ledger.change(&at, |slot| slot.held = Some(held));
            } else {
                beyond.push((at, held));
            }
        }
        for (at, held) in beyond {
            ledger.change(&at, |slot| slot.held = Some(held));
        }
        ledger
    }

    /// Takes in that a cluster was seen, if the ledger knows of it. What it does not know is left to a list: a sighting may
    /// be of something that the ledger has already seen the end of.
    pub fn fold(&mut self, at: &NsRef, seen: &Sighting) -> Settled {
        let is_news = self.slots.get(at).is_some_and(|slot| slot.knows(seen) && slot.is_news(seen));
        if is_news { self.see(at, seen) } else { Settled::default() }
    }

    /// Takes in a list. `is_over` says of which requests the time had passed before the list was asked for, so that what it
    /// does not show will never be.
    ///
    /// The list may be older than what the ledger knows already, as when it took long: what it says of a name is true of its
    /// revision, like any sighting, and what it shows besides counts only if no newer list was taken in.
    pub fn settle(&mut self, inventory: &Inventory, is_over: impl Fn(&NsRef, &Open) -> bool) -> Settled {
        let is_listed =
            |at: &NsRef| inventory.namespaces.as_ref().is_none_or(|listed| listed.contains(&at.namespace));
        let is_newest = inventory.revision >= self.listed;
        let mut settled = Settled::default();
        for (at, seen) in &inventory.clusters {
            let is_news = match self.slots.get(at) {
                Some(slot) => slot.is_news(seen) && (is_newest || slot.knows(seen)),
                None => is_newest && seen.holding.is_some(),
            };
            if is_news {
                settled += self.see(at, seen);
            }
        }
        let stale = |(at, slot): (&NsRef, &Slot)| {
            let is_gone = !inventory.clusters.contains_key(at);
            let looks = is_listed(at) && !inventory.unreadable.contains(at);
            (looks && (is_gone || !slot.open.is_empty())).then(|| (at.clone(), is_gone))
        };
        let looked_for: Vec<(NsRef, bool)> = self.slots.iter().filter_map(stale).collect();
        for (at, is_gone) in looked_for {
            let is_over = |open: &Open| is_over(&at, open);
            settled += self.miss(&at, is_gone.then_some(inventory.revision), is_over);
        }
        if settled.is_something() {
            self.listed = self.listed.max(inventory.revision);
        }
        settled
    }

    fn see(&mut self, at: &NsRef, seen: &Sighting) -> Settled {
        let mut settled = Settled::default();
        self.change(at, |slot| {
            let Sighting { uid, revision, is_leaving, .. } = *seen;
            let held = slot.held.as_ref().filter(|held| held.uid == uid);
            // What the object may have become by requests that came before it was seen.
            let past = slot
                .open
                .iter()
                .filter(|open| open.uid == uid && open.base.is_none_or(|base| base < revision));
            let known = held.map(|held| (held.granted, &held.holding));
            let known = known.into_iter().chain(past.map(|open| (open.granted, &open.holding)));
            let now = match &seen.holding {
                // Nothing of what is being deleted is given up, whatever its spec says by now: its machines go with it.
                seen if is_leaving && known.clone().next().is_some() => leaving(known, seen.as_ref())
                    .map(|(granted, holding)| Held { uid, revision, holding, granted }),
                Some(holding) => {
                    let granted = known.clone().any(|(granted, most)| granted && most.covers(holding));
                    Some(Held { uid, revision, holding: holding.clone(), granted })
                }
                None => None,
            };
            let was_granted = slot.held.as_ref().is_none_or(|held| held.granted);
            let before = slot.held.as_ref().map(|held| &held.holding);
            let is_lower = |before: &Holding| now.as_ref().is_none_or(|now| !now.holding.covers(before));
            settled.lowered += usize::from(before.is_some_and(is_lower));
            settled.slipped += usize::from(now.as_ref().is_some_and(|now| !now.granted) && was_granted);
            let count = slot.open.len();
            slot.open.retain(|open| match open.base {
                Some(base) => base >= revision,
                None => open.uid != uid,
            });
            settled.folded += count - slot.open.len();
            slot.held = now;
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

/// What a cluster takes until it is gone, and whether that is granted: the most that it had, where it had it. Of several
/// places it may have been in, it is the one that it is seen in.
fn leaving<'a>(
    mut known: impl Iterator<Item = (bool, &'a Holding)> + Clone,
    seen: Option<&Holding>,
) -> Option<(bool, Holding)> {
    let mut places = known.clone().map(|(_, had)| had);
    let place = places.clone().find(|had| seen.is_some_and(|seen| had.is_beside(seen))).or(places.next())?;
    let had = known.clone().fold(place.clone(), |most, (_, had)| most.joined(had));
    let most = seen.into_iter().fold(had.clone(), Holding::joined);
    Some((most == had && known.all(|(granted, _)| granted), most))
}

impl Slot {
    /// Whether a sighting is of something that is known, so that it cannot be of something that is known to be gone.
    fn knows(&self, seen: &Sighting) -> bool {
        self.held.is_some() || self.open.iter().any(|open| open.uid == seen.uid)
    }

    /// Whether a sighting says anything that is not known.
    fn is_news(&self, seen: &Sighting) -> bool {
        self.held.as_ref().is_none_or(|held| held.revision < seen.revision)
    }
}
