//! What can happen next, and what it leads to.

use std::collections::HashSet;

use super::super::*;
use super::world::{Call, NAMES, Replica, Request, Shown, Stage, Stored, Wish, Work, World, at, limits};

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// A client asks.
    Send(usize),
    /// The API server asks a replica.
    Ask {
        request: usize,
        replica: usize,
    },
    /// Everything that waits is asked of a replica at once.
    AskAll(usize),
    /// A replica makes its next call, and sees the answer.
    Call(usize),
    /// A replica makes its next call, and goes on without having seen the answer.
    CallAndMiss(usize),
    /// A replica makes its next call, and crashes before it sees the answer.
    CallAndCrash(usize),
    Crash(usize),
    /// The API server goes on with what was admitted.
    Store(usize),
    /// It does not: another webhook denied it, the client went away, the server was stopped.
    Drop(usize),
    Shrink(usize),
    /// It is deleted, and something keeps it.
    Leave(usize),
    Delete(usize),
    /// It is made past the gate.
    Slip(usize),
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
    pub(super) fn happenings(&self) -> Vec<Happening> {
        let mut all: Vec<Happening> = (0..self.wishes.len()).map(Happening::Send).collect();
        let mut waiting = 0;
        for (index, request) in &self.requests {
            match request.stage {
                Stage::Review(_) => {
                    waiting += 1;
                    let idle = (0..2).filter(|it| self.replicas[*it].work == Work::Nothing);
                    all.extend(idle.map(|replica| Happening::Ask { request: *index, replica }));
                    all.push(Happening::Drop(*index));
                }
                Stage::AtReplica(..) => all.push(Happening::Drop(*index)),
                Stage::Admitted(_) => all.extend([Happening::Store(*index), Happening::Drop(*index)]),
            }
        }
        for (index, replica) in self.replicas.iter().enumerate() {
            // What a replica is about to write is not changed any more.
            let listens = !matches!(replica.work, Work::Answering(_, _, Call::Write));
            if replica.copy.is_some() && listens {
                all.extend((0..self.told.len()).map(|which| Happening::Tell { replica: index, which }));
            }
            if replica.work == Work::Nothing {
                if waiting > 1 {
                    all.push(Happening::AskAll(index));
                }
                if self.has_to_settle() {
                    all.push(Happening::Settle(index));
                }
                if self.ledger.is_none() {
                    all.push(Happening::Rebuild(index));
                }
            } else {
                all.push(Happening::Call(index));
                if self.budget.crashes > 0 {
                    all.push(Happening::CallAndCrash(index));
                }
                if self.budget.lost_answers > 0 && matches!(replica.work, Work::Answering(_, _, Call::Write))
                {
                    all.push(Happening::CallAndMiss(index));
                }
            }
            if self.budget.crashes > 0 && *replica != Replica::default() {
                all.push(Happening::Crash(index));
            }
        }
        for (name, stored) in self.store.iter().enumerate() {
            match stored {
                Some(stored) => {
                    if self.budget.shrinks > 0 && stored.nodes > 1 {
                        all.push(Happening::Shrink(name));
                    }
                    if self.budget.leavings > 0 && !stored.is_leaving {
                        all.push(Happening::Leave(name));
                    }
                    if self.budget.deletions > 0 {
                        all.push(Happening::Delete(name));
                    }
                }
                None if self.budget.slips > 0 => all.push(Happening::Slip(name)),
                None => {}
            }
        }
        if self.budget.losses > 0 && self.ledger.is_some() {
            all.push(Happening::LoseLedger);
        }
        all
    }

    pub(super) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Send(index) => {
                let wish = self.wishes.remove(index);
                self.sent += 1;
                let key = self.sent;
                if let Some(shown) = self.show(wish) {
                    self.requests.insert(key, Request { wish, stage: Stage::Review(shown) });
                }
            }
            Happening::Ask { request, replica } => self.ask(vec![request], replica),
            Happening::AskAll(replica) => {
                let waits = |(index, request): (&usize, &Request)| {
                    matches!(request.stage, Stage::Review(_)).then_some(*index)
                };
                self.ask(self.requests.iter().filter_map(waits).collect(), replica);
            }
            Happening::Call(replica) => self.call(replica),
            Happening::CallAndMiss(replica) => {
                self.budget.lost_answers -= 1;
                self.write(replica);
                self.replicas[replica].copy = None;
                self.go_on(replica);
            }
            Happening::CallAndCrash(replica) => {
                // Those that it answers with this call never hear of it.
                let asked: Vec<usize> = self.at_replica(replica).collect();
                self.call(replica);
                self.requests.retain(|index, _| !asked.contains(index));
                self.crash(replica);
            }
            Happening::Crash(replica) => self.crash(replica),
            Happening::Store(index) => self.commit(index),
            Happening::Drop(index) => drop(self.requests.remove(&index)),
            Happening::Shrink(name) => {
                self.budget.shrinks -= 1;
                self.change(name, |stored, revision| stored.resize(stored.nodes - 1, revision));
            }
            Happening::Leave(name) => {
                self.budget.leavings -= 1;
                self.change(name, |stored, revision| {
                    (stored.is_leaving, stored.revision) = (true, revision);
                });
            }
            Happening::Delete(name) => {
                self.budget.deletions -= 1;
                self.revision += 1;
                self.store[name] = None;
            }
            Happening::Slip(name) => {
                self.budget.slips -= 1;
                self.uids += 1;
                self.store[name] = Some(Stored {
                    uid: self.uids,
                    revision: 0,
                    nodes: 1,
                    machines: 1,
                    is_in_team: true,
                    is_leaving: false,
                    has_slipped: true,
                });
                self.change(name, |stored, revision| stored.revision = revision);
            }
            Happening::Tell { replica, which } => {
                let (name, stored) = *self.told.iter().nth(which).unwrap();
                if let Some(copy) = &mut self.replicas[replica].copy {
                    copy.ledger.fold(&at(name), &stored.sighting());
                }
            }
            Happening::Settle(replica) => self.replicas[replica].work = Work::Settling(Call::Read),
            Happening::LoseLedger => {
                self.budget.losses -= 1;
                (self.ledger, self.has_lost) = (None, true);
            }
            Happening::Rebuild(replica) => self.replicas[replica].work = Work::Rebuilding(None),
        }
    }

    fn show(&mut self, wish: Wish) -> Option<Shown> {
        match wish {
            Wish::Create { name, nodes } | Wish::Try { name, nodes } => {
                self.uids += 1;
                Some(Shown { name, uid: self.uids, old: None, nodes })
            }
            Wish::Grow { name, nodes } => {
                let old = self.store[name].filter(|old| old.is_in_team && old.nodes < nodes)?;
                Some(Shown { name, uid: old.uid, old: Some(old), nodes })
            }
            Wish::Join { name } => {
                let old = self.store[name].filter(|old| !old.is_in_team)?;
                Some(Shown { name, uid: old.uid, old: Some(old), nodes: old.nodes })
            }
        }
    }

    fn ask(&mut self, requests: Vec<usize>, replica: usize) {
        let mut group = Group::default();
        for index in &requests {
            let Some(Request { wish, stage }) = self.requests.get_mut(index) else { return };
            let Stage::Review(shown) = stage.clone() else { return };
            *stage = Stage::AtReplica(replica, shown);
            group.push(shown.ask(), limits(), matches!(wish, Wish::Try { .. }));
        }
        self.replicas[replica].work = Work::Answering(requests, group, Call::Read);
        self.go_on(replica);
    }

    fn at_replica(&self, replica: usize) -> impl Iterator<Item = usize> {
        let is_there =
            move |request: &Request| matches!(request.stage, Stage::AtReplica(at, _) if at == replica);
        self.requests.iter().filter(move |(_, request)| is_there(request)).map(|(index, _)| *index)
    }

    /// Decides with what the replica has, by the code that production decides by.
    fn go_on(&mut self, index: usize) {
        let replica = &mut self.replicas[index];
        let Work::Answering(requests, mut group, _) = std::mem::take(&mut replica.work) else { return };
        let call = match group.next(replica.copy.as_mut()) {
            Next::Read => Call::Read,
            Next::List => Call::List,
            Next::Write => Call::Write,
            Next::Answer => {
                replica.copy.iter_mut().for_each(Copy::rest);
                for (request, answer) in requests.into_iter().zip(group.answers()) {
                    self.answer(request, index, answer.is_ok());
                }
                return;
            }
        };
        replica.work = Work::Answering(requests, group, call);
    }

    /// The API server hears the answer, if it still waits for it.
    fn answer(&mut self, request: usize, replica: usize, is_yes: bool) {
        let Some(Request { wish, stage }) = self.requests.get_mut(&request) else { return };
        match *stage {
            Stage::AtReplica(at, shown) if at == replica && is_yes && !matches!(wish, Wish::Try { .. }) => {
                *stage = Stage::Admitted(shown);
            }
            Stage::AtReplica(at, _) if at == replica => drop(self.requests.remove(&request)),
            _ => {}
        }
    }

    fn call(&mut self, index: usize) {
        match self.replicas[index].work.clone() {
            Work::Nothing => {}
            Work::Answering(requests, _, Call::Read) => {
                if self.read(index) {
                    self.go_on(index);
                } else {
                    self.replicas[index].work = Work::Nothing;
                    requests.into_iter().for_each(|request| self.answer(request, index, false));
                }
            }
            Work::Answering(_, _, Call::List) => {
                self.list(index);
                self.go_on(index);
            }
            Work::Answering(requests, mut group, Call::Write) => {
                if self.write(index) {
                    group.written();
                    for (request, _) in requests.iter().zip(group.admitted()).filter(|(_, is)| *is) {
                        self.answer(*request, index, true);
                    }
                    self.replicas[index].work = Work::Answering(requests, group, Call::Write);
                }
                self.go_on(index);
            }
            Work::Settling(call) => {
                let next = match call {
                    Call::Read => self.read(index).then_some(Call::List),
                    Call::List => self.list(index).then_some(Call::Write),
                    Call::Write => {
                        self.write(index);
                        self.replicas[index].copy.iter_mut().for_each(Copy::rest);
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
                    true => Work::Rebuilding(Some(Ledger::of("t", &self.inventory(), |_| Some(limits())))),
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
            copy.written();
        } else {
            replica.copy = None;
        }
        is_current
    }

    fn crash(&mut self, index: usize) {
        self.budget.crashes -= 1;
        self.replicas[index] = Replica::default();
        let lost: Vec<usize> = self.at_replica(index).collect();
        self.requests.retain(|request, _| !lost.contains(request));
    }

    fn commit(&mut self, index: usize) {
        let Some(Request { wish, stage: Stage::Admitted(shown) }) = self.requests.get(&index).cloned() else {
            return;
        };
        if self.store[shown.name] != shown.old {
            // A creation fails; a change is tried again on what is there now, from the beginning.
            let again =
                matches!(wish, Wish::Grow { .. } | Wish::Join { .. }).then(|| self.show(wish)).flatten();
            match again {
                Some(shown) => {
                    self.requests.insert(index, Request { wish, stage: Stage::Review(shown) });
                }
                None => drop(self.requests.remove(&index)),
            }
            return;
        }
        self.requests.remove(&index);
        let Shown { name, uid, nodes, old } = shown;
        let is_of_old = |of: fn(&Stored) -> bool| old.as_ref().is_some_and(of);
        self.store[name] = Some(Stored {
            uid,
            revision: 0,
            nodes,
            machines: old.map_or(0, |old| old.machines),
            is_in_team: true,
            is_leaving: is_of_old(|old| old.is_leaving),
            has_slipped: is_of_old(|old| old.has_slipped),
        });
        self.change(name, |stored, revision| stored.resize(nodes, revision));
    }

    /// Changes what is stored, which watches may tell of from then on.
    fn change(&mut self, name: usize, change: impl FnOnce(&mut Stored, u64)) {
        self.revision += 1;
        if let Some(stored) = &mut self.store[name] {
            change(stored, self.revision);
            self.told.insert((name, *stored));
        }
    }
}
