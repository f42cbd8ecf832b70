//! What is counted of the service.

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Everything that is counted of the policy service. Labels are of few values, whoever calls.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    pub(super) connections: Gauge,
    pub(super) requests: Gauge,
    pub(super) pages: Gauge,
    pub(super) watches: Gauge,
    pub(super) bodies: Gauge,
    answers: Family<Labels, Counter>,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Labels {
    resource: &'static str,
    code: u16,
}

impl Metrics {
    /// Shows them under `butler_service`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("butler_service");
        let gauges = [
            ("connections_open", "Open connections of callers of the policy service", &self.connections),
            ("requests_in_flight", "Requests for objects that are being answered", &self.requests),
            ("pages_in_flight", "Requests for discovery and the like that are being answered", &self.pages),
            ("watches_open", "Watches that are open", &self.watches),
            ("body_bytes", "Bytes of bodies that are being read or judged", &self.bodies),
        ];
        for (name, help, gauge) in gauges {
            registry.register(name, help, gauge.clone());
        }
        registry.register(
            "answers",
            "Answers of the policy service, by resource and code",
            self.answers.clone(),
        );
    }

    /// `resource` is one that there is, or a word for all else.
    pub(super) fn answered(&self, resource: &'static str, code: StatusCode) {
        self.answers.get_or_create(&Labels { resource, code: code.as_u16() }).inc();
    }
}
