//! From the bytes of a review to the bytes of its answer.
//!
//! A review is judged on one snapshot of the facts. A yes is given at once. A no may rest on a snapshot that lags behind,
//! as when a Team and its cluster come from one file, so what it rests on is looked up first and the review judged again.
//! Policies are judged by after the rules, all on the set that was in force when the review came.
//! What raises usage is then asked of the team's ledger, last, because asking takes something up.
//! The few answers that rest on there being no more of a kind, such as a deletion of what may be in use, are verified too.

mod complete;
mod confirm;
mod grant;
mod metrics;
mod rehearse;
mod unfinished;
mod verify;

use std::sync::Arc;
use std::time::Instant;

use butler_api::excerpt::excerpt;
use butler_policies::defaults::Completion;
use butler_policies::policy::{Kind, Shown};
use butler_policies::review::ReviewError;
use butler_policies::verdict::{answer_error, answer_patch, answer_unavailable, answer_verdict};
use butler_policies::{Facts, Review, Verdict, judge_by_policies};

pub use self::metrics::Metrics;
pub use self::rehearse::{NotRehearsed, Question, Rehearsed};
use self::unfinished::Unfinished;
use crate::endpoint::{Endpoint, Stage};
use crate::facts::{Look, Snapshots};
use crate::policy_files::{InForce, Policies};
use crate::quota::Quota;

/// What everybody is told until the policies are loaded.
const NOT_LOADED: &str = "the policies of the platform cannot be loaded, so nothing can be judged; ask who runs the platform to look at its log";

/// What goes back over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An AdmissionReview that answers the request.
    Answer(Vec<u8>),
    /// Why there is none: nothing in the body has a uid to answer to.
    NotAReview(String),
}

/// Judges reviews.
#[derive(Debug)]
pub struct Admission<L> {
    facts: Arc<Snapshots>,
    policies: Arc<Policies>,
    shown: Shown,
    look: L,
    metrics: Metrics,
    /// Without it nothing is counted.
    quota: Option<Arc<Quota>>,
}

/// How a review ended, for the log and the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Outcome {
    Allowed,
    Denied,
    Malformed,
    /// There is no answer: it took too long, or it ended in a panic.
    Unfinished,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Malformed => "malformed",
            Self::Unfinished => "unfinished",
        }
    }
}

impl<L: Look> Admission<L> {
    /// Judges on these facts, and looks up live what a denial rests on.
    pub fn new(facts: Arc<Snapshots>, look: L, metrics: Metrics) -> Self {
        Self { facts, policies: Arc::default(), shown: Shown::default(), look, metrics, quota: None }
    }

    /// Judges by these policies, too.
    #[must_use]
    pub fn with_policies(mut self, policies: Arc<Policies>) -> Self {
        self.policies = policies;
        self
    }

    /// Grants what these ledgers take up, and nothing else that raises usage.
    #[must_use]
    pub fn with_quota(mut self, quota: Arc<Quota>) -> Self {
        self.quota = Some(quota);
        self
    }

    /// Answers one review.
    pub async fn review(&self, endpoint: Endpoint, body: &[u8]) -> Reply {
        let started = Instant::now();
        let review = match read(endpoint, body) {
            Ok(review) => review,
            Err(error) => return self.answer_unreadable(endpoint, &error, started),
        };
        let unfinished = Unfinished { endpoint, review: &review, started, metrics: &self.metrics };
        let policies = self.policies.current();
        let (answer, outcome, findings) = match (endpoint.stage, policies) {
            (_, None) => {
                let answer = answer_unavailable(&review.uid, NOT_LOADED);
                (answer, Outcome::Denied, Some("policies/NotLoaded".to_owned()))
            }
            (Stage::Mutating, Some(policies)) => {
                let completed = self.complete(&review, &policies).await;
                policies.count(Kind::Mutating, completed.evaluations());
                let outcome = if completed.allows() { Outcome::Allowed } else { Outcome::Denied };
                (completed.answer(&review.uid), outcome, completed.audit())
            }
            (Stage::Validating, Some(policies)) => {
                let verdict = self.judge(&review, &policies, started).await;
                self.metrics.found(&verdict.findings);
                policies.count(Kind::Validating, &verdict.policies.evaluations);
                let outcome = if verdict.allows() { Outcome::Allowed } else { Outcome::Denied };
                (answer_verdict(&review.uid, &verdict), outcome, verdict.audit())
            }
        };
        unfinished.finish();
        let took = started.elapsed();
        self.metrics.reviewed(endpoint, Some(review.operation), outcome, took);
        tracing::info!(
            webhook = endpoint.webhook,
            uid = excerpt(&review.uid),
            operation = review.operation.as_str(),
            namespace = excerpt(&review.namespace),
            name = excerpt(&review.name),
            user = excerpt(&review.caller.name),
            dry_run = review.dry_run,
            verdict = outcome.as_str(),
            findings,
            microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            "reviewed"
        );
        Reply::Answer(answer)
    }

    async fn judge(&self, review: &Review<'_>, policies: &InForce, started: Instant) -> Verdict {
        let judge =
            |review: &Review<'_>, facts: &Facts| judge_by_policies(review, facts, &policies.set, &self.shown);
        let mut facts = self.facts.current();
        let first = judge(review, &facts);
        let verdict = self.confirm(review, &mut facts, first, Verdict::rests_on, judge).await;
        let verdict = self.verify(review, facts.clone(), verdict, judge).await;
        self.grant(review, facts, verdict, started).await
    }

    fn answer_unreadable(&self, endpoint: Endpoint, error: &ReviewError, started: Instant) -> Reply {
        // The API server's own schema comes right after defaulting, and words it better.
        let passes = endpoint.stage == Stage::Mutating && error.is_about_the_object;
        let outcome = if passes { Outcome::Allowed } else { Outcome::Malformed };
        let took = started.elapsed();
        self.metrics.reviewed(endpoint, None, outcome, took);
        tracing::warn!(
            webhook = endpoint.webhook,
            uid = error.uid.as_deref().map(excerpt),
            verdict = outcome.as_str(),
            microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            "reviewed"
        );
        match &error.uid {
            Some(uid) if passes => Reply::Answer(answer_patch(uid, &Completion::default().patch)),
            Some(uid) => Reply::Answer(answer_error(uid, error)),
            None => Reply::NotAReview(error.message.clone()),
        }
    }
}

/// The review in a body, if it is one of those that are sent to that endpoint.
fn read(endpoint: Endpoint, body: &[u8]) -> Result<Review<'_>, ReviewError> {
    let review = Review::parse(body)?;
    if review.kind == endpoint.kind {
        return Ok(review);
    }
    let message =
        format!("a {} is not reviewed at `{}`; is it registered there?", review.kind.as_str(), endpoint.path);
    Err(ReviewError::malformed(message).with_uid(review.uid.into_owned()))
}

#[cfg(test)]
mod tests;
