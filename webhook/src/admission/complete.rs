//! The mutating stage: what mutating policies and defaults make of an object.

use butler_policies::defaults::Completion;
use butler_policies::policy::{Completed, Evaluation, Known, Refusal, complete_by_policies};
use butler_policies::verdict::{answer_completed, answer_patch};
use butler_policies::{FactKey, Facts, Review, complete};

use super::Admission;
use crate::facts::Look;
use crate::policy_files::InForce;

/// What the mutating stage came to.
pub(super) enum Answer {
    /// No policy is about the object.
    ByDefaults(Completion),
    ByPolicies(Completed),
}

impl Answer {
    pub(super) fn allows(&self) -> bool {
        match self {
            Self::ByDefaults(_) => true,
            Self::ByPolicies(completed) => completed.refusals.is_empty(),
        }
    }

    pub(super) fn evaluations(&self) -> &[Evaluation] {
        match self {
            Self::ByDefaults(_) => &[],
            Self::ByPolicies(completed) => &completed.evaluations,
        }
    }

    pub(super) fn answer(&self, uid: &str) -> Vec<u8> {
        match self {
            Self::ByDefaults(completion) => answer_patch(uid, &completion.patch),
            Self::ByPolicies(completed) => answer_completed(uid, completed),
        }
    }

    /// What to write into the object, as RFC 6902 has it; empty if that is nothing.
    pub(super) fn patch(&self) -> Vec<u8> {
        match self {
            Self::ByDefaults(completion) if completion.patch.is_empty() => Vec::new(),
            Self::ByDefaults(completion) => completion.patch.to_bytes(),
            Self::ByPolicies(completed) => completed.patch.clone(),
        }
    }

    pub(super) fn refusals(&self) -> &[Refusal] {
        match self {
            Self::ByDefaults(_) => &[],
            Self::ByPolicies(completed) => &completed.refusals,
        }
    }

    /// The policies that stop the request.
    pub(super) fn audit(&self) -> Option<String> {
        let Self::ByPolicies(Completed { refusals, .. }) = self else { return None };
        let word = |refusal: &Refusal| match refusal {
            Refusal::Policy(denial) => format!("policy/{}", denial.policy),
            Refusal::Request { reason, .. } => format!("policies/{}", reason.as_str()),
        };
        let words: Vec<String> = refusals.iter().map(word).collect();
        (!words.is_empty()).then(|| words.join(","))
    }

    fn rests_on(&self) -> Vec<FactKey> {
        match self {
            Self::ByDefaults(completion) => completion.missing.clone(),
            Self::ByPolicies(completed) => completed.rests_on.clone(),
        }
    }
}

impl<L: Look> Admission<L> {
    pub(super) async fn complete(&self, review: &Review<'_>, policies: &InForce) -> Answer {
        let complete = |review: &Review<'_>, facts: &Facts| {
            let known = Known::new(facts, review, &self.shown);
            match complete_by_policies(&policies.set, review, facts, &known) {
                Some(completed) => Answer::ByPolicies(completed),
                None => Answer::ByDefaults(complete(review, facts)),
            }
        };
        let mut facts = self.facts.current();
        let first = complete(review, &facts);
        self.confirm(review, &mut facts, first, Answer::rests_on, complete).await
    }
}
