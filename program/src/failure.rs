//! Why the API server did not say what was asked.

/// A question without an answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// One of a fixed few, for metrics.
    pub label: &'static str,
    message: String,
    is_put_off: bool,
}

impl Failure {
    /// Where to go on from is too long ago.
    pub const EXPIRED: &'static str = "Expired";
    /// Somebody else was faster, or holds what was to be written.
    pub const CONFLICT: &'static str = "Conflict";
    /// Somebody has to give the program the right.
    pub const FORBIDDEN: &'static str = "Forbidden";
    /// There is no such object, or no such kind.
    pub const NOT_SERVED: &'static str = "NotServed";
    /// The answer is not what was asked for.
    pub const UNREADABLE: &'static str = "Unreadable";

    /// One of those, in words.
    pub fn new(label: &'static str, message: impl Into<String>) -> Self {
        Self { label, message: message.into(), is_put_off: false }
    }

    /// Nobody said anything in time.
    pub fn no_answer() -> Self {
        Self::new("NoAnswer", "the API server does not answer")
    }

    /// Whether a watch cannot go on from where it was, so that everything has to be listed again.
    pub fn needs_list(&self) -> bool {
        matches!(self.label, Self::EXPIRED | Self::UNREADABLE)
    }

    /// What the API server says.
    pub fn of_status(status: &kube::core::Status) -> Self {
        let label = match status.code {
            401 => "Unauthorized",
            403 => Self::FORBIDDEN,
            404 => Self::NOT_SERVED,
            409 => Self::CONFLICT,
            410 => Self::EXPIRED,
            429 => "TooManyRequests",
            500.. => "ServerError",
            _ => "Refused",
        };
        let message = format!("the API server says {}: {}", status.code, status.message);
        Self { is_put_off: matches!(status.code, 429 | 503 | 504), ..Self::new(label, message) }
    }

    /// Whether the API server was only too busy, or not quite there: the same question may have an answer a moment later.
    pub fn is_put_off(&self) -> bool {
        self.is_put_off
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

/// What is wrong with an object, without what it quotes of it, which may be long and is not for everybody who reads logs.
pub fn without_quotes(text: &str) -> String {
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
