//! What is worth saying again.

use std::time::{Duration, Instant};

/// What goes on failing is said once a minute.
const QUIET: Duration = Duration::from_secs(60);

/// Whether a failure is worth a line in the log.
#[derive(Debug, Default)]
pub struct Complaints {
    said: Option<(&'static str, Instant)>,
}

impl Complaints {
    /// Whether this has to be said now.
    pub fn is_news(&mut self, label: &'static str, now: Instant) -> bool {
        let is_news = self
            .said
            .is_none_or(|(last, when)| last != label || now.saturating_duration_since(when) >= QUIET);
        if is_news {
            self.said = Some((label, now));
        }
        is_news
    }

    /// All is well again. Says whether anybody was told otherwise.
    pub fn settle(&mut self) -> bool {
        self.said.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_is_said_once_a_minute_and_another_at_once() {
        let (mut complaints, start) = (Complaints::default(), Instant::now());
        let mut is_news = |label, seconds| complaints.is_news(label, start + Duration::from_secs(seconds));
        assert!(is_news("Unreachable", 0) && !is_news("Unreachable", 59) && is_news("Unreachable", 60));
        assert!(is_news("Forbidden", 61) && !is_news("Forbidden", 62));
        assert!(complaints.settle() && !complaints.settle());
    }
}
