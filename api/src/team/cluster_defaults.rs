//! What a new cluster of a Team gets where it says nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::given;

/// Values for what a new cluster leaves out. They are written into the cluster when it is created, so
/// changing them later leaves existing clusters as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDefaults {
    /// Kubernetes release, for example `v1.31.4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// Number of worker machines; 0 means no default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub worker_count: Option<i32>,
    /// Processor cores of each worker, at least 1.
    #[serde(rename = "workerCPU", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub worker_cpu: Option<i32>,
    /// Memory of each worker, in Gi, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub worker_memory_gi: Option<i32>,
    /// Disk of each worker, in Gi, at least 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10))]
    pub worker_disk_gi: Option<i32>,
    /// AddonDefinitions to install in every new cluster. Those of an environment come on top of the team's.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub default_addons: Vec<String>,
}

impl ClusterDefaults {
    /// The Kubernetes release.
    pub fn kubernetes_version(&self) -> Option<&str> {
        given(&self.kubernetes_version)
    }

    /// The number of workers; a cluster cannot have none, so 0 is no default.
    pub fn worker_count(&self) -> Option<i32> {
        self.worker_count.filter(|count| *count > 0)
    }

    /// These defaults, with what they leave out taken from `wider`. Addons add up, the wider ones first.
    pub fn over(&self, wider: &Self) -> Self {
        let mut default_addons = wider.default_addons.clone();
        let added = self.default_addons.iter().filter(|addon| !wider.default_addons.contains(addon));
        default_addons.extend(added.cloned());
        Self {
            kubernetes_version: self.kubernetes_version().or(wider.kubernetes_version()).map(str::to_owned),
            worker_count: self.worker_count().or(wider.worker_count()),
            worker_cpu: self.worker_cpu.or(wider.worker_cpu),
            worker_memory_gi: self.worker_memory_gi.or(wider.worker_memory_gi),
            worker_disk_gi: self.worker_disk_gi.or(wider.worker_disk_gi),
            default_addons,
        }
    }
}
