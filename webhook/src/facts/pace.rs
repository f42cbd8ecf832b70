//! How fast things happen.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

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

/// Delays that grow from a quarter of a second to eight seconds. While the API server is away everything is denied, so
/// the last of them stays short. Each is shortened by chance, so that watches that failed together do not come back
/// together.
#[derive(Debug, Default)]
pub(super) struct Backoff(u32);

impl Backoff {
    pub(super) fn next(&mut self) -> Duration {
        let chance = RandomState::new().hash_one(self.0) % 50;
        let delay = Duration::from_millis(250) * 2_u32.pow(self.0);
        self.0 = (self.0 + 1).min(5);
        delay * u32::try_from(100 - chance).unwrap_or(100) / 100
    }

    pub(super) fn reset(&mut self) {
        self.0 = 0;
    }
}

/// What goes on failing is said once a minute.
const QUIET: Duration = Duration::from_secs(60);

/// Whether a failure is worth a line in the log.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    said: Option<(&'static str, Instant)>,
}

impl Complaints {
    pub(super) fn is_news(&mut self, label: &'static str, now: Instant) -> bool {
        let is_news = self
            .said
            .is_none_or(|(last, when)| last != label || now.saturating_duration_since(when) >= QUIET);
        if is_news {
            self.said = Some((label, now));
        }
        is_news
    }

    /// All is well again. Says whether anybody was told otherwise.
    pub(super) fn settle(&mut self) -> bool {
        self.said.take().is_some()
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

    #[test]
    fn delays_grow_to_eight_seconds_and_begin_anew() {
        let mut backoff = Backoff::default();
        let delays: Vec<Duration> = (0..20).map(|_| backoff.next()).collect();
        assert!(delays[0] <= Duration::from_millis(250) && delays[0] > Duration::from_millis(120));
        assert!(delays[19] <= Duration::from_secs(8) && delays[19] > Duration::from_secs(4));
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(250));
    }

    #[test]
    fn the_same_failure_is_said_once_a_minute_and_another_at_once() {
        let (mut complaints, start) = (Complaints::default(), Instant::now());
        let mut is_news = |label, seconds| complaints.is_news(label, start + Duration::from_secs(seconds));
        assert!(is_news("Unreachable", 0) && !is_news("Unreachable", 59) && is_news("Unreachable", 60));
        assert!(is_news("Forbidden", 61) && !is_news("Forbidden", 62));
        assert!(complaints.settle() && !complaints.settle());
    }
}
