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
    pub(super) const UNREADABLE: &'static str = "Unreadable";

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
                let why = without_quotes(&error.to_string());
                Self::new(Self::UNREADABLE, format!("the answer cannot be read: {why}"))
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

/// What is wrong with an object, without what it quotes of it, which may be long and is not for everybody who reads logs.
pub(super) fn without_quotes(text: &str) -> String {
    let (first, last) = (text.find(['"', '`']), text.rfind(['"', '`']));
    match (first.and_then(|at| text.get(..=at)), last.and_then(|at| text.get(at..))) {
        (Some(before), Some(after)) if before.len() + after.len() <= text.len() => {
            format!("{before}…{after}")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_left_out() {
        let table = [
            (
                "invalid type: string \"hunter2\", expected a map",
                "invalid type: string \"…\", expected a map",
            ),
            ("`a` is not `b` at line 1", "`…` at line 1"),
            ("EOF while parsing", "EOF while parsing"),
            ("one \" alone", "one \" alone"),
        ];
        for (text, expected) in table {
            assert_eq!(without_quotes(text), expected);
        }
        let error = serde_json::from_str::<u8>("\"hunter2\"").unwrap_err();
        assert!(!Failure::from(kube::Error::SerdeError(error)).to_string().contains("hunter2"));
    }
}
