//! What an operator sees of the transport.

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: u16,
}

/// Metrics of the admission port. Every label has a fixed set of values. A request that is answered by the gate only
/// moves gauges: how many there were is the gate's to count.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    pub(super) connections: Gauge,
    pub(super) in_flight: Gauge,
    pub(super) body_bytes: Gauge,
    refused: Family<Reason, Counter>,
    handshakes: Family<Reason, Counter>,
    ended: Family<Reason, Counter>,
    errors: Family<Code, Counter>,
    throttled: Family<Reason, Counter>,
    panics: Counter,
}

impl Metrics {
    /// Adds them to the registry of the program, as `butler_webhook_…`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("butler_webhook");
        registry.register("connections_open", "Open connections of callers", self.connections.clone());
        registry.register(
            "requests_in_flight",
            "Requests that are being read or judged",
            self.in_flight.clone(),
        );
        registry.register(
            "body_bytes",
            "Bytes of request bodies that are being read or judged",
            self.body_bytes.clone(),
        );
        registry.register(
            "connections_refused",
            "Connections that were closed as soon as they were accepted, by reason",
            self.refused.clone(),
        );
        registry.register(
            "tls_handshake_failures",
            "TLS handshakes that failed, by reason",
            self.handshakes.clone(),
        );
        registry.register(
            "connections_ended",
            "Connections that were ended although their caller had not closed them, by reason",
            self.ended.clone(),
        );
        registry.register("http_errors", "Requests that got no review, by status code", self.errors.clone());
        registry.register(
            "requests_throttled",
            "Requests that were told to come again, by what there was too much of",
            self.throttled.clone(),
        );
        registry.register(
            "panics",
            "Reviews that ended in a panic, each a defect of the webhook",
            self.panics.clone(),
        );
    }

    pub(super) fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }

    pub(super) fn handshake_failed(&self, reason: &'static str) {
        self.handshakes.get_or_create(&Reason { reason }).inc();
    }

    pub(super) fn ended(&self, reason: &'static str, connections: u64) {
        self.ended.get_or_create(&Reason { reason }).inc_by(connections);
    }

    pub(super) fn answered(&self, code: StatusCode) {
        self.errors.get_or_create(&Code { code: code.as_u16() }).inc();
    }

    pub(super) fn throttled(&self, reason: &'static str) {
        self.throttled.get_or_create(&Reason { reason }).inc();
    }

    pub(super) fn panicked(&self) {
        self.panics.inc();
    }
}
