//! Where logs, metrics and traces go, and what is collected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reference::NsRef;

/// Where logs, metrics and traces go, and what is collected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observability {
    /// Where everything goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
    /// What is collected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<Collection>,
}

/// Where logs, metrics and traces go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pipeline {
    /// TenantCluster that runs the pipeline. It is never enrolled itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<NsRef>,
    /// Where logs are sent, for example `http://vector.example.org:9000`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_endpoint: Option<String>,
    /// Where metrics are written, for example `http://prom.example.org/api/v1/write`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric_endpoint: Option<String>,
    /// Where traces are sent, for example `tempo.example.org:4317`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_endpoint: Option<String>,
}

/// What is collected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Collection {
    /// Agents that every cluster gets without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_enroll: Option<AutoEnroll>,
    /// Which logs are collected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs: Option<LogCollection>,
    /// Which metrics are collected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricCollection>,
}

/// Agents that every cluster gets without asking. What is left out is not installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoEnroll {
    /// Whether to install the Vector agent, which sends logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vector_agent: Option<bool>,
    /// Whether to install Prometheus, which sends metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<bool>,
    /// Whether to install the OpenTelemetry collector, which sends traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otel_collector: Option<bool>,
}

/// Which logs are collected. What is left out is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogCollection {
    /// Whether to collect what pods print.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_logs: Option<bool>,
    /// Whether to collect the journal of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journald: Option<bool>,
    /// Whether to collect Kubernetes events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_events: Option<bool>,
}

/// Which metrics are collected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricCollection {
    /// Whether to collect metrics. Left out, they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// How long metrics are kept in the cluster, for example `15d`. Left out, the addon's own default counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<String>,
}
