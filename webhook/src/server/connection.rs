//! One connection from its first byte to its last.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, sleep, timeout};

use super::limits::Limits;
use super::listen::Finishing;

/// Of a head that is not finished, or of a body until it is asked for.
const READ_BUFFER: usize = 64 << 10;

/// How long a connection may take to close after it was told to.
const FAREWELL: Duration = Duration::from_secs(1);

/// What has happened on a connection.
#[derive(Debug, Default)]
pub(super) struct Activity {
    asked: AtomicU64,
    in_flight: AtomicUsize,
    is_refused: AtomicBool,
}

/// A request in flight, until it is dropped.
#[derive(Debug)]
pub(super) struct Asking<'a>(&'a Activity);

impl Activity {
    pub(super) fn ask(&self) -> Asking<'_> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Asking(self)
    }

    /// Notes that a request was answered without reading its body.
    pub(super) fn refuse(&self) {
        self.is_refused.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > 0
    }

    /// Whether nothing is asked and nothing was since the last look.
    fn is_quiet(&self, seen: &mut u64) -> bool {
        let asked = self.asked.load(Ordering::Relaxed);
        let was_quiet = std::mem::replace(seen, asked) == asked;
        was_quiet && self.in_flight.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// By its caller, or by us after its last answer.
    Finished,
    /// No first request came.
    NothingAsked,
    /// No more requests came, or their answers were not read.
    Idle,
    /// What came was not HTTP, or its head was too large.
    Malformed,
}

/// HTTP/1.1 within the limits. hyper's own timer for heads is off: it would also run while nothing is asked, and cost
/// every request an allocation. [`drive`] does both with one timer for the connection.
pub(super) fn http1(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_header_size(usize::try_from(limits.head_bytes).unwrap_or(READ_BUFFER))
        .max_buf_size(READ_BUFFER);
    builder
}

/// HTTP/2 within the limits. The windows are what a caller may send before we ask for more: twice the protocol's own
/// for a request, and eight of them for a connection.
pub(super) fn http2(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.head_bytes)
        .initial_stream_window_size(128 << 10)
        .initial_connection_window_size(1 << 20);
    builder
}

/// Runs a connection to its end: its caller's, a long silence, or ours. `close` makes it end after what it is doing.
pub(super) async fn drive<C>(
    connection: C,
    close: impl Fn(Pin<&mut C>),
    activity: &Activity,
    limits: &Limits,
    mut finishing: Finishing,
) -> Ended
where
    C: Future<Output = hyper::Result<()>>,
{
    let mut connection = pin!(connection);
    let mut look = pin!(sleep(limits.first_request));
    let mut finish = pin!(async move {
        // An error means that the listener has gone, which ends the connection too.
        let _ = finishing.wait_for(|is_finishing| *is_finishing).await;
    });
    let mut is_finishing = false;
    let mut seen = 0;
    loop {
        tokio::select! {
            biased;
            ended = connection.as_mut() => return how(ended),
            () = finish.as_mut(), if !is_finishing => {
                close(connection.as_mut());
                is_finishing = true;
            }
            () = look.as_mut() => {
                if activity.is_quiet(&mut seen) {
                    break;
                }
                look.as_mut().reset(Instant::now() + limits.idle);
            }
        }
    }
    close(connection.as_mut());
    // A caller who sends half a head or reads no answer does not let it close.
    let _ = timeout(FAREWELL, connection).await;
    if activity.has_asked() { Ended::Idle } else { Ended::NothingAsked }
}

fn how(ended: hyper::Result<()>) -> Ended {
    match ended {
        Err(error) if error.is_parse() => Ended::Malformed,
        Ok(()) | Err(_) => Ended::Finished,
    }
}

/// Reads and forgets what a refused caller still sends, as long as a body may take. To close without it resets the
/// connection, and a caller who cannot finish sending may never look at the answer that says why.
pub(super) async fn linger(
    stream: &mut (impl AsyncRead + Unpin),
    ended: Ended,
    activity: &Activity,
    limits: &Limits,
) {
    if ended == Ended::Malformed || activity.is_refused.load(Ordering::Relaxed) {
        let mut rest = vec![0; 16 << 10];
        let all = async { while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {} };
        let _ = timeout(limits.body, all).await;
    }
}
