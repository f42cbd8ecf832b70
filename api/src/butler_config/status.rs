//! What Butler reports about the platform.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::butler_config::multi_tenancy::MultiTenancyMode;
use crate::exposure::ExposureMode;

/// What Butler observed about the platform. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ButlerConfigStatus {
    /// The aspects of the platform's state: Configured, NamespaceReady, and Ready, which sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Generation of the object that this status was computed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Teams on the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_count: Option<i32>,
    /// Clusters on the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_count: Option<i32>,
    /// Whether the Git host answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_provider: Option<GitProviderStatus>,
    /// How tenant API servers are reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_exposure_mode: Option<ExposureMode>,
    /// Whether clusters need a TCP proxy to reach their API server, which is so for Ingress and Gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_proxy_required: Option<bool>,
    /// What a change of the tenancy mode would bring about, for each mode that the platform is not in. Look here
    /// before changing it.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["mode"]))]
    pub other_modes: Vec<OtherMode>,
    /// How many clusters send their logs, metrics and traces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observability: Option<ObservabilityStatus>,
}

/// What a tenancy mode would bring about that the platform is not in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OtherMode {
    /// The mode.
    pub mode: MultiTenancyMode,
    /// Clusters that would be out of place: they run on, but cannot be changed until they are where that mode
    /// wants them.
    pub affected_clusters: i32,
    /// The first of them, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Whether the Git host answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitProviderStatus {
    /// Whether the last attempt to log in worked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected: Option<bool>,
    /// User that the credentials belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// When the credentials were last tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_validated: Option<Time>,
    /// Why logging in failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How many clusters send their logs, metrics and traces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityStatus {
    /// Whether the pipeline takes data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline_ready: Option<bool>,
    /// Clusters that are enrolled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enrolled_count: Option<i32>,
    /// Clusters that could be enrolled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_count: Option<i32>,
}
