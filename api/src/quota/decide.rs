//! What to do next with changes that wait for an answer: the protocol, without the calls.
//!
//! A replica has a copy of the ledger, as it was last read or written. Waiting changes are taken up in that copy and written
//! together, if the stored ledger is still the one that was copied. A no needs more: the ledger is read again, and
//! then the team's clusters are listed, which may show that something is gone.

use crate::quota::ledger::{Ask, Inventory, Ledger, Open, Refusal, Settled};
use crate::quota::limit::Limit;
use crate::reference::NsRef;

/// A replica's copy of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Copy {
    /// The ledger, and what has been taken up since it was read.
    pub ledger: Ledger,
    /// The number of the write that is copied.
    pub writes: i64,
    /// Whether it was read for the changes that wait now.
    is_fresh: bool,
    /// Whether the clusters were listed for them.
    is_settled: bool,
}

/// Changes that are answered together.
#[derive(Clone, Debug, Default)]
pub struct Group {
    waiting: Vec<Waiting>,
}

#[derive(Clone, Debug)]
struct Waiting {
    ask: Ask,
    limits: Vec<Limit>,
    is_dry: bool,
    answer: Option<Result<(), Refusal>>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read the ledger.
    Read,
    /// List the team's clusters, and tell the copy.
    List,
    /// Write the copy, if the stored ledger is the one that was copied. Then the answers hold.
    Write,
    /// Answer: there is nothing to write.
    Answer,
}

impl Copy {
    /// A ledger as it was just read or made.
    pub fn read(ledger: Ledger, writes: i64) -> Self {
        Self { ledger, writes, is_fresh: true, is_settled: false }
    }

    /// It was written; the changes that wait from now on have not been looked at.
    pub fn written(&mut self) {
        self.writes += 1;
        self.rest();
    }

    /// Nobody waits any more.
    pub fn rest(&mut self) {
        (self.is_fresh, self.is_settled) = (false, false);
    }

    /// Takes in a list that was made after the copy was.
    pub fn settle(&mut self, inventory: &Inventory, is_over: impl Fn(&NsRef, &Open) -> bool) -> Settled {
        self.is_settled = true;
        self.ledger.settle(inventory, is_over)
    }

    /// The number of the write that is next, which is the ticket of what it takes up.
    fn ticket(&self) -> u64 {
        u64::try_from(self.writes + 1).unwrap_or(u64::MAX)
    }
}

impl Group {
    /// Adds a change. A dry one is weighed and not taken up.
    pub fn push(&mut self, ask: Ask, limits: Vec<Limit>, is_dry: bool) {
        self.waiting.push(Waiting { ask, limits, is_dry, answer: None });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Decides as far as the copy allows.
    pub fn next(&mut self, copy: Option<&mut Copy>) -> Next {
        let Some(copy) = copy else {
            // What was taken up in a copy that is gone was not taken up.
            self.waiting.iter_mut().for_each(|waiting| waiting.answer = None);
            return Next::Read;
        };
        let ticket = copy.ticket();
        for waiting in self.waiting.iter_mut().filter(|waiting| !matches!(waiting.answer, Some(Ok(())))) {
            let weighed = copy.ledger.weigh(&waiting.ask, &waiting.limits);
            if weighed.is_ok() && !waiting.is_dry {
                copy.ledger.reserve(waiting.ask.clone(), ticket);
            }
            waiting.answer = Some(weighed);
        }
        let is_refused = |waiting: &Waiting| matches!(waiting.answer, Some(Err(_)));
        let is_taken = |waiting: &Waiting| matches!(waiting.answer, Some(Ok(()))) && !waiting.is_dry;
        if self.waiting.iter().any(is_refused) && !copy.is_settled {
            if copy.is_fresh {
                return Next::List;
            }
            self.waiting.iter_mut().for_each(|waiting| waiting.answer = None);
            return Next::Read;
        }
        if self.waiting.iter().any(is_taken) { Next::Write } else { Next::Answer }
    }

    /// The answers, in the order in which the changes came.
    pub fn answers(self) -> impl Iterator<Item = Result<(), Refusal>> {
        self.waiting.into_iter().map(|waiting| waiting.answer.unwrap_or(Err(Refusal::Unknown)))
    }
}

#[cfg(test)]
mod search;
