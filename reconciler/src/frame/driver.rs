//! Takes objects of one kind in turn through the steps of their controller.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use butler_program::Backoff;
use jiff::Timestamp;
use kube::Client;
use kube::Resource;
use kube::core::object::HasStatus;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::controller::{Controller, Outcome};
use super::events::{Events, News};
use super::hand::About;
use super::lease::Term;
use super::{Cache, Error, Hand, Key, Metrics, Pace, Turns};

/// Becomes true when no new turns are to be taken.
pub type Stopping = watch::Receiver<bool>;

/// How often the queue is measured.
const TICK: Duration = Duration::from_secs(1);

/// Different for every reconcile of this process.
static RECONCILES: AtomicU64 = AtomicU64::new(1);

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

/// How one turn ended.
enum Ended {
    /// The object is gone.
    Gone,
    /// All is as it should be, or a person has to act.
    Settled { look_again: Option<Duration> },
    /// Something failed.
    Failed(Error),
}

impl<C: Controller> Driver<C> {
    /// Works for as long as the term lasts, and not beyond it. When asked to stop, it takes no more turns and lets what
    /// is running end, within the grace time.
    pub async fn run(self, term: Term, mut stopping: Stopping) {
        self.turns.begin(self.cache.keys());
        let mut running: JoinSet<Ended> = JoinSet::new();
        let mut keys: HashMap<Id, Key> = HashMap::new();
        let mut retries: HashMap<Key, Retries> = HashMap::new();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                // Dropping what is running ends it at its next pause; what it has sent is answered or not, but nothing
                // more is sent.
                () = term.over() => return,
                _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
                Some(joined) = running.join_next_with_id() => self.finish(joined, &mut keys, &mut retries),
                key = self.turns.next(), if running.len() < self.workers => {
                    let (driver, term) = (self.clone(), term.clone());
                    let turn = key.clone();
                    let handle = running.spawn(async move { driver.reconcile(&turn, term).await });
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
        joined: Result<(Id, Ended), JoinError>,
        keys: &mut HashMap<Id, Key>,
        retries: &mut HashMap<Key, Retries>,
    ) {
        let (id, ended) = match joined {
            Ok((id, ended)) => (id, Some(ended)),
            Err(error) => (error.id(), None),
        };
        let Some(key) = keys.remove(&id) else { return };
        let again = match ended {
            Some(Ended::Gone) => {
                retries.remove(&key);
                None
            }
            Some(Ended::Settled { look_again }) => {
                retries.remove(&key);
                Some(self.pace.next_resync(look_again))
            }
            Some(Ended::Failed(error)) if error.is_stale() => Some(self.retries(&key, retries).stale.next()),
            Some(Ended::Failed(_)) => Some(self.retries(&key, retries).failed.next()),
            None => {
                // A defect of ours; where is in the log. It costs this one object its turn.
                self.metrics.failed(C::KIND, "Panicked");
                Some(self.retries(&key, retries).failed.next())
            }
        };
        self.turns.finish(&key, again.map(|delay| Instant::now() + delay));
    }

    fn retries<'a>(&self, key: &Key, retries: &'a mut HashMap<Key, Retries>) -> &'a mut Retries {
        let Pace { stale, first_retry, last_retry, .. } = self.pace;
        retries.entry(key.clone()).or_insert_with(|| Retries {
            stale: Backoff::new(stale, last_retry),
            failed: Backoff::new(first_retry, last_retry),
        })
    }

    async fn reconcile(self, key: &Key, term: Term) -> Ended {
        let Some(object) = self.cache.get(key) else {
            self.controller.forget(key);
            return Ended::Gone;
        };
        let started = Instant::now();
        let hand = self.hand(&object, term);
        let ended = self.steps(C::Object::clone(&object), &hand).await;
        let (written, took) = (hand.written(), started.elapsed());
        let About { kind, object, generation, reconcile } = &hand.about;
        let result = match &ended {
            Ended::Failed(_) => "error",
            Ended::Gone | Ended::Settled { .. } if written > 0 => "changed",
            Ended::Gone | Ended::Settled { .. } => "unchanged",
        };
        self.metrics.reconciled(C::KIND, result, took);
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match &ended {
            Ended::Failed(error) => {
                self.metrics.failed(C::KIND, error.label());
                let reason = error.label();
                if error.is_stale() {
                    tracing::debug!(kind, %object, generation, reconcile, reason, written, millis, "{error}");
                } else {
                    tracing::warn!(kind, %object, generation, reconcile, reason, written, millis, "{error}");
                }
            }
            _ if written > 0 => {
                tracing::info!(kind, %object, generation, reconcile, written, millis, "reconciled");
            }
            _ => tracing::debug!(kind, %object, generation, reconcile, written, millis, "reconciled"),
        }
        ended
    }

    /// The whole of one reconcile.
    async fn steps(&self, mut object: C::Object, hand: &Hand) -> Ended {
        let is_leaving = object.meta().deletion_timestamp.is_some();
        let is_held =
            C::FINALIZER.is_some_and(|it| object.meta().finalizers.iter().flatten().any(|own| own == it));
        if is_leaving && !is_held {
            // Somebody else keeps it, or nobody any more.
            return Ended::Settled { look_again: None };
        }
        let mut outcome = Outcome::<C>::default();
        let held = match C::FINALIZER.filter(|_| !is_held) {
            None => Ok(()),
            // Before anything is made that would have to be removed.
            Some(finalizer) => hand.hold(&object, finalizer).await.map(|held| {
                self.cache.learn(held.clone());
                object = held;
            }),
        };
        outcome.error = match held {
            Err(error) => Some(error),
            Ok(()) => match timeout(self.pace.reconcile, self.work(&object, hand, &mut outcome)).await {
                Ok(worked) => worked.err(),
                Err(_) => Some(Error::TooSlow(self.pace.reconcile.as_secs())),
            },
        };
        if let Some(error) = outcome.error.take_if(|error| error.is_stale()) {
            // Nothing is wrong with the object: we did not know the newest. It is not worth a word.
            return Ended::Failed(error);
        }
        outcome.set_back = hand.set_back();
        if let (true, None, Some(plan), Some(finalizer)) =
            (is_leaving, &outcome.error, &outcome.plan, C::FINALIZER)
            && self.controller.may_leave(plan, &outcome.applied)
        {
            return match hand.let_go(&object, finalizer).await {
                Ok(()) => Ended::Settled { look_again: None },
                Err(error) => Ended::Failed(error),
            };
        }
        self.tell(&object, outcome, hand).await
    }

    /// Observe, plan, apply: with the client, pure, with the client.
    async fn work(&self, object: &C::Object, hand: &Hand, outcome: &mut Outcome<C>) -> Result<(), Error> {
        let observed = outcome.observed.insert(self.controller.observe(object).await?);
        let plan = outcome.plan.insert(self.controller.plan(object, observed));
        self.controller.apply(plan, hand, &mut outcome.applied).await
    }

    /// The status, on every way out; written only if it says something new.
    async fn tell(&self, object: &C::Object, outcome: Outcome<C>, hand: &Hand) -> Ended {
        let old = object.status().cloned().unwrap_or_default();
        let new = self.controller.status(object, &outcome, Timestamp::now());
        self.controller.show(object, &new);
        let look_again = self.controller.look_again(&new);
        if let Some(news) = News::of_set_back(&outcome.set_back) {
            hand.tell(object, &news).await;
        }
        if new != old {
            match hand.report(object, &new, C::WRITTEN_BY_OTHERS).await {
                Ok(reported) => self.cache.learn(reported),
                // What was wrong first is what matters.
                Err(error) => return Ended::Failed(outcome.error.unwrap_or(error)),
            }
            if let Some(news) = News::of_change(C::conditions(&old), C::conditions(&new)) {
                hand.tell(object, &news).await;
            }
        }
        match outcome.error {
            Some(error) => Ended::Failed(error),
            None => Ended::Settled { look_again },
        }
    }

    fn hand(&self, object: &C::Object, term: Term) -> Hand {
        let about = About {
            kind: C::KIND,
            object: Key::of(object.meta()),
            generation: object.meta().generation.unwrap_or_default(),
            reconcile: RECONCILES.fetch_add(1, Ordering::Relaxed),
        };
        Hand {
            client: self.client.clone(),
            term,
            events: self.events.clone(),
            metrics: self.metrics.clone(),
            pace: self.pace,
            manager: C::MANAGER,
            about,
            written: AtomicU32::new(0),
            set_back: Mutex::default(),
        }
    }
}
