//! Takes reviews off the wire and puts answers back: TLS, limits, drain. What a review says is the [`Gate`]'s.
//!
//! In the order in which a request meets them: `admission_port` accepts connections, speaks TLS and HTTP on them and
//! ends them, `request` takes a request in and gives its answer, `body` reads what it carries within a budget, and
//! `refusal` is every answer that is not the gate's. Beside them [`PlainPort`] tells an operator and the kubelet how
//! we are.

mod admission_port;
mod body;
mod limits;
mod metrics;
mod refusal;
mod request;

pub use butler_program::{Drain, Drained, PlainPort, Readiness};
use bytes::Bytes;

pub use admission_port::AdmissionPort;
pub use limits::Limits;
pub use metrics::Metrics;

use crate::admission::Reply;
use crate::endpoint::Endpoint;

/// Judges a review. It is dropped half-way when its time is over or its caller has gone, and a panic in it costs the
/// one request.
pub trait Gate: Send + Sync + 'static {
    /// The answer to the review in this body, asked at this endpoint.
    fn review(&self, endpoint: Endpoint, body: Bytes) -> impl Future<Output = Reply> + Send;
}

impl<G: Gate> Gate for std::sync::Arc<G> {
    async fn review(&self, endpoint: Endpoint, body: Bytes) -> Reply {
        G::review(self, endpoint, body).await
    }
}
