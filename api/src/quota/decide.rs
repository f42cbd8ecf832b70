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
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group {
    waiting: Vec<Waiting>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    ask: Ask,
    limits: Vec<Limit>,
    is_dry: bool,
    answer: Option<Result<(), Refusal>>,
    /// Whether it comes too late to be stored, so that there is nothing to take up.
    is_overtaken: bool,
    /// The ticket that it was taken up with, unless the same was asked for before and may have been admitted.
    own_ticket: Option<u64>,
    is_written: bool,
}

impl Waiting {
    fn is_refused(&self) -> bool {
        matches!(self.answer, Some(Err(_)))
    }

    /// Whether it is taken up in the copy alone.
    fn is_taken(&self) -> bool {
        self.answer == Some(Ok(())) && !self.is_dry && !self.is_overtaken && !self.is_written
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

    /// A ledger as it would be made of a list that was just made. There is none that could be written.
    pub fn found(ledger: Ledger) -> Self {
        Self { ledger, writes: 0, is_fresh: true, is_settled: true }
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
        let (answer, is_overtaken, own_ticket, is_written) = (None, false, None, false);
        self.waiting.push(Waiting { ask, limits, is_dry, answer, is_overtaken, own_ticket, is_written });
    }

    /// Adds those of another group.
    pub fn absorb(&mut self, other: Self) {
        self.waiting.extend(other.waiting);
    }

    /// Leaves out those that nobody waits for any more.
    pub fn keep(&mut self, is_kept: impl IntoIterator<Item = bool>) {
        let mut is_kept = is_kept.into_iter();
        self.waiting.retain(|_| is_kept.next().unwrap_or(true));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether all of them are dry, so that nothing may be written for them.
    pub fn is_dry(&self) -> bool {
        self.waiting.iter().all(|waiting| waiting.is_dry)
    }

    /// Decides as far as the copy allows.
    pub fn next(&mut self, copy: Option<&mut Copy>) -> Next {
        let Some(copy) = copy else {
            // What was taken up in a copy that is gone was not taken up.
            self.forget(|waiting| !waiting.is_written);
            return Next::Read;
        };
        let ticket = copy.ticket();
        let mut asked_again = Vec::new();
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.answer != Some(Ok(()))) {
            // The API server finds out by itself, and asks again with what is there now.
            waiting.is_overtaken = copy.ledger.overtakes(&waiting.ask);
            let weighed = match waiting.is_overtaken {
                true => Ok(()),
                false => copy.ledger.weigh(&waiting.ask, &waiting.limits),
            };
            if weighed.is_ok() && !waiting.is_dry && !waiting.is_overtaken {
                let is_first = !copy.ledger.has(&waiting.ask);
                waiting.own_ticket = is_first.then_some(ticket);
                if !is_first {
                    asked_again.push(waiting.ask.clone());
                }
                copy.ledger.reserve(waiting.ask.clone(), ticket);
            }
            waiting.answer = Some(weighed);
        }
        // Who asked for the same relies on the same line.
        for waiting in self.waiting.iter_mut().filter(|waiting| asked_again.contains(&waiting.ask)) {
            waiting.own_ticket = None;
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

    /// Other limits count now, as was learned while the copy was being written. What was taken up in it and is beyond them
    /// is refused, and withdrawn from the copy, because who refuses it knows best that it is not stored. Whether anything
    /// was; if that is not written, it leaves by evidence, like any request that is not stored.
    ///
    /// # Errors
    /// When a limit cannot be read.
    pub fn limit_anew<E>(
        &mut self,
        copy: &mut Copy,
        limits: impl Fn(&Ask) -> Result<Vec<Limit>, E>,
    ) -> Result<bool, E> {
        let mut has_withdrawn = false;
        for waiting in self.waiting.iter_mut().filter(|waiting| !waiting.is_written) {
            waiting.limits = limits(&waiting.ask)?;
            if !waiting.is_taken() {
                continue;
            }
            let weighed = copy.ledger.weigh(&waiting.ask, &waiting.limits);
            if let (Err(_), Some(ticket)) = (&weighed, waiting.own_ticket.take()) {
                copy.ledger.withdraw(&waiting.ask, ticket);
                has_withdrawn = true;
            }
            waiting.answer = Some(weighed);
        }
        Ok(has_withdrawn)
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
#[cfg(test)]
mod tests;
