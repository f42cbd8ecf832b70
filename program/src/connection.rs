//! One connection from its first byte to its last.

use std::convert::Infallible;
use std::error::Error;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, sleep, timeout};

use crate::Finishing;

/// Of a head that is not finished, or of a body until it is asked for.
const READ_BUFFER: usize = 64 << 10;

/// How long a connection may take to close after it was told to.
const FAREWELL: Duration = Duration::from_secs(1);

/// What bounds the time and memory of one connection.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// From the beginning to the head of the first request. 5 s: callers connect because they have something to ask.
    ///
    /// There is no such bound on the head of a later request: one that comes in drops holds no more than a
    /// connection on which nothing comes, and `idle` ends both.
    pub first_request: Duration,
    /// Without any request, until a connection is closed; at most twice that, because a connection is looked at only
    /// that often. 120 s: longer than the 90 s after which kube-apiserver closes an unused connection, so that it is
    /// the side that closes and never writes into a connection that we are closing.
    pub idle: Duration,
    /// What a refused caller still sends is read for so long.
    pub linger: Duration,
    /// A request line with its headers. 16 KiB: kube-apiserver sends a few hundred bytes. HTTP/1.1 also has at most
    /// 100 headers.
    pub head_bytes: u32,
    /// Requests at once on an HTTP/2 connection. 128: a caller with more opens another connection.
    pub streams: u32,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            first_request: Duration::from_secs(5),
            idle: Duration::from_secs(120),
            linger: Duration::from_secs(3),
            head_bytes: 16 << 10,
            streams: 128,
        }
    }
}

/// What has happened on a connection.
#[derive(Debug, Default)]
pub struct Activity {
    asked: AtomicU64,
    in_flight: AtomicUsize,
    is_refused: AtomicBool,
}

/// A request in flight, until it is dropped: with its answer, or, where that goes on for a while, with the end of it.
#[derive(Debug)]
pub struct Asking(Arc<Activity>);

impl Activity {
    /// Notes that a request has begun; it ends when the result is dropped.
    pub fn ask(self: &Arc<Self>) -> Asking {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Asking(self.clone())
    }

    /// Notes that a request was answered without reading its body.
    pub fn refuse(&self) {
        self.is_refused.store(true, Ordering::Relaxed);
    }

    /// Whether there was any request.
    pub fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > 0
    }

    /// Whether nothing is asked and nothing was since the last look.
    fn is_quiet(&self, seen: &mut u64) -> bool {
        let asked = self.asked.load(Ordering::Relaxed);
        let was_quiet = std::mem::replace(seen, asked) == asked;
        was_quiet && self.in_flight.load(Ordering::Relaxed) == 0
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
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
pub fn http1(limits: &ConnectionLimits) -> http1::Builder {
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
pub fn http2(limits: &ConnectionLimits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.head_bytes)
        .initial_stream_window_size(128 << 10)
        .initial_connection_window_size(1 << 20);
    builder
}

/// Speaks HTTP with a caller to the end of the connection: HTTP/2 if that was agreed on, else HTTP/1.1.
pub async fn speak<B, F>(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    is_http2: bool,
    activity: &Activity,
    limits: &ConnectionLimits,
    finishing: Finishing,
    answer: impl Fn(Request<Incoming>) -> F,
) -> Ended
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
{
    let stream = TokioIo::new(stream);
    let service = service_fn(|request| {
        let answer = answer(request);
        async { Ok::<_, Infallible>(answer.await) }
    });
    if is_http2 {
        let connection = http2(limits).serve_connection(stream, service);
        let close = |connection: Pin<&mut http2::Connection<_, _, _>>| connection.graceful_shutdown();
        return drive(connection, close, activity, limits, finishing).await;
    }
    let connection = http1(limits).serve_connection(stream, service);
    // Whoever has just connected while we end may ask once: the answer says that the connection closes.
    let close = |connection: Pin<&mut http1::Connection<_, _>>| {
        if activity.has_asked() {
            connection.graceful_shutdown();
        }
    };
    drive(connection, close, activity, limits, finishing).await
}

/// Runs a connection to its end: its caller's, a long silence, or ours. `close` makes it end after what it is doing.
pub async fn drive<C>(
    connection: C,
    close: impl Fn(Pin<&mut C>),
    activity: &Activity,
    limits: &ConnectionLimits,
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
pub async fn linger(
    stream: &mut (impl AsyncRead + Unpin),
    ended: Ended,
    activity: &Activity,
    limits: &ConnectionLimits,
) {
    if ended == Ended::Malformed || activity.is_refused.load(Ordering::Relaxed) {
        let mut rest = vec![0; 16 << 10];
        let all = async { while stream.read(&mut rest).await.is_ok_and(|count| count > 0) {} };
        let _ = timeout(limits.linger, all).await;
    }
}
