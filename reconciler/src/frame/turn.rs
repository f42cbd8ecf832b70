//! One turn of one object: through the steps of its controller, and told how it went, whatever happened.

use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use butler_api::condition::{self, READY, Statement, reason};
use futures::FutureExt;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::PartialObjectMeta;
use kube::core::object::HasStatus;
use tokio::time::timeout;

use super::cache::Unreadable;
use super::controller::{Controller, Outcome};
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
    /// Whether something of ours was set back that others had changed, or made anew that was there before.
    pub(super) is_disputed: bool,
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
                return Turn { ended: Ended::Gone, is_disputed: false };
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
        let was_whole = object.as_deref().is_some_and(|object| was_whole::<C>(object));
        Turn { ended, is_disputed: !hand.set_back().is_empty() || was_whole && hand.made() > 0 }
    }

    fn note(&self, ended: &Ended, hand: &Hand, took: Duration) {
        let written = hand.written();
        let About { kind, object, generation, reconcile } = &hand.about;
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
            Ok(()) => bounded(self.pace.reconcile, self.work(&object, hand, &mut outcome)).await.err(),
        };
        if let (true, None, Some(plan), Some(finalizer)) =
            (is_leaving, &outcome.error, &outcome.plan, C::FINALIZER)
            && self.controller.may_leave(plan, &outcome.applied)
        {
            match hand.let_go(&object, finalizer).await {
                Ok(()) => return Ended::Settled { look_again: None },
                Err(error) => outcome.error = Some(error),
            }
        }
        if let Some(error) = outcome.error.take_if(|error| error.is_stale() && conflicts < CONFLICTS) {
            // Nothing is wrong with the object: we did not know the newest. It is not worth a word.
            return Ended::Failed(error);
        }
        outcome.set_back = hand.set_back();
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
        match outcome.error {
            Some(error) => Ended::Failed(error),
            None => Ended::Settled { look_again },
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
            made: AtomicU32::new(0),
            set_back: Mutex::default(),
        }
    }
}

/// Whether an object, as it is asked for, once had everything: what it lacks after that, others took away, or it grew with
/// what others did. Neither is worth hurrying for again and again.
fn was_whole<C: Controller>(object: &C::Object) -> bool {
    let conditions = object.status().map(C::conditions).unwrap_or_default();
    condition::is_true(conditions, READY)
        && condition::get(conditions, READY)
            .is_some_and(|ready| ready.observed_generation == object.meta().generation)
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
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_or_panics_is_an_error_like_any_other() {
        let limit = Duration::from_secs(60);
        assert!(bounded(limit, async { Ok(()) }).await.is_ok());
        let slow = bounded(limit, std::future::pending()).await.unwrap_err();
        assert_eq!(slow.label(), "TooSlow");
        let defect = bounded(limit, async { unreachable!("a defect") }).await.unwrap_err();
        assert_eq!(defect.label(), "Panicked");
        assert_eq!(
            defect.told(),
            "butler-reconciler has a defect that this object brings out; its log says where; it is tried again"
        );
    }
}
