//! What a controller says about its kind; the frame does the rest.

use std::fmt::Debug;
use std::time::Duration;

use butler_api::condition::{self, ConditionStatus, Statement, reason};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::object::HasStatus;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Error, Hand, Key, Reachable, SetBack};
use crate::words::listed;

/// The steps of one kind. The frame calls them in this order, for each object by itself.
pub trait Controller: Send + Sync + Sized + 'static {
    /// The kind.
    type Object: Reachable
        + HasStatus<Status = Self::Status>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static;
    /// Its status.
    type Status: Clone + Debug + Default + PartialEq + Serialize + Send + Sync;
    /// What was looked at.
    type Observed: Debug + Send + Sync;
    /// What is to be done.
    type Plan: Debug + Send + Sync;
    /// How far it came.
    type Applied: Debug + Default + Send + Sync;

    /// The name of the kind, for logs and metrics.
    const KIND: &'static str;
    /// Who owns the fields that are written. One per controller.
    const MANAGER: &'static str;
    /// What keeps an object until its deletion is done, if that takes anything.
    const FINALIZER: Option<&'static str>;
    /// Fields of the status that somebody else writes.
    const WRITTEN_BY_OTHERS: &'static [&'static str] = &[];

    /// Looks at everything that the plan depends on. May ask the API server; writes nothing.
    fn observe(&self, object: &Self::Object) -> impl Future<Output = Result<Self::Observed, Error>> + Send;

    /// What is to be done. Pure.
    fn plan(&self, object: &Self::Object, observed: &Self::Observed) -> Self::Plan;

    /// Does it, and notes how far it came.
    fn apply(
        &self,
        plan: &Self::Plan,
        hand: &Hand,
        applied: &mut Self::Applied,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Whether an object that is being deleted may go. Pure.
    fn may_leave(&self, plan: &Self::Plan, applied: &Self::Applied) -> bool;

    /// What the object says of itself afterwards, however it went. Pure. It begins from the status that the object has,
    /// so that times stay where nothing else changes.
    fn status(&self, object: &Self::Object, outcome: &Outcome<Self>, now: Timestamp) -> Self::Status;

    /// What an object says of itself that cannot be read: `ready` instead of what it said before in sum. Pure.
    fn unreadable(old: Self::Status, ready: Statement, generation: i64, now: Timestamp) -> Self::Status;

    /// The conditions in a status.
    fn conditions(status: &Self::Status) -> &[Condition];

    /// When to look again although nothing is heard, if that is sooner than usual.
    fn look_again(&self, _: &Self::Status) -> Option<Duration> {
        None
    }

    /// Shows the object in metrics of its own.
    fn show(&self, _: &Self::Object, _: &Self::Status) {}

    /// The object is gone, and with it what was shown of it.
    fn forget(&self, _: &Key) {}

    /// This replica works no more, so what it shows of objects would only grow old.
    fn retire(&self) {}
}

/// How far a reconcile came.
#[derive(Debug)]
pub struct Outcome<C: Controller> {
    /// What was looked at, unless looking failed.
    pub observed: Option<C::Observed>,
    /// What was planned.
    pub plan: Option<C::Plan>,
    /// What was done of it.
    pub applied: C::Applied,
    /// What failed.
    pub error: Option<Error>,
    /// What of ours others had changed, and was set back.
    pub set_back: Vec<SetBack>,
    /// Of an object that is being deleted and that we have let go: the finalizers by which others still keep it.
    pub kept_by: Vec<String>,
}

impl<C: Controller> Default for Outcome<C> {
    fn default() -> Self {
        Self {
            observed: None,
            plan: None,
            applied: C::Applied::default(),
            error: None,
            set_back: Vec::new(),
            kept_by: Vec::new(),
        }
    }
}

impl<C: Controller> Outcome<C> {
    /// What to tell people about what failed.
    pub fn trouble(&self) -> Option<String> {
        self.error.as_ref().map(Error::told)
    }

    /// What to tell people about an object that only others still keep: [`READY`](condition::READY) fails with it, for the
    /// reason [`DELETING`](reason::DELETING).
    pub fn kept(&self) -> Option<String> {
        (!self.kept_by.is_empty()).then(|| {
            let keepers = listed(&self.kept_by);
            format!("Butler is done with it; it goes when the finalizers {keepers} are removed by whoever set them")
        })
    }

    /// What to tell people about what was set back of these kinds; nothing if nothing was.
    pub(super) fn set_back_of(&self, is_meant: impl Fn(&str) -> bool) -> String {
        let what = self.set_back.iter().filter(|it| is_meant(&it.kind)).map(ToString::to_string);
        match what.collect::<Vec<_>>().join("; ") {
            nothing if nothing.is_empty() => nothing,
            what => format!("{SET_BACK}{what}"),
        }
    }

    /// A condition that holds, with what was set back of these kinds, and when. That stays to be read until the object is
    /// changed or something else is wrong: the next look comes too soon for anybody to have seen it.
    pub fn holds(
        &self,
        condition: &'static str,
        is_meant: impl Fn(&str) -> bool,
        before: &[Condition],
        generation: i64,
        now: Timestamp,
    ) -> Statement {
        let message = match self.set_back_of(is_meant) {
            nothing if nothing.is_empty() => {
                let old = condition::get(before, condition).filter(|old| {
                    ConditionStatus::from_wire(&old.status) == ConditionStatus::True
                        && old.observed_generation == Some(generation)
                        && old.message.starts_with(SET_BACK)
                });
                old.map(|old| old.message.clone()).unwrap_or_default()
            }
            what => format!("{what} ({now:.0})"),
        };
        Statement::holds(condition, reason::READY, message)
    }
}

/// How every note of something that was set back begins.
const SET_BACK: &str = "set back ";
