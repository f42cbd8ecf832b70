//! What policies came to.

use std::sync::Arc;

use super::definition::Reason;
use crate::facts::FactKey;

/// What all policies together say of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// What stops the request, in the order of the policies, bindings and validations. Kubernetes shows the first.
    pub denials: Vec<Denial>,
    /// What the user is told besides, each a line as Kubernetes words it.
    pub warnings: Vec<Warning>,
    /// What the audit log gets, under Kubernetes' own keys.
    pub annotations: Vec<(String, String)>,
    /// Each policy with each of its bindings that was about the request.
    pub evaluations: Vec<Evaluation>,
    /// What each validation came to.
    pub decisions: Vec<Decision>,
    /// The objects that the denials rest on.
    pub rests_on: Vec<FactKey>,
}

impl Judged {
    /// Turns denials into warnings.
    pub(crate) fn warn_only(&mut self) {
        let denials = std::mem::take(&mut self.denials);
        self.warnings.extend(denials.into_iter().map(|denial| Warning {
            binding: denial.binding.unwrap_or_else(|| Arc::clone(&denial.policy)),
            policy: denial.policy,
            detail: denial.detail,
        }));
        self.rests_on.clear();
    }
}

/// A denial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The policy.
    pub policy: Arc<str>,
    /// The binding; none if the policy itself could not be used.
    pub binding: Option<Arc<str>>,
    /// Why, without the names of the policy and the binding.
    pub detail: String,
    /// Why, in one word.
    pub reason: Reason,
}

impl Denial {
    /// The message, as Kubernetes words it.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { policy, binding, detail, .. } = self;
        match binding {
            Some(binding) => {
                format!(
                    "ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {detail}"
                )
            }
            None => format!("ValidatingAdmissionPolicy '{policy}' denied request: {detail}"),
        }
    }
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The policy.
    pub policy: Arc<str>,
    /// The binding.
    pub binding: Arc<str>,
    /// Why.
    pub detail: String,
}

impl Warning {
    /// The message, as Kubernetes words it.
    #[must_use]
    pub fn message(&self) -> String {
        let Self { policy, binding, detail } = self;
        format!(
            "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': {detail}"
        )
    }
}

/// One policy with one of its bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The policy.
    pub policy: Arc<str>,
    /// The binding; none if it did not come to that.
    pub binding: Option<Arc<str>>,
    /// What it came to.
    pub result: Outcome,
    /// What its expressions cost, all params together.
    pub cost: u64,
}

/// What a policy with a binding came to, the gravest of its validations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It was not about the request after all: a match condition, or no params.
    Skipped,
    /// Everything held, or was left as it is.
    Allowed,
    /// The object was changed.
    Changed,
    /// Something did not hold, and the audit log says so.
    Audited,
    /// Something did not hold, and the user is warned.
    Warned,
    /// Something could not be evaluated, and `failurePolicy: Ignore` lets it pass.
    Ignored,
    /// Something did not hold, and the request is denied.
    Denied,
    /// Something could not be evaluated, and the binding's actions are taken.
    Error,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Skipped,
        Self::Allowed,
        Self::Changed,
        Self::Audited,
        Self::Warned,
        Self::Ignored,
        Self::Denied,
        Self::Error,
    ];

    /// As a metric's label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Allowed => "allowed",
            Self::Changed => "changed",
            Self::Audited => "audited",
            Self::Warned => "warned",
            Self::Ignored => "ignored",
            Self::Denied => "denied",
            Self::Error => "error",
        }
    }
}

/// What one validation, or one mutation, came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The policy.
    pub policy: Arc<str>,
    /// Its number in the policy, from 0.
    pub number: usize,
    /// Whether a validation held, or a mutation changed the object; nothing if it could not be evaluated.
    pub held: Option<bool>,
}
