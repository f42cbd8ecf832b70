//! Delays between attempts.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Delays that double from the first to the last. Each is shortened by chance, by up to a half, so that what failed
/// together does not come back together.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    last: Duration,
    tries: u32,
}

/// From a quarter of a second to eight seconds: for watches, without which a program knows nothing new, so the last of
/// them stays short.
impl Default for Backoff {
    fn default() -> Self {
        Self::new(Duration::from_millis(250), Duration::from_secs(8))
    }
}

impl Backoff {
    /// Delays between these.
    pub const fn new(first: Duration, last: Duration) -> Self {
        Self { first, last, tries: 0 }
    }

    /// How long to wait this time.
    #[expect(clippy::should_implement_trait, reason = "it never ends, and nobody iterates over it")]
    pub fn next(&mut self) -> Duration {
        let delay = self.first.saturating_mul(2_u32.saturating_pow(self.tries)).min(self.last);
        self.tries = self.tries.saturating_add(1);
        shortened(delay, 50)
    }

    /// Begins anew.
    pub fn reset(&mut self) {
        self.tries = 0;
    }

    /// How many delays there were since the last reset.
    pub const fn tries(&self) -> u32 {
        self.tries
    }
}

/// The delay without a part of it, by chance, of up to that many per cent.
pub fn shortened(delay: Duration, percent: u32) -> Duration {
    let chance = RandomState::new().hash_one(delay) % u64::from(percent.clamp(1, 100));
    delay * u32::try_from(100 - chance).unwrap_or(100) / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_eight_seconds_and_begin_anew() {
        let mut backoff = Backoff::default();
        let delays: Vec<Duration> = (0..200).map(|_| backoff.next()).collect();
        assert!(delays[0] <= Duration::from_millis(250) && delays[0] > Duration::from_millis(120));
        assert!(delays[19] <= Duration::from_secs(8) && delays[19] > Duration::from_secs(4));
        assert!(delays[199] <= Duration::from_secs(8) && delays[199] > Duration::from_secs(4));
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(250));
    }
}
