//! What Butler reports about a Team.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// What Butler observed about the team. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamStatus {
    /// The aspects of the team's state: NamespaceReady, RBACReady, QuotaExceeded, and Ready, which sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Where the team is in its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<TeamPhase>,
    /// Namespace of the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Generation of the object that this status was computed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Clusters of the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_count: Option<i32>,
    /// Users and groups of the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member_count: Option<i32>,
    /// What the team's clusters use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_usage: Option<ResourceUsage>,
    /// How close the team is to its limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_status: Option<QuotaStatus>,
    /// Which limit is close or reached, and by how much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_message: Option<String>,
    /// The `metadata.uid` of the first QuotaLedger that the team had in `butler-system`, from when it was made. Should there be none
    /// any more, no cluster of the team can be created or grow until Butler has made it anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_ledger: Option<String>,
}

/// Where a team is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TeamPhase {
    /// Its namespace and roles are being set up.
    Pending,
    /// Its members can work.
    Ready,
    /// It is being deleted.
    Terminating,
    /// Something blocks it; the conditions say what.
    Failed,
}

/// How close a team is to its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum QuotaStatus {
    /// There is room.
    #[serde(rename = "OK")]
    Ok,
    /// A limit is close.
    Warning,
    /// A limit is exceeded, for example because it was lowered.
    Exceeded,
}

/// What the clusters of a team use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceUsage {
    /// Clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<i32>,
    /// Worker nodes of all clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_nodes: Option<i32>,
    /// Processor cores of all workers.
    #[serde(rename = "totalCPU", skip_serializing_if = "Option::is_none")]
    pub total_cpu: Option<Quantity>,
    /// Memory of all workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_memory: Option<Quantity>,
    /// Disk space of all workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_storage: Option<Quantity>,
    /// Clusters in per cent of the limit, 100 also when it is exceeded. Absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub cluster_utilization: Option<i32>,
    /// Nodes in per cent of the limit, 100 also when it is exceeded. Absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub node_utilization: Option<i32>,
    /// Processor cores in per cent of the limit, 100 also when it is exceeded. Absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub cpu_utilization: Option<i32>,
    /// Memory in per cent of the limit, 100 also when it is exceeded. Absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub memory_utilization: Option<i32>,
}
