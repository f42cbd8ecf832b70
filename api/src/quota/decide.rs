//! What to do next with changes that wait for an answer: the protocol, without the calls.
//!
//! A replica has a copy of the ledger, as it was last read or written. Waiting changes are taken up in that copy and written
//! together, if the stored ledger is still the one that was copied. That comes first: the sooner it is written after it was
//! copied, the seldomer another replica is faster. A no needs more: the ledger is read again, unless it was just written, and
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
    /// Whether it was read, or written, for the changes that wait now.
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
    is_written: bool,
}

impl Waiting {
    fn is_refused(&self) -> bool {
        matches!(self.answer, Some(Err(_)))
    }

    /// Whether it is taken up in the copy alone.
    fn is_taken(&self) -> bool {
        self.answer == Some(Ok(())) && !self.is_dry && !self.is_written
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read the ledger.
    Read,
    /// List the team's clusters, and tell the copy.
    List,
    /// Write the copy, if the stored ledger is the one that was copied. Then what was taken up holds, and there may be more
    /// to do for the rest.
    Write,
    /// Answer: there is nothing to write.
    Answer,
}

impl Copy {
    /// A ledger as it was just read or made.
    pub fn read(ledger: Ledger, writes: i64) -> Self {
        Self { ledger, writes, is_fresh: true, is_settled: false }
    }

    /// It was written, and so nobody has written since it was read.
    pub fn written(&mut self) {
        self.writes += 1;
        self.is_fresh = true;
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
        self.waiting.push(Waiting { ask, limits, is_dry, answer: None, is_written: false });
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
            self.forget(|waiting| !waiting.is_written);
            return Next::Read;
        };
        let ticket = copy.ticket();
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.answer != Some(Ok(()))) {
            let weighed = copy.ledger.weigh(&waiting.ask, &waiting.limits);
            if weighed.is_ok() && !waiting.is_dry {
                copy.ledger.reserve(waiting.ask.clone(), ticket);
            }
            waiting.answer = Some(weighed);
        }
        if self.waiting.iter().any(Waiting::is_taken) {
            return Next::Write;
        }
        if copy.is_settled || !self.waiting.iter().any(Waiting::is_refused) {
            return Next::Answer;
        }
        if copy.is_fresh {
            return Next::List;
        }
        self.forget(Waiting::is_refused);
        Next::Read
    }

    fn forget(&mut self, which: impl Fn(&Waiting) -> bool) {
        self.waiting.iter_mut().filter(|waiting| which(waiting)).for_each(|waiting| waiting.answer = None);
    }

    /// The copy was written: what was taken up in it holds.
    pub fn written(&mut self) {
        let taken = self.waiting.iter_mut().filter(|waiting| waiting.is_taken());
        taken.for_each(|waiting| waiting.is_written = true);
    }

    /// Which changes are admitted already, in the order in which they came.
    pub fn admitted(&self) -> impl Iterator<Item = bool> {
        self.waiting.iter().map(|waiting| waiting.is_written)
    }

    /// The answers, in the order in which the changes came.
    pub fn answers(self) -> impl Iterator<Item = Result<(), Refusal>> {
        self.waiting.into_iter().map(|waiting| waiting.answer.unwrap_or(Err(Refusal::Unknown)))
    }
}

#[cfg(test)]
mod search;
