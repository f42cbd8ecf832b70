//! Who may write: one replica at a time, by a Lease.
//!
//! The holder writes its name into the Lease every second. Whoever else wants it takes it only after the Lease has not
//! changed for as long as it says, by the own clock; wall clocks are written for people and never compared. The
//! holder, in turn, counts from before it asked, and stops a good while earlier than others may begin: what it sent
//! last has then long arrived. All that is written goes through a [`Hand`](super::Hand), which asks [`Term`] first.

mod record;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use butler_program::backoff::shortened;
use butler_program::{Complaints, Failure};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until, timeout};

use self::record::{Decision, Seen};
use super::Metrics;

/// Where the Lease is and how fast it changes hands.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who we are; no other replica, earlier ones included, may have the same.
    pub identity: String,
    /// After so long without a sign of the holder somebody else takes over. 4 s: a replica that dies is replaced in less
    /// than 5.
    pub duration: Duration,
}

impl Settings {
    /// How often the holder gives a sign.
    fn renewal(&self) -> Duration {
        self.duration / 4
    }

    /// How long after asking for a sign of itself the holder may still write. The last quarter is for what is on its way.
    fn safe(&self) -> Duration {
        self.duration * 3 / 4
    }

    /// How often others look.
    fn glance(&self) -> Duration {
        self.duration / 8
    }
}

/// Whether writing is safe, for whoever is about to. Cheap to clone; it ends once and for all.
#[derive(Clone, Debug)]
pub struct Term {
    safe_until: watch::Receiver<Option<Instant>>,
    unsettled: Unsettled,
}

/// When a write was last sent of which nobody knows whether it arrived, or will.
#[derive(Clone, Debug, Default)]
struct Unsettled(Arc<Mutex<Option<Instant>>>);

impl Term {
    /// How long writing is safe from now on; nothing if it is not.
    pub fn remaining(&self) -> Option<Duration> {
        let until = (*self.safe_until.borrow())?;
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// Resolves when the term is over.
    pub async fn over(&self) {
        let mut safe_until = self.safe_until.clone();
        loop {
            let Some(until) = *safe_until.borrow_and_update() else { return };
            tokio::select! {
                () = sleep_until(until.into()) => {
                    if self.remaining().is_none() {
                        return;
                    }
                }
                changed = safe_until.changed() => if changed.is_err() {
                    return;
                },
            }
        }
    }

    /// Notes that nobody knows whether a write arrived, or will: a lease is not handed over right after that.
    pub(super) fn unsettle(&self) {
        *self.unsettled.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

/// A candidate for the Lease.
#[derive(Debug)]
pub struct Candidate {
    api: Api<Lease>,
    settings: Settings,
    metrics: Metrics,
    seen: Seen,
    complaints: Complaints,
}

/// The Lease is ours. Dropped without [`release`](Self::release), it runs out.
#[derive(Debug)]
pub struct Held {
    lease: Lease,
    safe_until: watch::Sender<Option<Instant>>,
    unsettled: Unsettled,
    metrics: Metrics,
}

/// However it ends, nobody writes on the strength of it any more.
impl Drop for Held {
    fn drop(&mut self) {
        self.safe_until.send_replace(None);
        self.metrics.lead(false);
    }
}

impl Held {
    /// What writers ask.
    pub fn term(&self) -> Term {
        Term { safe_until: self.safe_until.subscribe(), unsettled: self.unsettled.clone() }
    }
}

impl Candidate {
    /// Not holding it yet.
    pub fn new(client: Client, settings: Settings, metrics: Metrics) -> Self {
        let api = Api::namespaced(client, &settings.namespace);
        Self { api, settings, metrics, seen: Seen::default(), complaints: Complaints::default() }
    }

    /// Waits until the Lease is ours. Safe to drop at any time: one that was taken and not used runs out.
    pub async fn acquire(&mut self) -> Held {
        loop {
            match self.try_to_acquire().await {
                Ok(Some(held)) => {
                    self.complaints.settle();
                    self.metrics.lead(true);
                    tracing::info!(lease = %self.settings.name, identity = %self.settings.identity, "leading");
                    return held;
                }
                Ok(None) => {}
                Err(failure) => self.complain(&failure),
            }
            sleep(shortened(self.settings.glance(), 20)).await;
        }
    }

    async fn try_to_acquire(&mut self) -> Result<Option<Held>, Failure> {
        let asked = Instant::now();
        let found = self.within(self.api.get_opt(&self.settings.name)).await?;
        let taken = match record::decide(found.as_ref(), &mut self.seen, Instant::now()) {
            Decision::Wait => return Ok(None),
            Decision::Take => {
                let next = record::taken(found.as_ref(), &self.settings, Timestamp::now());
                match found {
                    None => self.within(self.api.create(&PostParams::default(), &next)).await,
                    Some(_) => {
                        self.within(self.api.replace(&self.settings.name, &PostParams::default(), &next))
                            .await
                    }
                }
            }
        };
        match taken {
            // Somebody else was faster.
            Err(failure) if failure.label == Failure::CONFLICT => Ok(None),
            Err(failure) => Err(failure),
            Ok(lease) => {
                let safe_until = watch::Sender::new(Some(asked + self.settings.safe()));
                let (unsettled, metrics) = (Unsettled::default(), self.metrics.clone());
                Ok(Some(Held { lease, safe_until, unsettled, metrics }))
            }
        }
    }

    /// Gives signs until the Lease is lost. Safe to drop at any time.
    pub async fn keep(&mut self, held: &mut Held) {
        let mut next = self.settings.renewal();
        loop {
            let Some(until) = *held.safe_until.borrow() else { return };
            let left = until.saturating_duration_since(Instant::now());
            sleep(next.min(left)).await;
            if Instant::now() >= until {
                return self.lose(held, "it could not be renewed in time");
            }
            let asked = Instant::now();
            match self.renew(held).await {
                // Who asked has stopped meanwhile, and does not begin again in the middle of a term.
                Ok(true) if Instant::now() >= until => {
                    return self.lose(held, "it could not be renewed in time");
                }
                Ok(true) => {
                    held.safe_until.send_replace(Some(asked + self.settings.safe()));
                    next = self.settings.renewal();
                    self.complaints.settle();
                }
                Ok(false) => return self.lose(held, "somebody else has taken it"),
                Err(failure) => {
                    self.complain(&failure);
                    next = self.settings.renewal() / 4;
                }
            }
        }
    }

    /// Whether it is still ours.
    async fn renew(&mut self, held: &mut Held) -> Result<bool, Failure> {
        let next = record::renewed(&held.lease, Timestamp::now());
        let name = &self.settings.name;
        match self.within(self.api.replace(name, &PostParams::default(), &next)).await {
            Ok(lease) => held.lease = lease,
            Err(failure) if failure.label == Failure::CONFLICT => {
                // Somebody has labelled it, or our last sign arrived although we were not told.
                let found = self.within(self.api.get_opt(name)).await?;
                let Some(found) = found.filter(|it| record::is_held_by(it, &self.settings.identity)) else {
                    return Ok(false);
                };
                held.lease = found;
                let next = record::renewed(&held.lease, Timestamp::now());
                held.lease = self.within(self.api.replace(name, &PostParams::default(), &next)).await?;
            }
            // Deleted by hand: whoever makes it anew has it, and that may be somebody else.
            Err(failure) if failure.label == Failure::NOT_SERVED => return Ok(false),
            Err(failure) => return Err(failure),
        }
        Ok(true)
    }

    /// Says that the term is over.
    pub fn lose(&self, held: &Held, why: &str) {
        held.safe_until.send_replace(None);
        self.metrics.lead(false);
        tracing::warn!(lease = %self.settings.name, "not leading any more: {why}");
    }

    /// Gives it up, so that others need not wait. Nothing may be written any more.
    pub async fn release(&mut self, held: Held) {
        held.safe_until.send_replace(None);
        let unsettled = *held.unsettled.0.lock().unwrap_or_else(PoisonError::into_inner);
        if unsettled.is_some_and(|since| since.elapsed() < self.settings.duration) {
            tracing::info!("a write may still be on its way, so the lease is left to run out");
            return;
        }
        match self.give_up(&held.lease).await {
            Ok(()) => tracing::info!(lease = %self.settings.name, "the lease is released"),
            Err(failure) => tracing::info!("the lease is not released and runs out: {failure}"),
        }
    }

    async fn give_up(&self, lease: &Lease) -> Result<(), Failure> {
        let name = &self.settings.name;
        let next = record::released(lease);
        let given = self.within(self.api.replace(name, &PostParams::default(), &next)).await;
        let conflict = match given {
            Err(failure) if failure.label == Failure::CONFLICT => failure,
            given => return given.map(|_| ()),
        };
        // Our last sign arrived although nobody waited for the answer, or somebody has labelled it.
        let found = self.within(self.api.get_opt(name)).await?;
        let Some(found) = found.filter(|it| record::is_held_by(it, &self.settings.identity)) else {
            return Err(conflict);
        };
        let next = record::released(&found);
        self.within(self.api.replace(name, &PostParams::default(), &next)).await.map(|_| ())
    }

    async fn within<T>(&self, asked: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Failure> {
        let answer = timeout(self.settings.renewal(), asked).await;
        Ok(answer.map_err(|_| Failure::no_answer())??)
    }

    fn complain(&mut self, failure: &Failure) {
        if self.complaints.is_news(failure.label, Instant::now()) {
            tracing::warn!(lease = %self.settings.name, reason = failure.label, "{failure}");
        }
    }
}
