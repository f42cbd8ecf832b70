//! The two families of failure.

use butler_program::Failure;

/// The user must act, or something else in the world has to change: it goes into a condition, and is looked at again when
/// something is heard of it, not sooner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// One of the reasons of conditions.
    pub reason: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Problem {
    /// A problem with that reason.
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// The world failed: it is tried again, each time after a longer while.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else may be the one who writes now.
    #[error("the lease is not safely held any more, so nothing is written")]
    NotLeading,
    /// The API server did not do what was asked.
    #[error("cannot {verb} {what}: {failure}")]
    Api {
        /// What was asked of it.
        verb: &'static str,
        /// Of which object.
        what: String,
        /// Why not.
        failure: Failure,
    },
    /// The steps of one reconcile took too long together.
    #[error("the reconcile did not end within {0} s and was given up")]
    TooSlow(u64),
    /// A defect of ours. Where is in the log.
    #[error("butler-reconciler has a defect that this object brings out; its log says where")]
    Panicked,
}

impl Error {
    /// The API server did not do that.
    pub fn api(verb: &'static str, what: impl Into<String>, failure: impl Into<Failure>) -> Self {
        Self::Api { verb, what: what.into(), failure: failure.into() }
    }

    /// One of a fixed few, for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::NotLeading => "NotLeading",
            Self::Api { failure, .. } => failure.label,
            Self::TooSlow(_) => "TooSlow",
            Self::Panicked => "Panicked",
        }
    }

    /// What to tell people: what they can change, and what we do meanwhile.
    pub fn told(&self) -> String {
        let advice = match self.label() {
            Failure::FORBIDDEN => "; give butler-reconciler the rights of its manifests again",
            _ => "; it is tried again",
        };
        format!("{self}{advice}")
    }

    /// Whether what we knew was not the newest. That is nobody's fault, and over as soon as we have heard of it.
    pub fn is_stale(&self) -> bool {
        self.label() == Failure::CONFLICT
    }
}
