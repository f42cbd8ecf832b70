//! How much of everything one process gives its callers.

use std::time::Duration;

use butler_program::ConnectionLimits;

/// What bounds time and memory. The defaults suit a webhook that a handful of kube-apiservers call.
///
/// Memory for callers is at most `body_bytes_in_total`, plus 64 KiB of unfinished head and the buffers of TLS for
/// each of `connections`.
#[derive(Clone, Debug)]
pub struct Limits {
    /// From an accepted connection to the end of its TLS handshake. 5 s: one loaded core signs in milliseconds, and
    /// a caller that needs longer has given up on its review.
    pub handshake: Duration,
    /// From there to the head of the first request; see [`ConnectionLimits`].
    pub first_request: Duration,
    /// Without any request, until a connection is closed; see [`ConnectionLimits`].
    pub idle: Duration,
    /// A request line with its headers; see [`ConnectionLimits`].
    pub head_bytes: u32,
    /// A body. 8 MiB: kube-apiserver takes objects of up to 3 MiB and an update carries the old one too, and their
    /// text in the review can be longer than what the user sent.
    pub body_bytes: usize,
    /// All bodies that are being read or judged. 64 MiB: `in_flight` bodies of full size would be thirty times that,
    /// and thousands of ordinary ones, of a few KiB, fit. Whoever does not fit is told to come again.
    pub body_bytes_in_total: usize,
    /// From a request's head to the end of its body. 3 s: leaves a second of `request` to judge it.
    pub body: Duration,
    /// From a request's head to its answer. 4 s: our registrations say 5 s, and an answer that says what was slow
    /// helps more than the API server's timeout.
    pub request: Duration,
    /// Requests being read or judged. 256: a replica judges thousands in a second, so more at once means that
    /// something is stuck, and waiting would only make every one of them late.
    pub in_flight: usize,
    /// Open connections. 512: five API servers that each keep 25 unused ones and have as many in use leave half.
    pub connections: usize,
    /// Requests at once on an HTTP/2 connection; see [`ConnectionLimits`].
    pub streams: u32,
}

impl Limits {
    /// Those of one connection.
    pub fn connection(&self) -> ConnectionLimits {
        ConnectionLimits {
            first_request: self.first_request,
            idle: self.idle,
            linger: self.body,
            head_bytes: self.head_bytes,
            streams: self.streams,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let ConnectionLimits { first_request, idle, linger, head_bytes, streams } =
            ConnectionLimits::default();
        Self {
            handshake: Duration::from_secs(5),
            first_request,
            idle,
            head_bytes,
            body_bytes: 8 << 20,
            body_bytes_in_total: 64 << 20,
            body: linger,
            request: Duration::from_secs(4),
            in_flight: 256,
            connections: 512,
            streams,
        }
    }
}
