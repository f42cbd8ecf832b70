//! IPAllocation: addresses that one cluster holds.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::network_pool::NetworkPoolSpec;
use crate::reference::{LocalRef, NsRef};
use crate::schema::{IP_LENGTH, is_ip};

/// Which addresses for which cluster.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "IPAllocation",
    plural = "ipallocations",
    namespaced,
    doc = "Addresses of a NetworkPool that one cluster holds. Butler creates and deletes IPAllocations with their \
           cluster, in the namespace of the pool.",
    status = "IPAllocationStatus",
    shortname = "ipa",
    category = "butler",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Pool", "type": "string", "jsonPath": ".spec.poolRef.name",
                      "description": "NetworkPool that the addresses come from."}"#,
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".spec.tenantClusterRef.name",
                      "description": "Cluster that holds the addresses."}"#,
    printcolumn = r#"{"name": "Type", "type": "string", "jsonPath": ".spec.type",
                      "description": "What the addresses are for."}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase",
                      "description": "Whether the addresses are held."}"#,
    printcolumn = r#"{"name": "Start", "type": "string", "jsonPath": ".status.startAddress",
                      "description": "First address."}"#,
    printcolumn = r#"{"name": "End", "type": "string", "jsonPath": ".status.endAddress",
                      "description": "Last address."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "Count", "type": "integer", "jsonPath": ".status.allocatedCount",
                      "description": "How many addresses are held.", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct IPAllocationSpec {
    /// NetworkPool that the addresses come from, in the same namespace.
    pub pool_ref: LocalRef,
    /// TenantCluster that the addresses are for.
    pub tenant_cluster_ref: NsRef,
    /// What the addresses are for.
    pub r#type: AllocationType,
    /// How many addresses, at least 1. Left out, the pool's default. Not read together with `pinnedRange`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<i32>,
    /// Exactly these addresses. Left out, Butler chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned_range: Option<PinnedRange>,
}

impl IPAllocationSpec {
    /// How many addresses to look for when none are pinned.
    pub fn count(&self, pool: &NetworkPoolSpec) -> i32 {
        self.count.unwrap_or_else(|| pool.tenant_allocation.defaults.count(self.r#type))
    }
}

/// What addresses are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllocationType {
    /// The cluster's nodes.
    Nodes,
    /// Services of type LoadBalancer in the cluster.
    Loadbalancer,
}

impl AllocationType {
    /// The name as written in an IPAllocation and in the label `butler.butlerlabs.dev/allocation-type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Loadbalancer => "loadbalancer",
        }
    }
}

/// Addresses chosen by hand, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PinnedRange {
    /// First address, for example `10.50.1.8`.
    #[schemars(extend("maxLength" = IP_LENGTH, "x-kubernetes-validations" = is_ip()))]
    pub start_address: String,
    /// Last address, for example `10.50.1.11`.
    #[schemars(extend("maxLength" = IP_LENGTH, "x-kubernetes-validations" = is_ip()))]
    pub end_address: String,
}

/// What Butler allocated. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IPAllocationStatus {
    /// Whether the addresses are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<AllocationPhase>,
    /// The aspects of the allocation's state; Ready sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The addresses as one CIDR, where they form one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
    /// First address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_address: Option<String>,
    /// Last address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_address: Option<String>,
    /// Every single address.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// How many addresses are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_count: Option<i32>,
    /// Generation of the object that this status was computed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the addresses were allocated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_at: Option<Time>,
    /// Which controller allocated them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_by: Option<String>,
    /// When the addresses were given back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Time>,
}

/// Whether addresses are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AllocationPhase {
    /// Not allocated yet.
    Pending,
    /// Held.
    Allocated,
    /// Given back.
    Released,
    /// Could not be allocated; the conditions say why.
    Failed,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_count_falls_back_to_the_pools() {
        let pool: NetworkPoolSpec = serde_json::from_value(json!({
            "cidr": "10.50.0.0/22", "tenantAllocation": {"defaults": {"lbPoolPerTenant": 4}}
        }))
        .expect("pool");
        let mut allocation: IPAllocationSpec = serde_json::from_value(json!({
            "poolRef": {"name": "vlan50"}, "tenantClusterRef": {"name": "orders", "namespace": "payments"},
            "type": "loadbalancer"
        }))
        .expect("allocation");
        assert_eq!(allocation.count(&pool), 4);
        allocation.r#type = AllocationType::Nodes;
        assert_eq!(allocation.count(&pool), 5);
        allocation.count = Some(7);
        assert_eq!(allocation.count(&pool), 7);
    }

    #[test]
    fn types_are_spelled_as_on_the_wire() {
        for kind in [AllocationType::Nodes, AllocationType::Loadbalancer] {
            assert_eq!(serde_json::to_value(kind).expect("type"), json!(kind.as_str()));
        }
    }
}
