//! How fast to try again, and how often to correct somebody who keeps changing the same thing.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use crate::registration::Registration;

/// Delays that grow from a quarter of a second to half a minute. Each is shortened by chance, so that replicas
/// that failed together do not come back together.
#[derive(Debug, Default)]
pub(crate) struct Backoff(u32);

impl Backoff {
    pub(crate) fn next(&mut self) -> Duration {
        let chance = RandomState::new().hash_one(self.0) % 50;
        let delay = Duration::from_millis(250) * 2_u32.pow(self.0);
        self.0 = (self.0 + 1).min(7);
        delay * u32::try_from(100 - chance).unwrap_or(100) / 100
    }

    pub(crate) fn reset(&mut self) {
        self.0 = 0;
    }
}

/// Corrections of one registration come quickly a few times, then once per pause: a tool that keeps writing
/// another bundle must not turn us into a second one.
#[derive(Debug, Default)]
pub(crate) struct Corrections(HashMap<Registration, (String, u32, Instant)>);

const QUICK: u32 = 5;
const PAUSE: Duration = Duration::from_secs(15);

impl Corrections {
    /// How long to wait before this bundle may be written again; nothing if it is another than the last one.
    pub(crate) fn wait(&self, registration: &Registration, bundle: &str, now: Instant) -> Option<Duration> {
        let (last, count, when) = self.0.get(registration)?;
        let quiet_until = *when + PAUSE;
        (last == bundle && *count >= QUICK && now < quiet_until).then(|| quiet_until - now)
    }

    pub(crate) fn note(&mut self, registration: &Registration, bundle: &str, now: Instant) {
        let entry = self.0.entry(registration.clone()).or_insert_with(|| (bundle.to_owned(), 0, now));
        let is_fresh = entry.0 != bundle || now.saturating_duration_since(entry.2) > 4 * PAUSE;
        *entry = (bundle.to_owned(), if is_fresh { 1 } else { entry.1.saturating_add(1) }, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_half_a_minute_and_begin_anew() {
        let mut backoff = Backoff::default();
        let delays: Vec<Duration> = (0..20).map(|_| backoff.next()).collect();
        assert!(delays[0] <= Duration::from_millis(250) && delays[0] > Duration::from_millis(120));
        assert!(delays[19] <= Duration::from_secs(32) && delays[19] > Duration::from_secs(15));
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(250));
    }

    #[test]
    fn a_fight_slows_down_and_a_new_bundle_does_not_wait() {
        let (registration, start) = (Registration::validating("one"), Instant::now());
        let mut corrections = Corrections::default();
        for _ in 0..QUICK {
            assert_eq!(corrections.wait(&registration, "a", start), None);
            corrections.note(&registration, "a", start);
        }
        assert_eq!(corrections.wait(&registration, "a", start), Some(PAUSE));
        assert_eq!(corrections.wait(&registration, "b", start), None);
        assert_eq!(corrections.wait(&Registration::mutating("one"), "a", start), None);
        assert_eq!(corrections.wait(&registration, "a", start + PAUSE), None);
        corrections.note(&registration, "a", start + PAUSE);
        assert_eq!(corrections.wait(&registration, "a", start + PAUSE), Some(PAUSE));
        corrections.note(&registration, "a", start + 9 * PAUSE);
        assert_eq!(corrections.wait(&registration, "a", start + 9 * PAUSE), None);
    }
}
