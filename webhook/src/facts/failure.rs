//! Why the API server did not say what was asked.

use std::fmt;

/// A question without an answer.
#[derive(Debug)]
pub(super) struct Failure {
    /// One of a fixed few, for metrics.
    pub(super) label: &'static str,
    message: String,
}

impl Failure {
    pub(super) const EXPIRED: &'static str = "Expired";
    pub(super) const FORBIDDEN: &'static str = "Forbidden";
    pub(super) const NOT_SERVED: &'static str = "NotServed";
    const UNREADABLE: &'static str = "Unreadable";

    pub(super) fn new(label: &'static str, message: impl Into<String>) -> Self {
        Self { label, message: message.into() }
    }

    pub(super) fn no_answer() -> Self {
        Self::new("NoAnswer", "the API server does not answer")
    }

    /// Whether a watch cannot go on from where it was, so that everything has to be listed again.
    pub(super) fn needs_list(&self) -> bool {
        matches!(self.label, Self::EXPIRED | Self::UNREADABLE)
    }

    pub(super) fn of_status(status: &kube::core::Status) -> Self {
        let label = match status.code {
            401 => "Unauthorized",
            403 => Self::FORBIDDEN,
            404 => Self::NOT_SERVED,
            410 => Self::EXPIRED,
            429 => "TooManyRequests",
            _ => "Refused",
        };
        Self::new(label, format!("the API server says {}: {}", status.code, status.message))
    }
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(&status),
            kube::Error::SerdeError(error) => {
                Self::new(Self::UNREADABLE, format!("the answer cannot be read: {error}"))
            }
            error => Self::new("Unreachable", error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
