//! How fast things happen.

use std::time::Duration;

/// The times that an operator might want to know, and a test shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// A kind of which nothing good was heard for this long is unknown: what the gate remembers may be far in the
    /// past, and it denies rather than rests on it.
    pub lost_after: Duration,
    /// How long the API server keeps one watch open, in whole seconds. It ends each of them in order after that time,
    /// which shows that it is there; so this has to be well below `lost_after`.
    pub watch: Duration,
    /// How often the Secrets with credentials are looked for.
    pub secrets: Duration,
    /// How soon a Secret is looked for again of which nobody could say anything.
    pub failed_secrets: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lost_after: Duration::from_secs(30),
            watch: Duration::from_secs(20),
            secrets: Duration::from_secs(30),
            failed_secrets: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_healthy_watch_speaks_before_it_is_given_up() {
        let pace = Pace::default();
        assert!(pace.watch + super::super::stream::OPENING < pace.lost_after);
    }
}
