//! Asking again what a busy API server put off.

use std::time::Duration;

use tokio::time::sleep;

use crate::{Backoff, Failure};

/// How often at most. Together the pauses stay below a second and a half, since somebody waits for the answer.
const TRIES: u32 = 5;
const FIRST: Duration = Duration::from_millis(50);
const LAST: Duration = Duration::from_millis(500);

/// Asks, and again after a longer and longer while as long as the API server only puts the question off. The caller says
/// how long that may take together, and asks only what may be asked twice.
///
/// # Errors
/// Whatever else the API server says, and that it put the question off too often.
pub async fn patiently<T, F>(mut ask: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut backoff = Backoff::new(FIRST, LAST);
    loop {
        match ask().await {
            Err(failure) if failure.is_put_off() && backoff.tries() < TRIES => sleep(backoff.next()).await,
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use kube::core::Status;
    use tokio::time::Instant;

    use super::*;

    /// How often it was asked, and what the last answer was, of a server that says this many times that code first.
    async fn asked(code: u16, times: u32) -> (u32, Result<(), &'static str>) {
        let count = Cell::new(0);
        let answer = patiently(|| {
            count.set(count.get() + 1);
            let answer = if count.get() > times {
                Ok(())
            } else {
                Err(Failure::of_status(&Status::failure("no", "no").with_code(code)))
            };
            async move { answer }
        });
        let answer = answer.await.map_err(|failure| failure.label);
        (count.get(), answer)
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_is_put_off_is_asked_again_and_not_for_ever() {
        for code in [429, 503, 504] {
            assert_eq!(asked(code, 2).await, (3, Ok(())), "{code}");
        }
        for (code, label) in [(403, "Forbidden"), (404, "NotServed"), (409, "Conflict"), (500, "ServerError")]
        {
            assert_eq!(asked(code, 2).await, (1, Err(label)), "{code}");
        }
        let began = Instant::now();
        assert_eq!(asked(429, u32::MAX).await, (6, Err("TooManyRequests")));
        assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    }
}
