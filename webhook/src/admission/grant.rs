//! The last stage: what raises usage is asked of the team's ledger.
//!
//! Last, because a yes takes something up. What is denied already is only weighed, so that all findings come in one answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use butler_policies::quota::{Claim, Need, lost, need, not_decided, refused, unseen};
use butler_policies::review::Operation;
use butler_policies::{Facts, Finding, Review, Verdict};
use tokio::time::timeout_at;

use super::Admission;
use crate::facts::Look;
use crate::quota::{Quota, Trouble};

/// How long a review may have taken when its ledger has answered. The API server gives it five seconds in all, and a
/// no that says why is better than none.
const PATIENCE: Duration = Duration::from_millis(4500);

impl<L: Look> Admission<L> {
    /// Adds to a verdict what the ledger has against it, in time for a review that came in at `started`.
    pub(super) async fn grant(
        &self,
        review: &Review<'_>,
        facts: Arc<Facts>,
        mut verdict: Verdict,
        started: Instant,
    ) -> Verdict {
        let Some(quota) = &self.quota else { return verdict };
        let needed = need(review, &facts);
        if needed == Need::Nothing {
            return verdict;
        }
        let found = self.found(quota, review, facts, needed, verdict.allows());
        match timeout_at((started + PATIENCE).into(), found).await {
            Ok(found) => verdict.findings.extend(found),
            Err(_) => verdict.findings.push(not_decided("the API server takes too long")),
        }
        verdict
    }

    async fn found(
        &self,
        quota: &Quota,
        review: &Review<'_>,
        mut facts: Arc<Facts>,
        mut needed: Need,
        is_allowed: bool,
    ) -> Vec<Finding> {
        if let Need::Look(key) = needed {
            let fact = self.look.look(&key, &review.caller).await;
            Arc::make_mut(&mut facts).learn(key.clone(), fact);
            needed = match need(review, &facts) {
                Need::Look(key) => Need::Denial(unseen(key)),
                needed => needed,
            };
        }
        match needed {
            Need::Nothing | Need::Look(_) => Vec::new(),
            // What is denied already has better reasons.
            Need::Denial(finding) => is_allowed.then_some(finding).into_iter().collect(),
            Need::Grant(claim) => self.ask(quota, review, facts, *claim, review.dry_run || !is_allowed).await,
        }
    }

    async fn ask(
        &self,
        quota: &Quota,
        review: &Review<'_>,
        mut facts: Arc<Facts>,
        claim: Claim,
        is_dry: bool,
    ) -> Vec<Finding> {
        let (rests_on, limits) = (claim.rests_on.clone(), claim.limits.clone());
        let is_update = review.operation == Operation::Update;
        let refusal = match quota.ask(claim, is_dry).await {
            Ok(()) => return Vec::new(),
            Err(Trouble::Refused(refusal)) => refusal,
            Err(trouble) => return vec![told(trouble)],
        };
        // The limit may have been raised a moment ago.
        for key in rests_on {
            let fact = self.look.look(&key, &review.caller).await;
            Arc::make_mut(&mut facts).learn(key, fact);
        }
        match need(review, &facts) {
            Need::Grant(again) if again.limits != limits => match quota.ask(*again, is_dry).await {
                Ok(()) => Vec::new(),
                Err(Trouble::Refused(refusal)) => refused(refusal, is_update),
                Err(trouble) => vec![told(trouble)],
            },
            _ => refused(refusal, is_update),
        }
    }
}

fn told(trouble: Trouble) -> Finding {
    match trouble {
        Trouble::Lost(left) => lost(left.as_secs() + 1),
        Trouble::Failed(why) => not_decided(&why),
        // Told by its own findings.
        Trouble::Refused(_) => not_decided("it does not fit"),
    }
}
