//! One team's ledger: what each of its clusters may take, so that the sum is known without looking at the clusters.
//!
//! A ledger has a slot per name of a cluster. At most one object of a name exists at a time, so a slot counts once, however
//! many requests for it are under way: with the most that any of its alternatives takes. An alternative is what an object
//! was last seen with ([`Held`]) or what a request may make of it ([`Open`]).
//!
//! **Invariant.** Whatever is stored under a name is covered by an alternative of its slot, unless it got past the gate; and
//! a ledger only ever takes up an alternative ([`Ledger::reserve`]) with which the sums are within every limit that it
//! raises. So what is stored is within the limits, without anybody having counted it.
//!
//! Alternatives leave by evidence only (`evidence.rs`), and evidence carries the revision of the API server at which it
//! was true. Since an update is stored only if its object still has the revision that admission looked at, revisions say which
//! requests can still come to be; a stale cache can therefore do no harm. The one thing they cannot say is that a creation
//! that was never seen has failed. That takes a list made after the time in which the API server finishes any request.

mod evidence;
mod text;
mod totals;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::evidence::{Inventory, Settled, Sighting};
pub use self::text::LedgerError;
use self::totals::Totals;
use crate::names::ObjectUid;
use crate::quantity::Amount;
use crate::quota::dimension::Dimension;
use crate::quota::holding::Holding;
use crate::quota::limit::{Exceeded, Limit, Scope};
use crate::reference::NsRef;

/// How many requests for one name may be under way. More are a client gone wild.
const MOST_OPEN: usize = 32;
/// How many bytes a ledger may take. An API server refuses to store more than one and a half mebibytes.
const MOST_BYTES: usize = 1_400_000;

/// What the clusters of a team may take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    team: Arc<str>,
    slots: BTreeMap<NsRef, Slot>,
    totals: Totals,
    /// The revision of the newest list that changed anything here. An older list may show what has gone since.
    listed: u64,
}

/// Everything that may be stored under one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slot {
    /// What was stored when somebody last looked.
    pub held: Option<Held>,
    /// What requests may make of it.
    pub open: Vec<Open>,
}

/// A cluster as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// The object.
    pub uid: ObjectUid,
    /// Its `metadata.resourceVersion` then.
    pub revision: u64,
    /// What it took.
    pub holding: Holding,
    /// Whether it was admitted with that. What got past the gate counts like everything else, and is not to be built.
    pub granted: bool,
}

/// A request that was admitted and may still be stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Open {
    /// The object.
    pub uid: ObjectUid,
    /// The revision of the object that it changes; nothing for a creation.
    pub base: Option<u64>,
    /// When it was taken up, as the number of the ledger's write: a request that comes again gets a new one.
    pub ticket: u64,
    /// What the object takes if it is stored.
    pub holding: Holding,
    /// Whether all of it was asked for. An object without a grant does not get one by taking more.
    pub granted: bool,
}

/// A change that raises something.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ask {
    /// The cluster's name.
    pub at: NsRef,
    /// The cluster.
    pub uid: ObjectUid,
    /// The revision of the object that it changes; nothing for a creation.
    pub base: Option<u64>,
    /// What the cluster takes of this team before the change.
    pub old: Option<Holding>,
    /// What it takes after.
    pub new: Holding,
}

/// Why a change cannot be taken up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It goes beyond these limits.
    Exceeded(Vec<Exceeded>),
    /// There are too many requests for that cluster already.
    TooManyChanges,
    /// There are more clusters than a ledger has room for.
    Full,
    /// There is no such cluster.
    Unknown,
}

impl Ledger {
    /// The ledger of a team that has nothing.
    pub fn new(team: &str) -> Self {
        Self { team: team.into(), slots: BTreeMap::new(), totals: Totals::default(), listed: 0 }
    }

    /// The name of the team.
    pub fn team(&self) -> &str {
        &self.team
    }

    /// What may be stored under each name.
    pub fn slots(&self) -> &BTreeMap<NsRef, Slot> {
        &self.slots
    }

    /// How many requests are under way.
    pub fn open(&self) -> usize {
        self.totals.open
    }

    /// What is used there: the most that it can come to with what is under way.
    pub fn used(&self, scope: &Scope, dimension: Dimension) -> u128 {
        self.totals.amount(scope, dimension)
    }

    /// Whether a change fits: nothing that it raises goes beyond a limit. What it leaves alone is not looked at, so that
    /// a limit that was lowered freezes nothing.
    pub fn weigh(&self, ask: &Ask, limits: &[Limit]) -> Result<(), Refusal> {
        let slot = self.slots.get(&ask.at);
        let is_new = !self.has(ask);
        if is_new && slot.is_some_and(|slot| slot.open.len() >= MOST_OPEN) {
            return Err(Refusal::TooManyChanges);
        }
        if is_new && self.totals.bytes_with(&ask.at, &ask.new) > MOST_BYTES {
            return Err(Refusal::Full);
        }
        let exceeded: Vec<Exceeded> =
            limits.iter().filter_map(|limit| self.exceeds(slot, ask, limit)).collect();
        if exceeded.is_empty() { Ok(()) } else { Err(Refusal::Exceeded(exceeded)) }
    }

    fn exceeds(&self, slot: Option<&Slot>, ask: &Ask, limit: &Limit) -> Option<Exceeded> {
        let Limit { scope, dimension, most, .. } = limit;
        let new = ask.new.amount(scope, *dimension);
        let old = ask.old.as_ref().map_or(0, |old| old.amount(scope, *dimension));
        if new <= old {
            return None;
        }
        let (others, after) = if *scope == Scope::Cluster {
            (0, new)
        } else {
            let own = slot.map_or(0, |slot| slot.amount(scope, *dimension));
            let others = self.totals.amount(scope, *dimension) - own;
            (others, others + own.max(new))
        };
        if Amount::from_whole(after) <= *most {
            return None;
        }
        let counted = |slot: &&Slot| slot.amount(scope, *dimension) > 0;
        Some(Exceeded {
            limit: limit.clone(),
            team: Arc::clone(&self.team),
            used: others + old,
            clusters: self.slots.values().filter(counted).count(),
            pending: self.slots.values().filter(counted).filter(|slot| !slot.open.is_empty()).count(),
            adds: new - old,
        })
    }

    /// Whether a change comes too late: its object is known to have changed since, or to be gone. The API server stores an
    /// update only on the revision that admission was shown, so this one is not stored, whatever it is answered.
    pub fn overtakes(&self, ask: &Ask) -> bool {
        let held = self.slots.get(&ask.at).and_then(|slot| slot.held.as_ref());
        ask.base.is_some_and(|base| held.is_some_and(|held| held.revision > base))
    }

    /// Takes up a change that was weighed. One that comes again takes its own place.
    ///
    /// Only what it adds was weighed, so it is granted only if what was there before is; to a team that a cluster joins,
    /// all of it is new. What was admitted is known here from then on, so what is not known has slipped past the gate.
    pub fn reserve(&mut self, ask: Ask, ticket: u64) {
        let granted = ask.old.as_ref().is_none_or(|old| self.grants(&ask.at, ask.uid, old));
        self.change(&ask.at.clone(), |slot| {
            slot.open.retain(|open| !open.is_same(&ask));
            let Ask { uid, base, new, .. } = ask;
            slot.open.push(Open { uid, base, ticket, holding: new, granted });
        });
    }

    /// Whether exactly that change was taken up before.
    pub fn has(&self, ask: &Ask) -> bool {
        self.slots.get(&ask.at).is_some_and(|slot| slot.open.iter().any(|open| open.is_same(ask)))
    }

    /// Takes back what was taken up with that ticket. Only for who took it up, was the only one to, and says no.
    pub fn withdraw(&mut self, ask: &Ask, ticket: u64) {
        self.change(&ask.at, |slot| slot.open.retain(|open| open.ticket != ticket || !open.is_same(ask)));
    }

    /// Whether an object was admitted with what it takes. Only what was is to be built.
    pub fn grants(&self, at: &NsRef, uid: ObjectUid, holding: &Holding) -> bool {
        let Some(slot) = self.slots.get(at) else { return false };
        let held = slot.held.iter().map(|it| (it.uid, it.granted, &it.holding));
        let open = slot.open.iter().map(|it| (it.uid, it.granted, &it.holding));
        held.chain(open).any(|(of, granted, most)| of == uid && granted && most.covers(holding))
    }

    /// Asks afterwards for an object that got past the gate: it is granted if everything it takes is within the limits,
    /// beside everything else that is granted. What else got past the gate is not to be built, and so in nobody's way.
    pub fn grant(&mut self, at: &NsRef, uid: ObjectUid, limits: &[Limit]) -> Result<(), Refusal> {
        let held = self.slots.get(at).and_then(|slot| slot.held.as_ref()).filter(|held| held.uid == uid);
        let Some(held) = held else { return Err(Refusal::Unknown) };
        if held.granted {
            return Ok(());
        }
        let new = held.holding.clone();
        let ask = Ask { at: at.clone(), uid, base: Some(held.revision), old: None, new };
        self.granted().weigh(&ask, limits)?;
        self.change(at, |slot| {
            if let Some(held) = &mut slot.held {
                held.granted = true;
            }
        });
        Ok(())
    }

    /// The same without what got past the gate.
    fn granted(&self) -> Self {
        let mut granted = Self::new(&self.team);
        for (at, slot) in &self.slots {
            granted.change(at, |own| {
                own.held = slot.held.clone().filter(|held| held.granted);
                own.open = slot.open.iter().filter(|open| open.granted).cloned().collect();
            });
        }
        granted
    }

    /// Changes a slot and keeps the sums right.
    fn change(&mut self, at: &NsRef, change: impl FnOnce(&mut Slot)) {
        let mut slot = self.slots.remove(at).unwrap_or_default();
        self.totals.remove(at, &slot);
        change(&mut slot);
        if slot.held.is_some() || !slot.open.is_empty() {
            self.totals.add(at, &slot);
            self.slots.insert(at.clone(), slot);
        }
    }
}

impl Slot {
    /// Everything that may be stored.
    pub fn alternatives(&self) -> impl Iterator<Item = &Holding> {
        self.held.iter().map(|held| &held.holding).chain(self.open.iter().map(|open| &open.holding))
    }

    fn amount(&self, scope: &Scope, dimension: Dimension) -> u128 {
        self.alternatives().map(|holding| holding.amount(scope, dimension)).max().unwrap_or(0)
    }
}

impl Open {
    /// Whether that is the same change of the same object.
    fn is_same(&self, ask: &Ask) -> bool {
        (self.uid, self.base, &self.holding) == (ask.uid, ask.base, &ask.new)
    }
}

#[cfg(test)]
mod tests;
