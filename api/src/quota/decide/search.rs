//! Every order in which two replicas, an API server and its clients can do what they do.
//!
//! The model takes the real `Group`, `Copy` and `Ledger` and plays the rest: an API server that stores a request that was
//! admitted, or asks again, or never does either; replicas that crash between any two calls, or after a call whose answer
//! they never see; watches that tell what was true long ago; people who shrink and delete clusters; somebody who deletes
//! the ledger. Time is played at its worst: a request counts as over for a replica as soon as it really is, and no ledger is
//! made anew before that.
//!
//! What must hold in every state: what is stored is within the limit, and admitted. From every state: once the requests have
//! ended, one replica that looks once leaves nothing reserved, and the whole limit can be used again, and not more.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::*;
use crate::names::ObjectUid;
use crate::quota::dimension::Dimension;
use crate::quota::holding::Holding;
use crate::quota::ledger::Sighting;
use crate::quota::limit::{Scope, Source};

const NAMES: [&str; 2] = ["a", "b"];
const MOST: u64 = 2;

fn at(name: usize) -> NsRef {
    NsRef { name: NAMES[name].to_owned(), namespace: "t".to_owned() }
}

fn holding(nodes: u64) -> Holding {
    Holding { nodes, ..Holding::default() }
}

fn limits() -> Vec<Limit> {
    let source = Source { object: String::new(), field: String::new(), owners: "" };
    vec![Limit { scope: Scope::Team, dimension: Dimension::Nodes, most: (MOST as i32).into(), source }]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stored {
    uid: u32,
    revision: u64,
    nodes: u64,
}

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wish {
    Create { name: usize, nodes: u64 },
    Grow { name: usize, nodes: u64 },
}

/// Where a request is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// It waits for a replica, with what admission is shown.
    Review(Shown),
    /// A replica works on it.
    AtReplica(usize, Shown),
    /// It was admitted and may be stored.
    Admitted(Shown),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shown {
    name: usize,
    uid: u32,
    old: Option<Stored>,
    nodes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Request {
    wish: Wish,
    stage: Stage,
}

/// What a replica is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Work {
    #[default]
    Nothing,
    /// It has a request, and this is the next call.
    Answering(usize, Call),
    /// It looks after the ledger by itself.
    Settling(Call),
    /// It makes a lost ledger anew.
    Rebuilding(Option<Ledger>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Call {
    Read,
    List,
    Write,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Replica {
    copy: Option<Copy>,
    work: Work,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    revision: u64,
    store: [Option<Stored>; 2],
    /// What watches may still tell.
    told: BTreeSet<(usize, u64, u32, u64)>,
    ledger: Option<(i64, Ledger)>,
    versions: i64,
    requests: BTreeMap<usize, Request>,
    wishes: Vec<Wish>,
    replicas: [Replica; 2],
    /// Whose answer comes late must not be taken for somebody else's.
    sent: usize,
    uids: u32,
    crashes: u32,
    shrinks: u32,
    deletions: u32,
    losses: u32,
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Happening {
    /// A client asks.
    Send(usize),
    /// The API server asks a replica.
    Ask {
        request: usize,
        replica: usize,
    },
    /// A replica makes its next call, and sees the answer.
    Call(usize),
    /// A replica makes its next call, and crashes before it sees the answer.
    CallAndCrash(usize),
    Crash(usize),
    /// The API server goes on with what was admitted.
    Store(usize),
    /// It does not: another webhook denied it, the client went away, the server was stopped.
    Drop(usize),
    Shrink(usize),
    Delete(usize),
    /// A watch tells a replica what was so at some time.
    Tell {
        replica: usize,
        which: usize,
    },
    Settle(usize),
    LoseLedger,
    Rebuild(usize),
}

impl World {
    fn new(wishes: &[Wish], crashes: u32, shrinks: u32, deletions: u32, losses: u32) -> Self {
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
            crashes,
            shrinks,
            deletions,
            losses,
        }
    }

    fn happenings(&self) -> Vec<Happening> {
        let mut all: Vec<Happening> = (0..self.wishes.len()).map(Happening::Send).collect();
        for (index, request) in &self.requests {
            match request.stage {
                Stage::Review(_) => {
                    let idle = (0..2).filter(|it| self.replicas[*it].work == Work::Nothing);
                    all.extend(idle.map(|replica| Happening::Ask { request: *index, replica }));
                    all.push(Happening::Drop(*index));
                }
                Stage::AtReplica(..) => all.push(Happening::Drop(*index)),
                Stage::Admitted(_) => all.extend([Happening::Store(*index), Happening::Drop(*index)]),
            }
        }
        for (index, replica) in self.replicas.iter().enumerate() {
            if replica.work == Work::Nothing {
                if self.has_to_settle() {
                    all.push(Happening::Settle(index));
                }
                if self.ledger.is_none() {
                    all.push(Happening::Rebuild(index));
                }
                if replica.copy.is_some() {
                    all.extend((0..self.told.len()).map(|which| Happening::Tell { replica: index, which }));
                }
            } else {
                all.push(Happening::Call(index));
                if self.crashes > 0 {
                    all.push(Happening::CallAndCrash(index));
                }
            }
            if self.crashes > 0 && *replica != Replica::default() {
                all.push(Happening::Crash(index));
            }
        }
        for name in 0..NAMES.len() {
            if self.shrinks > 0 && self.store[name].is_some_and(|stored| stored.nodes > 1) {
                all.push(Happening::Shrink(name));
            }
            if self.deletions > 0 && self.store[name].is_some() {
                all.push(Happening::Delete(name));
            }
        }
        if self.losses > 0 && self.ledger.is_some() {
            all.push(Happening::LoseLedger);
        }
        all
    }

    /// Whether the ledger says anything but what is stored.
    fn has_to_settle(&self) -> bool {
        let stored: u64 = self.store.iter().flatten().map(|stored| stored.nodes).sum();
        let is_exact = |ledger: &Ledger| {
            ledger.open() == 0 && ledger.used(&Scope::Team, Dimension::Nodes) == stored.into()
        };
        self.ledger.as_ref().is_some_and(|(_, ledger)| !is_exact(ledger))
    }

    /// The same world with its replicas in an order of their own: which is which makes no difference.
    fn in_order(mut self, number: &impl BuildHasher) -> Self {
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

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Send(index) => {
                let wish = self.wishes.remove(index);
                self.sent += 1;
                let key = self.sent;
                if let Some(shown) = self.show(wish) {
                    self.requests.insert(key, Request { wish, stage: Stage::Review(shown) });
                }
            }
            Happening::Ask { request, replica } => {
                let Some(Request { stage, .. }) = self.requests.get_mut(&request) else { return };
                let Stage::Review(shown) = stage.clone() else { return };
                *stage = Stage::AtReplica(replica, shown);
                self.go_on(replica, request);
            }
            Happening::Call(replica) => self.call(replica),
            Happening::CallAndCrash(replica) => {
                self.call(replica);
                // The answer that it may have sent is lost as well.
                let lost: Vec<usize> = self.requests.keys().copied().collect();
                for index in lost {
                    let admitted_just_now =
                        matches!(self.requests[&index].stage, Stage::AtReplica(at, _) if at == replica);
                    if admitted_just_now {
                        self.requests.remove(&index);
                    }
                }
                self.crash(replica);
            }
            Happening::Crash(replica) => self.crash(replica),
            Happening::Store(index) => self.commit(index),
            Happening::Drop(index) => {
                self.requests.remove(&index);
            }
            Happening::Shrink(name) => {
                self.shrinks -= 1;
                self.revision += 1;
                if let Some(stored) = &mut self.store[name] {
                    (stored.nodes, stored.revision) = (stored.nodes - 1, self.revision);
                }
                self.tell(name);
            }
            Happening::Delete(name) => {
                self.deletions -= 1;
                self.revision += 1;
                self.store[name] = None;
            }
            Happening::Tell { replica, which } => {
                let (name, revision, uid, nodes) = *self.told.iter().nth(which).unwrap();
                let seen = sighting(&Stored { uid, revision, nodes });
                if let Some(copy) = &mut self.replicas[replica].copy {
                    copy.ledger.fold(&at(name), &seen);
                }
            }
            Happening::Settle(replica) => self.replicas[replica].work = Work::Settling(Call::Read),
            Happening::LoseLedger => {
                self.losses -= 1;
                self.ledger = None;
            }
            Happening::Rebuild(replica) => self.replicas[replica].work = Work::Rebuilding(None),
        }
    }

    fn show(&mut self, wish: Wish) -> Option<Shown> {
        match wish {
            Wish::Create { name, nodes } => {
                self.uids += 1;
                Some(Shown { name, uid: self.uids, old: None, nodes })
            }
            Wish::Grow { name, nodes } => {
                let old = self.store[name].filter(|old| old.nodes < nodes)?;
                Some(Shown { name, uid: old.uid, old: Some(old), nodes })
            }
        }
    }

    /// Decides with what the replica has, by the code that production decides by.
    fn go_on(&mut self, index: usize, request: usize) {
        let Some(Request { stage: Stage::AtReplica(_, shown), .. }) = self.requests.get(&request).cloned()
        else {
            // Nobody waits for the answer any more.
            let replica = &mut self.replicas[index];
            replica.work = Work::Nothing;
            replica.copy.iter_mut().for_each(Copy::rest);
            return;
        };
        let replica = &mut self.replicas[index];
        let mut group = Group::default();
        let ask = Ask {
            at: at(shown.name),
            uid: ObjectUid::from_number(shown.uid.into()),
            base: shown.old.map(|old| old.revision),
            old: shown.old.map(|old| holding(old.nodes)),
            new: holding(shown.nodes),
        };
        group.push(ask, limits(), false);
        replica.work = match group.next(replica.copy.as_mut()) {
            Next::Read => Work::Answering(request, Call::Read),
            Next::List => Work::Answering(request, Call::List),
            Next::Write => Work::Answering(request, Call::Write),
            Next::Answer => {
                if let Some(copy) = &mut replica.copy {
                    copy.rest();
                }
                self.requests.remove(&request);
                Work::Nothing
            }
        };
    }

    fn call(&mut self, index: usize) {
        match self.replicas[index].work.clone() {
            Work::Nothing => {}
            Work::Answering(request, call) => match call {
                Call::Read => {
                    if self.read(index) {
                        self.go_on(index, request);
                    } else {
                        self.requests.remove(&request);
                        self.replicas[index].work = Work::Nothing;
                    }
                }
                Call::List => {
                    self.list(index);
                    self.go_on(index, request);
                }
                Call::Write => match self.write(index) {
                    true => {
                        self.replicas[index].work = Work::Nothing;
                        if let Some(Request { stage, .. }) = self.requests.get_mut(&request)
                            && let Stage::AtReplica(_, shown) = *stage
                        {
                            *stage = Stage::Admitted(shown);
                        }
                    }
                    false => self.go_on(index, request),
                },
            },
            Work::Settling(call) => {
                let next = match call {
                    Call::Read => self.read(index).then_some(Call::List),
                    Call::List => self.list(index).then_some(Call::Write),
                    Call::Write => {
                        self.write(index);
                        None
                    }
                };
                self.replicas[index].work = next.map_or(Work::Nothing, Work::Settling);
            }
            Work::Rebuilding(None) => {
                // The time of every request that the lost ledger admitted has passed.
                let is_over =
                    !self.requests.values().any(|request| matches!(request.stage, Stage::Admitted(_)));
                self.replicas[index].work = match is_over && self.ledger.is_none() {
                    true => Work::Rebuilding(Some(Ledger::of("t", &self.inventory()))),
                    false => Work::Nothing,
                };
            }
            Work::Rebuilding(Some(ledger)) => {
                if self.ledger.is_none() {
                    // No two versions have the same number, as no two objects have the same resourceVersion.
                    self.versions += 1;
                    self.ledger = Some((self.versions, ledger));
                }
                self.replicas[index].work = Work::Nothing;
            }
        }
    }

    fn read(&mut self, index: usize) -> bool {
        self.replicas[index].copy =
            self.ledger.as_ref().map(|(writes, ledger)| Copy::read(ledger.clone(), *writes));
        self.ledger.is_some()
    }

    /// Whether anything came of it.
    fn list(&mut self, index: usize) -> bool {
        let inventory = self.inventory();
        let under_way: HashSet<(usize, u32, Option<u64>)> = self
            .requests
            .values()
            .filter_map(|request| match request.stage {
                Stage::Admitted(shown) | Stage::AtReplica(_, shown) => {
                    Some((shown.name, shown.uid, shown.old.map(|old| old.revision)))
                }
                Stage::Review(_) => None,
            })
            .collect();
        let is_over = |slot: &NsRef, open: &Open| {
            let name = NAMES.iter().position(|name| *name == slot.name).unwrap();
            !under_way.contains(&(name, open.uid.number() as u32, open.base))
        };
        let copy = self.replicas[index].copy.as_mut();
        copy.is_some_and(|copy| copy.settle(&inventory, is_over).is_something())
    }

    fn write(&mut self, index: usize) -> bool {
        let replica = &mut self.replicas[index];
        let Some(copy) = &mut replica.copy else { return false };
        let is_current = self.ledger.as_ref().is_some_and(|(writes, _)| *writes == copy.writes);
        if is_current {
            self.ledger = Some((copy.writes + 1, copy.ledger.clone()));
            self.versions = copy.writes + 1;
            // One change waits at a time, and now none does.
            copy.written();
            copy.rest();
        } else {
            replica.copy = None;
        }
        is_current
    }

    fn crash(&mut self, index: usize) {
        self.crashes -= 1;
        self.replicas[index] = Replica::default();
        self.requests.retain(|_, request| !matches!(request.stage, Stage::AtReplica(at, _) if at == index));
    }

    fn commit(&mut self, index: usize) {
        let Some(Request { wish, stage: Stage::Admitted(shown) }) = self.requests.get(&index).cloned() else {
            return;
        };
        let current = self.store[shown.name];
        if current != shown.old {
            // A creation fails; a change is tried again on what is there now, from the beginning.
            let again = matches!(wish, Wish::Grow { .. }).then(|| self.show(wish)).flatten();
            match again {
                Some(shown) => {
                    self.requests.insert(index, Request { wish, stage: Stage::Review(shown) });
                }
                None => {
                    self.requests.remove(&index);
                }
            }
            return;
        }
        self.revision += 1;
        let Shown { name, uid, nodes, .. } = shown;
        self.store[name] = Some(Stored { uid, revision: self.revision, nodes });
        self.tell(name);
        self.requests.remove(&index);
    }

    fn tell(&mut self, name: usize) {
        if let Some(Stored { uid, revision, nodes }) = self.store[name] {
            self.told.insert((name, revision, uid, nodes));
        }
    }

    fn inventory(&self) -> Inventory {
        let stored = self.store.iter().enumerate();
        let clusters = stored.filter_map(|(name, stored)| Some((at(name), sighting(&(*stored)?)))).collect();
        Inventory { revision: self.revision, namespaces: None, clusters }
    }

    fn check(&self) {
        let stored: u64 = self.store.iter().flatten().map(|stored| stored.nodes).sum();
        assert!(stored <= MOST, "{stored} stored: {self:#?}");
        let Some((_, ledger)) = &self.ledger else { return };
        for (name, stored) in self.store.iter().enumerate() {
            let Some(Stored { uid, nodes, .. }) = *stored else { continue };
            let uid = ObjectUid::from_number(uid.into());
            assert!(ledger.grants(&at(name), uid, &holding(nodes)), "not granted: {self:#?}");
        }
    }

    /// However things are, what comes in the end is right.
    fn ends_well(mut self) {
        self.requests.clear();
        self.replicas = Default::default();
        if self.ledger.is_none() {
            self.happen(Happening::Rebuild(0));
            self.call(0);
            self.call(0);
        }
        self.happen(Happening::Settle(0));
        while self.replicas[0].work != Work::Nothing {
            self.call(0);
        }
        let stored: u64 = self.store.iter().flatten().map(|stored| stored.nodes).sum();
        let (_, ledger) = self.ledger.as_ref().unwrap();
        assert_eq!(ledger.open(), 0, "{self:#?}");
        assert_eq!(ledger.used(&Scope::Team, Dimension::Nodes), stored.into(), "{self:#?}");
        let fill = |nodes: u64| {
            let other = NsRef { name: "other".to_owned(), namespace: "t".to_owned() };
            let uid = ObjectUid::from_number(99);
            let ask = Ask { at: other, uid, base: None, old: None, new: holding(nodes) };
            ledger.weigh(&ask, &limits()).is_ok()
        };
        assert!(stored == MOST || fill(MOST - stored), "{self:#?}");
        assert!(!fill(MOST - stored + 1), "{self:#?}");
    }
}

fn sighting(stored: &Stored) -> Sighting {
    let Stored { uid, revision, nodes } = *stored;
    let uid = ObjectUid::from_number(uid.into());
    Sighting { uid, revision, holding: holding(nodes), is_leaving: false }
}

/// Goes through every state that can come about, and gives their number.
fn search(start: World) -> usize {
    let number = BuildHasherDefault::<DefaultHasher>::default();
    let mut seen = HashSet::from([number.hash_one(&start)]);
    let mut next = vec![start];
    while let Some(world) = next.pop() {
        world.check();
        world.clone().ends_well();
        for happening in world.happenings() {
            let mut after = world.clone();
            after.happen(happening);
            let after = after.in_order(&number);
            if seen.insert(number.hash_one(&after)) {
                next.push(after);
            }
        }
    }
    seen.len()
}

const CREATE_A: Wish = Wish::Create { name: 0, nodes: 1 };
const CREATE_B: Wish = Wish::Create { name: 1, nodes: 1 };
const CREATE_LARGE_B: Wish = Wish::Create { name: 1, nodes: 2 };
const GROW_A: Wish = Wish::Grow { name: 0, nodes: 2 };

/// A world in which there is a cluster of one node.
fn with_a(wishes: &[Wish], crashes: u32, shrinks: u32, deletions: u32) -> World {
    let mut world = World::new(&[CREATE_A], 0, 0, 0, 0);
    world.happen(Happening::Send(0));
    world.happen(Happening::Ask { request: 1, replica: 0 });
    while world.replicas[0].work != Work::Nothing {
        world.call(0);
    }
    world.commit(1);
    World { wishes: wishes.to_vec(), crashes, shrinks, deletions, ..world }
}

fn goes_well(name: &str, start: World) {
    let states = search(start);
    println!("{name}: {states} states");
    assert!(states > 1_000, "{states}");
}

/// With more of everything there are hundreds of times as many states, for which nobody waits every day.
fn is_full() -> bool {
    std::env::var_os("BUTLER_SEARCH").is_some()
}

#[test]
fn two_replicas_never_admit_more_than_fits_and_lose_nothing_when_they_crash() {
    goes_well("crash", World::new(&[CREATE_A, CREATE_LARGE_B], 1, 0, 0, 0));
    if is_full() {
        goes_well("crash, in full", World::new(&[CREATE_A, CREATE_B, GROW_A], 1, 0, 0, 0));
    }
}

#[test]
fn a_name_that_is_taken_and_freed_again_counts_once() {
    goes_well("clash", World::new(&[CREATE_A, CREATE_A], 0, 0, 1, 0));
    if is_full() {
        goes_well("clash, in full", World::new(&[CREATE_A, CREATE_A, CREATE_LARGE_B], 0, 0, 1, 0));
    }
}

#[test]
fn growing_and_shrinking_frees_exactly_its_part() {
    goes_well("grow", with_a(&[GROW_A], 1, 1, 1));
    goes_well("compete", with_a(&[GROW_A, CREATE_B], 0, 0, 0));
    if is_full() {
        goes_well("grow, in full", with_a(&[GROW_A, GROW_A, CREATE_B], 0, 2, 1));
    }
}

#[test]
fn a_lost_ledger_comes_back_with_everything_that_was_admitted() {
    goes_well("loss", World::new(&[CREATE_A, CREATE_LARGE_B], 0, 0, 0, 1));
    if is_full() {
        goes_well("loss, in full", World::new(&[CREATE_A, CREATE_LARGE_B], 1, 0, 1, 1));
    }
}
