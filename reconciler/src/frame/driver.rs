//! Takes objects of one kind in turn through the steps of their controller.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use butler_program::Backoff;
use kube::Client;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::controller::Controller;
use super::disputes::Disputes;
use super::events::Events;
use super::lease::Term;
use super::turn::{Ended, Turn};
use super::{Cache, Error, Key, Metrics, Pace, Turns};

/// Becomes true when no new turns are to be taken.
pub type Stopping = watch::Receiver<bool>;

/// How often the queue is measured.
const TICK: Duration = Duration::from_secs(1);

/// What drives one controller.
pub struct Driver<C: Controller> {
    /// The steps.
    pub controller: Arc<C>,
    /// The objects of the kind.
    pub cache: Cache<C::Object>,
    /// Whose turn it is.
    pub turns: Arc<Turns>,
    /// How many objects are worked on at the same time. A slow one occupies one of these and no more.
    pub workers: usize,
    /// How fast.
    pub pace: Pace,
    /// What an operator sees.
    pub metrics: Metrics,
    /// What people are told.
    pub events: Events,
    /// Who writes.
    pub client: Client,
}

impl<C: Controller> fmt::Debug for Driver<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("kind", &C::KIND)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

impl<C: Controller> Clone for Driver<C> {
    fn clone(&self) -> Self {
        Self {
            controller: self.controller.clone(),
            cache: self.cache.clone(),
            turns: self.turns.clone(),
            workers: self.workers,
            pace: self.pace,
            metrics: self.metrics.clone(),
            events: self.events.clone(),
            client: self.client.clone(),
        }
    }
}

/// The delays of one object that does not settle.
#[derive(Debug)]
struct Retries {
    stale: Backoff,
    failed: Backoff,
}

/// What a driver remembers between turns, for as long as a term lasts.
#[derive(Debug, Default)]
struct Memory {
    retries: HashMap<Key, Retries>,
    disputes: Disputes,
}

impl<C: Controller> Driver<C> {
    /// Works for as long as the term lasts, and not beyond it. When asked to stop, it takes no more turns and lets what
    /// is running end, within the grace time. When this returns, nothing of it is running any more.
    pub async fn run(self, term: Term, stopping: Stopping) {
        self.turns.begin(|| self.cache.keys());
        let mut running = JoinSet::new();
        self.take_turns(&mut running, &term, stopping).await;
        // Whatever is left ends at its next pause, and is waited for: one that had sent something says that nobody knows
        // what became of it, and that has to be said before the lease is given to somebody else.
        running.shutdown().await;
        self.turns.end();
        self.metrics.queued(C::KIND, (0, Duration::ZERO));
        self.controller.retire();
    }

    async fn take_turns(&self, running: &mut JoinSet<Turn>, term: &Term, mut stopping: Stopping) {
        let mut keys: HashMap<Id, Key> = HashMap::new();
        let mut memory = Memory::default();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = term.over() => return,
                _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
                Some(joined) = running.join_next_with_id() => self.finish(joined, &mut keys, &mut memory),
                key = self.turns.next(), if running.len() < self.workers => {
                    let (driver, term, turn) = (self.clone(), term.clone(), key.clone());
                    let conflicts = memory.retries.get(&key).map_or(0, |it| it.stale.tries());
                    let handle = running.spawn(async move { driver.reconcile(&turn, term, conflicts).await });
                    keys.insert(handle.id(), key);
                }
                _ = tick.tick() => self.metrics.queued(C::KIND, self.turns.backlog()),
            }
        }
        let all = async { while running.join_next().await.is_some() {} };
        tokio::select! {
            () = term.over() => {}
            _ = timeout(self.pace.grace, all) => {}
        }
    }

    fn finish(
        &self,
        joined: Result<(Id, Turn), JoinError>,
        keys: &mut HashMap<Id, Key>,
        memory: &mut Memory,
    ) {
        let (id, turn) = match joined {
            Ok((id, turn)) => (id, turn),
            // A defect of ours outside the steps of the controller. It costs this one object its turn.
            Err(error) => {
                self.metrics.failed(C::KIND, Error::Panicked.label());
                (error.id(), Turn::without_writes(Ended::Failed(Error::Panicked)))
            }
        };
        let Some(key) = keys.remove(&id) else { return };
        let now = Instant::now();
        let Turn { ended, marks, is_undone } = turn;
        let calm = memory.disputes.take_in(&key, marks, is_undone, &self.pace, now);
        let again = match ended {
            Ended::Gone => {
                memory.retries.remove(&key);
                memory.disputes.forget(&key);
                None
            }
            Ended::Settled { look_again } => {
                memory.retries.remove(&key);
                Some(self.pace.next_resync(look_again))
            }
            Ended::Failed(error) => {
                let Pace { stale, first_retry, last_retry, .. } = self.pace;
                let retries = memory.retries.entry(key.clone()).or_insert_with(|| Retries {
                    stale: Backoff::new(stale, last_retry),
                    failed: Backoff::new(first_retry, last_retry),
                });
                Some(if error.is_stale() { retries.stale.next() } else { retries.failed.next() })
            }
        };
        self.turns.finish(&key, again.map(|delay| now + delay), calm.map(|calm| now + calm));
    }
}
