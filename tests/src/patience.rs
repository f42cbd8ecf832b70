//! Waiting for something to be so.

use std::time::{Duration, Instant};

/// How long anything may take on a busy machine before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something is so.
///
/// # Panics
/// When it is not so in time, as a test should.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_so().await {
        assert!(started.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
