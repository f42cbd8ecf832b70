//! The port that kube-apiserver calls.

use std::sync::Arc;

use butler_program::connection::{self, Activity, Ended};
use butler_program::{Budget, Drain, Drained, Finishing, Share, listen};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::{Gate, Limits, Metrics, Readiness, request};

/// Serves a gate over TLS.
#[derive(Debug)]
pub struct AdmissionPort<G> {
    shared: Arc<Shared<G>>,
    tls: Arc<ServerConfig>,
    connections: Arc<Budget>,
    drain: Drain,
}

/// What every request needs.
#[derive(Debug)]
pub(super) struct Shared<G> {
    pub(super) gate: G,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
    pub(super) readiness: Arc<Readiness>,
    pub(super) in_flight: Arc<Budget>,
    pub(super) body_bytes: Arc<Budget>,
}

impl<G: Gate> AdmissionPort<G> {
    /// A port with these limits. The readiness is the one that is asked of [`PlainPort`](super::PlainPort).
    pub fn new(
        gate: G,
        tls: Arc<ServerConfig>,
        limits: Limits,
        drain: Drain,
        metrics: Metrics,
        readiness: Arc<Readiness>,
    ) -> Self {
        Self {
            tls,
            connections: Budget::new(limits.connections, metrics.connections.clone()),
            drain,
            shared: Arc::new(Shared {
                gate,
                in_flight: Budget::new(limits.in_flight, metrics.in_flight.clone()),
                body_bytes: Budget::new(limits.body_bytes_in_total, metrics.body_bytes.clone()),
                limits,
                metrics,
                readiness,
            }),
        }
    }

    /// Serves until `shutdown`, then drains: readiness turns false while reviews are still taken, no more connections
    /// are accepted, what is in flight is finished, and what is not finished in time is cut.
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Drained {
        let Self { shared, tls, connections, drain } = self;
        let tls = TlsAcceptor::from(tls);
        let leave = || shared.readiness.drain();
        let drained = listen(listener, drain, shutdown, leave, |stream, finishing| {
            let Some(place) = connections.take(1) else {
                shared.metrics.refused("too-many");
                return None;
            };
            Some(serve(shared.clone(), tls.clone(), stream, finishing, place))
        })
        .await;
        if drained.cut > 0 {
            shared.metrics.ended("drain", drained.cut as u64);
        }
        drained
    }
}

async fn serve<G: Gate>(
    shared: Arc<Shared<G>>,
    tls: TlsAcceptor,
    stream: TcpStream,
    finishing: Finishing,
    _place: Share,
) {
    // Answers are small and complete; there is nothing to wait for. A failure costs only time.
    let _ = stream.set_nodelay(true);
    let mut stream = match timeout(shared.limits.handshake, tls.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!("a TLS handshake failed: {error}");
            return shared.metrics.handshake_failed("failed");
        }
        Err(_) => return shared.metrics.handshake_failed("timeout"),
    };
    let activity = Arc::new(Activity::default());
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let limits = shared.limits.connection();
    let answer = |request| {
        let (shared, activity) = (shared.clone(), activity.clone());
        async move { request::answer(&shared, &activity, request).await }
    };
    let ended = connection::speak(&mut stream, is_http2, &activity, &limits, finishing, answer).await;
    match ended {
        Ended::Finished => {}
        Ended::NothingAsked => shared.metrics.ended("nothing-asked", 1),
        Ended::Idle => shared.metrics.ended("idle", 1),
        Ended::Malformed => shared.metrics.ended("malformed", 1),
    }
    connection::linger(stream.get_mut().0, ended, &activity, &limits).await;
}
