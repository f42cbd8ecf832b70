//! One turn of one object: through the steps of its controller, and told how it went, whatever happened.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use butler_api::condition::{READY, Statement, reason};
use futures::FutureExt;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::PartialObjectMeta;
use kube::core::object::HasStatus;
use tokio::time::timeout;

use super::cache::Unreadable;
use super::controller::{Controller, Outcome};
use super::disputes::Mark;
use super::driver::Driver;
use super::events::News;
use super::hand::About;
use super::lease::Term;
use super::{Error, Hand, Key};

/// Different for every reconcile of this process.
static RECONCILES: AtomicU64 = AtomicU64::new(1);

/// How often in a row we may have known something that was not the newest before the object says so. Once or twice is
/// nobody's fault, and over as soon as a watch has told.
const CONFLICTS: u32 = 5;

/// What came of a turn.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) ended: Ended,
    /// What was written.
    pub(super) marks: Vec<Mark>,
    /// Whether something of ours was set back that others had changed.
    pub(super) is_undone: bool,
}

impl Turn {
    /// One in which nothing was written, or nobody knows what.
    pub(super) fn without_writes(ended: Ended) -> Self {
        Self { ended, marks: Vec::new(), is_undone: false }
    }
}

/// How it ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// The object is gone.
    Gone,
    /// All is as it should be, or a person has to act.
    Settled { look_again: Option<Duration> },
    /// Something failed.
    Failed(Error),
}

/// What became of an object that is being deleted.
enum LetGo<K> {
    /// Something is still to be done for it.
    NotYet,
    /// It is gone.
    Gone,
    /// Our finalizer is off, and others keep it.
    Kept(Box<K>),
}

impl<C: Controller> Driver<C> {
    /// The turn of one object. `conflicts` is how often in a row something was not the newest.
    pub(super) async fn reconcile(self, key: &Key, term: Term, conflicts: u32) -> Turn {
        let unreadable = self.cache.unreadable(key);
        let object = self.cache.get(key);
        let metadata = match (&unreadable, &object) {
            (Some(unreadable), _) => &unreadable.metadata,
            (None, Some(object)) => object.meta(),
            (None, None) => {
                self.controller.forget(key);
                return Turn::without_writes(Ended::Gone);
            }
        };
        let started = Instant::now();
        let hand = self.hand(metadata, term);
        let ended = match (&unreadable, &object) {
            (None, Some(object)) => self.steps(C::Object::clone(object), &hand, conflicts).await,
            (Some(unreadable), object) => self.tell_unreadable(unreadable, object.as_deref(), &hand).await,
            (None, None) => Ended::Gone,
        };
        self.note(&ended, &hand, started.elapsed());
        Turn { ended, marks: hand.marks(), is_undone: !hand.set_back().is_empty() }
    }

    fn note(&self, ended: &Ended, hand: &Hand, took: Duration) {
        let written = hand.written();
        let About { kind, object, uid: _, generation, reconcile } = &hand.about;
        let result = match ended {
            Ended::Failed(_) => "error",
            Ended::Gone | Ended::Settled { .. } if written > 0 => "changed",
            Ended::Gone | Ended::Settled { .. } => "unchanged",
        };
        self.metrics.reconciled(C::KIND, result, took);
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match ended {
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
    }

    /// The whole of one reconcile.
    async fn steps(&self, mut object: C::Object, hand: &Hand, conflicts: u32) -> Ended {
        let is_leaving = object.meta().deletion_timestamp.is_some();
        let is_held =
            C::FINALIZER.is_some_and(|it| object.meta().finalizers.iter().flatten().any(|own| own == it));
        let mut outcome = Outcome::<C>::default();
        if is_leaving && !is_held && C::FINALIZER.is_some() {
            return self.tell_kept(&object, outcome, hand).await;
        }
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
            Ok(()) => bounded(self.pace.reconcile, self.work(&object, hand, &mut outcome)).await.err(),
        };
        match self.let_go(&object, &outcome, hand).await {
            Ok(LetGo::NotYet) => {}
            Ok(LetGo::Gone) => return Ended::Settled { look_again: None },
            Ok(LetGo::Kept(left)) => {
                self.cache.learn(C::Object::clone(&left));
                return self.tell_kept(&left, outcome, hand).await;
            }
            Err(error) => outcome.error = Some(error),
        }
        if let Some(error) = outcome.error.take_if(|error| error.is_stale() && conflicts < CONFLICTS) {
            // Nothing is wrong with the object: we did not know the newest. It is not worth a word.
            return Ended::Failed(error);
        }
        outcome.set_back = hand.set_back();
        self.tell(&object, outcome, hand).await
    }

    /// Takes our finalizer off an object that is being deleted, if everything is done that had to be.
    async fn let_go(
        &self,
        object: &C::Object,
        outcome: &Outcome<C>,
        hand: &Hand,
    ) -> Result<LetGo<C::Object>, Error> {
        let Outcome { error: None, plan: Some(plan), applied, .. } = outcome else {
            return Ok(LetGo::NotYet);
        };
        let Some(finalizer) = C::FINALIZER.filter(|_| object.meta().deletion_timestamp.is_some()) else {
            return Ok(LetGo::NotYet);
        };
        if !guarded(|| self.controller.may_leave(plan, applied))? {
            return Ok(LetGo::NotYet);
        }
        let left = hand.let_go(object, finalizer).await?;
        Ok(left.map_or(LetGo::Gone, |left| LetGo::Kept(Box::new(left))))
    }

    /// Says of an object that is being deleted, and that we have let go, who still keeps it. Whoever took our finalizer off
    /// in our place wants nothing more to be done, so it is only looked at.
    async fn tell_kept(&self, object: &C::Object, mut outcome: Outcome<C>, hand: &Hand) -> Ended {
        outcome.kept_by = object.meta().finalizers.clone().unwrap_or_default();
        if outcome.kept_by.is_empty() {
            // Nobody does, and it is gone by now.
            return Ended::Settled { look_again: None };
        }
        if outcome.plan.is_none() {
            outcome.error = bounded(self.pace.reconcile, self.look(object, &mut outcome)).await.err();
        }
        self.tell(object, outcome, hand).await
    }

    /// Observe, plan, apply: with the client, pure, with the client.
    async fn work(&self, object: &C::Object, hand: &Hand, outcome: &mut Outcome<C>) -> Result<(), Error> {
        self.look(object, outcome).await?;
        match &outcome.plan {
            Some(plan) => self.controller.apply(plan, hand, &mut outcome.applied).await,
            None => Ok(()),
        }
    }

    async fn look(&self, object: &C::Object, outcome: &mut Outcome<C>) -> Result<(), Error> {
        let observed = outcome.observed.insert(self.controller.observe(object).await?);
        outcome.plan = Some(self.controller.plan(object, observed));
        Ok(())
    }

    /// The status, on every way out; written only if it says something new.
    async fn tell(&self, object: &C::Object, outcome: Outcome<C>, hand: &Hand) -> Ended {
        let old = object.status().cloned().unwrap_or_default();
        let (new, look_again) = status(&*self.controller, object, &outcome, Timestamp::now());
        if let Some(news) = News::of_set_back(outcome.set_back_of(|_| true)) {
            hand.tell(object.object_ref(&()), &news).await;
        }
        if new != old {
            match hand.report::<C::Object, _, C::Object>(object.meta(), &new, C::WRITTEN_BY_OTHERS).await {
                Ok(reported) => self.cache.learn(reported),
                // What was wrong first is what matters.
                Err(error) => return Ended::Failed(outcome.error.unwrap_or(error)),
            }
            if let Some(news) = News::of_change(C::conditions(&old), C::conditions(&new)) {
                hand.tell(object.object_ref(&()), &news).await;
            }
        }
        match (outcome.error, look_again) {
            (Some(error), _) | (None, Err(error)) => Ended::Failed(error),
            (None, Ok(look_again)) => Ended::Settled { look_again },
        }
    }

    /// Says of an object that it cannot be read. `before` is what it was when it last could.
    async fn tell_unreadable(
        &self,
        unreadable: &Unreadable,
        before: Option<&C::Object>,
        hand: &Hand,
    ) -> Ended {
        let Unreadable { metadata, why, is_told } = unreadable;
        if *is_told {
            return Ended::Settled { look_again: None };
        }
        let message = format!("the object cannot be read, so nothing is done about it: {why}; correct it");
        let ready = Statement::fails(READY, reason::VALIDATION_FAILED, message);
        let old = before.and_then(|it| it.status().cloned()).unwrap_or_default();
        let generation = metadata.generation.unwrap_or_default();
        let new = C::unreadable(old.clone(), ready, generation, Timestamp::now());
        let reported =
            hand.report::<C::Object, _, PartialObjectMeta<C::Object>>(metadata, &new, C::WRITTEN_BY_OTHERS);
        match reported.await {
            Err(error) => Ended::Failed(error),
            Ok(reported) => {
                let told = Unreadable { metadata: reported.metadata, why: why.clone(), is_told: true };
                self.cache.note(told);
                if let (Some(before), Some(news)) =
                    (before, News::of_change(C::conditions(&old), C::conditions(&new)))
                {
                    hand.tell(before.object_ref(&()), &news).await;
                }
                Ended::Settled { look_again: None }
            }
        }
    }

    fn hand(&self, object: &ObjectMeta, term: Term) -> Hand {
        let about = About {
            kind: C::KIND,
            object: Key::of(object),
            uid: object.uid.clone(),
            generation: object.generation.unwrap_or_default(),
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
            marks: Mutex::default(),
            set_back: Mutex::default(),
        }
    }
}

/// What an object says of itself, and when to look at it again. If that brings a defect out, the object says at least so.
fn status<C: Controller>(
    controller: &C,
    object: &C::Object,
    outcome: &Outcome<C>,
    now: Timestamp,
) -> (C::Status, Result<Option<Duration>, Error>) {
    let told = guarded(|| {
        let new = controller.status(object, outcome, now);
        controller.show(object, &new);
        let look_again = controller.look_again(&new);
        (new, look_again)
    });
    match told {
        Ok((new, look_again)) => (new, Ok(look_again)),
        Err(error) => {
            let ready = Statement::fails(READY, reason::FAILED, error.told());
            let old = object.status().cloned().unwrap_or_default();
            let generation = object.meta().generation.unwrap_or_default();
            (C::unreadable(old, ready, generation, now), Err(error))
        }
    }
}

/// A defect in one of the pure steps is the trouble of the object that brings it out, and told like any other.
fn guarded<T>(step: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|_| Error::Panicked)
}

/// What is done for one object, for so long and no longer. A defect that it brings out is that object's trouble alone, and
/// is told like any other.
async fn bounded(limit: Duration, work: impl Future<Output = Result<(), Error>>) -> Result<(), Error> {
    match timeout(limit, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(worked)) => worked,
        Ok(Err(_)) => Err(Error::Panicked),
        Err(_) => Err(Error::TooSlow(limit.as_secs())),
    }
}

#[cfg(test)]
mod tests;
