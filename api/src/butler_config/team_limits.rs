//! Limits of teams that set none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// Limits of teams, for each limit that a team does not set itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamLimits {
    /// How many clusters a team may have, at least 1. A Team calls it `maxClusters` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_clusters: Option<i32>,
    /// How many workers one cluster may have, at least 1. A Team calls it `maxNodesPerCluster`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_workers_per_cluster: Option<i32>,
    /// Processor cores of all workers together. A Team calls it `maxCPUCores`.
    #[serde(rename = "maxTotalCPU", skip_serializing_if = "Option::is_none")]
    pub max_total_cpu: Option<Quantity>,
    /// Memory of all workers together. A Team calls it `maxMemory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_memory: Option<Quantity>,
    /// Disk space of all workers together. A Team calls it `maxStorage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_storage: Option<Quantity>,
}
