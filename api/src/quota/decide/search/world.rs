//! What there is, and what must be so.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

use super::super::*;
use super::steps::Happening;
use crate::names::ObjectUid;
use crate::quota::dimension::Dimension;
use crate::quota::holding::Holding;
use crate::quota::ledger::Sighting;
use crate::quota::limit::{Scope, Source};

pub(super) const NAMES: [&str; 2] = ["a", "b"];
pub(super) const MOST: u64 = 2;

pub(super) fn at(name: usize) -> NsRef {
    NsRef { name: NAMES[name].to_owned(), namespace: "t".to_owned() }
}

pub(super) fn holding(nodes: u64) -> Holding {
    Holding { nodes, ..Holding::default() }
}

pub(super) fn limits() -> Vec<Limit> {
    let source = Source { object: String::new(), field: String::new(), owners: "" };
    vec![Limit { scope: Scope::Team, dimension: Dimension::Nodes, most: (MOST as i32).into(), source }]
}

/// A cluster that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Stored {
    pub(super) uid: u32,
    pub(super) revision: u64,
    pub(super) nodes: u64,
    /// What exists of it. Of what is being deleted, nothing goes before it does.
    pub(super) machines: u64,
    pub(super) is_in_team: bool,
    pub(super) is_leaving: bool,
    pub(super) has_slipped: bool,
}

impl Stored {
    pub(super) fn sighting(&self) -> Sighting {
        let holding = self.is_in_team.then(|| holding(self.nodes));
        let uid = ObjectUid::from_number(self.uid.into());
        Sighting { uid, revision: self.revision, created: 0, holding, is_leaving: self.is_leaving }
    }

    pub(super) fn resize(&mut self, nodes: u64, revision: u64) {
        (self.nodes, self.revision) = (nodes, revision);
        self.machines = if self.is_leaving { self.machines.max(nodes) } else { nodes };
    }
}

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wish {
    Create { name: usize, nodes: u64 },
    Grow { name: usize, nodes: u64 },
    Join { name: usize },
    Try { name: usize, nodes: u64 },
}

/// How much of what is not a request may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) crashes: u32,
    pub(super) lost_answers: u32,
    pub(super) shrinks: u32,
    pub(super) leavings: u32,
    pub(super) deletions: u32,
    pub(super) slips: u32,
    pub(super) losses: u32,
}

/// Where a request is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// It waits for a replica, with what admission is shown.
    Review(Shown),
    /// A replica works on it.
    AtReplica(usize, Shown),
    /// It was admitted and may be stored.
    Admitted(Shown),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shown {
    pub(super) name: usize,
    pub(super) uid: u32,
    pub(super) old: Option<Stored>,
    pub(super) nodes: u64,
}

impl Shown {
    pub(super) fn ask(&self) -> Ask {
        let old = self.old.filter(|old| old.is_in_team);
        Ask {
            at: at(self.name),
            uid: ObjectUid::from_number(self.uid.into()),
            base: self.old.map(|old| old.revision),
            old: old.map(|old| holding(old.nodes)),
            new: holding(self.nodes),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) wish: Wish,
    pub(super) stage: Stage,
}

/// What a replica is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Work {
    #[default]
    Nothing,
    /// It has requests, and this is the next call.
    Answering(Vec<usize>, Group, Call),
    /// It looks after the ledger by itself.
    Settling(Call),
    /// It makes a lost ledger anew.
    Rebuilding(Option<Ledger>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Call {
    Read,
    List,
    Write,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Replica {
    pub(super) copy: Option<Copy>,
    pub(super) work: Work,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) revision: u64,
    pub(super) store: [Option<Stored>; 2],
    /// What watches may still tell.
    pub(super) told: BTreeSet<(usize, Stored)>,
    pub(super) ledger: Option<(i64, Ledger)>,
    pub(super) versions: i64,
    pub(super) requests: BTreeMap<usize, Request>,
    pub(super) wishes: Vec<Wish>,
    pub(super) replicas: [Replica; 2],
    /// Whose answer comes late must not be taken for somebody else's.
    pub(super) sent: usize,
    pub(super) uids: u32,
    pub(super) budget: Budget,
    /// Whether a ledger was lost, and with it who was admitted.
    pub(super) has_lost: bool,
}

impl World {
    pub(super) fn new(wishes: &[Wish], budget: Budget) -> Self {
        Self {
            revision: 1,
            store: [None, None],
            told: BTreeSet::new(),
            ledger: Some((1, Ledger::new("t"))),
            versions: 1,
            requests: BTreeMap::new(),
            wishes: wishes.to_vec(),
            replicas: [Replica::default(), Replica::default()],
            sent: 0,
            uids: 0,
            budget,
            has_lost: false,
        }
    }

    /// A world in which there is a cluster of one node.
    pub(super) fn with_a(wishes: &[Wish], budget: Budget) -> Self {
        let mut world = Self::new(&[super::CREATE_A], Budget::default());
        world.happen(Happening::Send(0));
        world.happen(Happening::Ask { request: 1, replica: 0 });
        while world.replicas[0].work != Work::Nothing {
            world.happen(Happening::Call(0));
        }
        world.happen(Happening::Store(1));
        Self { wishes: wishes.to_vec(), budget, ..world }
    }

    /// A world in which there is one that is nobody's.
    pub(super) fn with_stranger(wishes: &[Wish], budget: Budget) -> Self {
        let mut world = Self::new(wishes, budget);
        (world.revision, world.uids) = (2, 1);
        world.store[0] = Some(Stored {
            uid: 1,
            revision: 2,
            nodes: 1,
            machines: 1,
            is_in_team: false,
            is_leaving: false,
            has_slipped: false,
        });
        world
    }

    fn own(&self) -> impl Iterator<Item = (usize, &Stored)> {
        let stored =
            self.store.iter().enumerate().filter_map(|(name, stored)| Some((name, stored.as_ref()?)));
        stored.filter(|(_, stored)| stored.is_in_team)
    }

    fn machines(&self) -> u64 {
        self.own().map(|(_, stored)| stored.machines).sum()
    }

    /// Whether the ledger says anything but what is stored.
    pub(super) fn has_to_settle(&self) -> bool {
        let is_exact = |ledger: &Ledger| {
            ledger.open() == 0 && ledger.used(&Scope::Team, Dimension::Nodes) == self.machines().into()
        };
        self.ledger.as_ref().is_some_and(|(_, ledger)| !is_exact(ledger))
    }

    /// The same world with its replicas in an order of their own: which is which makes no difference.
    pub(super) fn in_order(mut self, number: &impl BuildHasher) -> Self {
        if number.hash_one(&self.replicas[0]) > number.hash_one(&self.replicas[1]) {
            self.replicas.swap(0, 1);
            for request in self.requests.values_mut() {
                if let Stage::AtReplica(at, _) = &mut request.stage {
                    *at = 1 - *at;
                }
            }
        }
        self
    }

    pub(super) fn inventory(&self) -> Inventory {
        let stored = self.store.iter().enumerate();
        let clusters = stored.filter_map(|(name, stored)| Some((at(name), (*stored)?.sighting()))).collect();
        Inventory { revision: self.revision, clusters, ..Inventory::default() }
    }

    pub(super) fn check(&self) {
        let admitted: u64 =
            self.own().filter(|(_, stored)| !stored.has_slipped).map(|(_, stored)| stored.machines).sum();
        assert!(admitted <= MOST, "{admitted} stored: {self:#?}");
        let Some((_, ledger)) = &self.ledger else { return };
        let mut granted = 0;
        for (name, stored) in self.own() {
            let uid = ObjectUid::from_number(stored.uid.into());
            let is_granted = ledger.grants(&at(name), uid, &holding(stored.nodes));
            granted += if is_granted { stored.nodes } else { 0 };
            if !self.has_lost {
                assert_eq!(is_granted, !stored.has_slipped, "granted: {self:#?}");
            }
        }
        assert!(granted <= MOST, "{granted} granted: {self:#?}");
    }

    /// However things are, what comes in the end is right.
    pub(super) fn ends_well(mut self) {
        self.requests.clear();
        self.replicas = Default::default();
        if self.ledger.is_none() {
            self.happen(Happening::Rebuild(0));
            self.happen(Happening::Call(0));
            self.happen(Happening::Call(0));
        }
        self.happen(Happening::Settle(0));
        while self.replicas[0].work != Work::Nothing {
            self.happen(Happening::Call(0));
        }
        let (_, ledger) = self.ledger.as_ref().unwrap();
        assert_eq!(ledger.open(), 0, "{self:#?}");
        let used = u64::try_from(ledger.used(&Scope::Team, Dimension::Nodes)).unwrap();
        let is_leaving = self.own().any(|(_, stored)| stored.is_leaving);
        // More may be said of what is leaving: a request that was overtaken by its end may have been stored before it shrank.
        assert!(used == self.machines() || (is_leaving && used > self.machines()), "{used} used: {self:#?}");
        let fill = |nodes: u64| {
            let other = NsRef { name: "other".to_owned(), namespace: "t".to_owned() };
            let uid = ObjectUid::from_number(99);
            let ask = Ask { at: other, uid, base: None, old: None, new: holding(nodes) };
            ledger.weigh(&ask, &limits()).is_ok()
        };
        let left = MOST.saturating_sub(used);
        assert!(left == 0 || fill(left), "{self:#?}");
        assert!(!fill(left + 1), "{self:#?}");
    }
}
