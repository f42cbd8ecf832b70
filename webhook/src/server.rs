//! Takes reviews off the wire and puts answers back: TLS, limits, drain. What a review says is the [`Gate`]'s.
//!
//! In the order in which a request meets them: `listen` accepts connections and ends them, `connection` speaks TLS
//! and HTTP on one of them, `request` takes a request in and gives its answer, `body` reads what it carries within
//! a `budget`, and `refusal` is every answer that is not the gate's. Beside them [`PlainPort`] tells an operator and
//! the kubelet how we are.

mod admission_port;
mod body;
mod budget;
mod connection;
mod limits;
mod listen;
mod metrics;
mod plain_port;
mod readiness;
mod refusal;
mod request;

use bytes::Bytes;

pub use admission_port::AdmissionPort;
pub use limits::Limits;
pub use listen::{Drain, Drained};
pub use metrics::Metrics;
pub use plain_port::PlainPort;
pub use readiness::Readiness;

use crate::admission::Reply;
use crate::endpoint::Endpoint;

/// Judges a review. It is dropped half-way when its time is over or its caller has gone, and a panic in it costs the
/// one request.
pub trait Gate: Send + Sync + 'static {
    /// The answer to the review in this body, asked at this endpoint.
    fn review(&self, endpoint: Endpoint, body: Bytes) -> impl Future<Output = Reply> + Send;
}
