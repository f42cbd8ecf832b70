//! The port that the kubelet and Prometheus ask: no TLS, no secrets, nothing that can be changed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::net::{TcpListener, TcpStream};

use crate::connection::{self, Activity};
use crate::{Budget, ConnectionLimits, Drain, Finishing, Readiness, Share, listen, text};

/// A kubelet and a few Prometheus servers; they keep one each.
const CONNECTIONS: usize = 64;

/// Whoever asks here asks again soon.
const DRAIN: Drain = Drain { notice: Duration::ZERO, grace: Duration::from_secs(1) };

/// Serves `/metrics`, `/livez` and `/readyz` over HTTP/1.1.
#[derive(Debug)]
pub struct PlainPort {
    registry: Arc<Registry>,
    readiness: Arc<Readiness>,
    limits: ConnectionLimits,
}

impl PlainPort {
    /// A port for these metrics and this readiness.
    pub fn new(registry: Arc<Registry>, readiness: Arc<Readiness>, limits: ConnectionLimits) -> Self {
        Self { registry, readiness, limits }
    }

    /// Serves until `shutdown`, which comes after all else has ended: until then somebody wants to see how it goes.
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let port = Arc::new(self);
        let connections = Budget::new(CONNECTIONS, Gauge::default());
        listen(
            listener,
            DRAIN,
            shutdown,
            || {},
            |stream, finishing| Some(port.clone().serve(stream, finishing, connections.take(1)?)),
        )
        .await;
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream, finishing: Finishing, _place: Share) {
        let activity = Arc::new(Activity::default());
        let service = service_fn(|request| {
            let _asking = activity.ask();
            std::future::ready(Ok::<_, Infallible>(self.answer(&request)))
        });
        let connection = connection::http1(&self.limits).serve_connection(TokioIo::new(&mut stream), service);
        let close = http1::Connection::graceful_shutdown;
        let ended = connection::drive(connection, close, &activity, &self.limits, finishing).await;
        connection::linger(&mut stream, ended, &activity, &self.limits).await;
    }

    fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if !matches!(path, "/metrics" | "/livez" | "/readyz") {
            let line = "nothing is served at this path; there are `/metrics`, `/livez` and `/readyz`";
            return text(StatusCode::NOT_FOUND, line.to_owned());
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response =
                text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are served at this path".to_owned());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/metrics" => self.metrics(),
            "/readyz" => self.ready(),
            _ => text(StatusCode::OK, "ok".to_owned()),
        }
    }

    fn ready(&self) -> Response<Full<Bytes>> {
        let (is_ready, lines) = self.readiness.report();
        let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        text(status, lines.trim_end().to_owned())
    }

    fn metrics(&self) -> Response<Full<Bytes>> {
        let mut lines = String::new();
        if prometheus_client::encoding::text::encode(&mut lines, &self.registry).is_err() {
            return text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the metrics cannot be written as text".to_owned(),
            );
        }
        let mut response = Response::new(Full::from(lines));
        let format = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, format);
        response
    }
}
