//! NetworkPool: addresses that clusters share.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address_span::AddressSpan;
use crate::ip_allocation::AllocationType;
use crate::reference::{LocalRef, NsRef};
use crate::schema::{CIDR_LENGTH, IP_LENGTH, is_cidr, is_ip, is_ip_or_empty};
use crate::wire::{given, is_default};

/// How long a list may be whose items have a rule of their own. The API server multiplies the cost of the
/// rule by the length and refuses the definition without a bound; an object this long would hardly fit into
/// it anyway.
const MAX_CHECKED_ITEMS: u32 = 16_384;

/// Which addresses there are and who may have them.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "NetworkPool",
    namespaced,
    doc = "Addresses that clusters share. Nodes and load balancers get theirs from here, through IPAllocations. \
           NetworkPools live in `butler-system`; ProviderConfigs name the ones they use.",
    status = "NetworkPoolStatus",
    shortname = "np",
    category = "butler",
    derive = "PartialEq",
    printcolumn = r#"{"name": "CIDR", "type": "string", "jsonPath": ".spec.cidr",
                      "description": "Range of the pool."}"#,
    printcolumn = r#"{"name": "Available", "type": "integer", "jsonPath": ".status.availableIPs",
                      "description": "Addresses that are free."}"#,
    printcolumn = r#"{"name": "Allocated", "type": "integer", "jsonPath": ".status.allocatedIPs",
                      "description": "Addresses that clusters hold."}"#,
    printcolumn = r#"{"name": "Total", "type": "integer", "jsonPath": ".status.totalIPs",
                      "description": "Addresses that clusters can have."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "Largest Block", "type": "integer", "jsonPath": ".status.largestFreeBlock",
                      "description": "Free addresses in a row.", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPoolSpec {
    /// Range of the pool, IPv4 or IPv6, for example `10.50.0.0/22`. It can grow later, but not shrink.
    #[schemars(extend("maxLength" = CIDR_LENGTH, "x-kubernetes-validations" = is_cidr()))]
    pub cidr: String,
    /// Parts of the range that no cluster may have, such as those of routers.
    #[schemars(length(max = MAX_CHECKED_ITEMS))]
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub reserved: Vec<ReservedRange>,
    /// Parts of the range that clusters may have. Left out, everything that is not reserved.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub tenant_allocation: TenantAllocation,
}

/// A part of the pool that no cluster may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservedRange {
    /// The part, inside the range of the pool, for example `10.50.0.0/27`.
    #[schemars(extend("maxLength" = CIDR_LENGTH, "x-kubernetes-validations" = is_cidr()))]
    pub cidr: String,
    /// What the addresses are kept for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Parts of the pool that clusters may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TenantAllocation {
    /// Parts that clusters may have, at most 16, in ascending order. Left out, they begin at `start` and stop
    /// at `end`.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub ranges: Vec<IpRange>,
    /// First address that clusters may have. The older way to give a single range; `ranges` is preferred and
    /// beats it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = IP_LENGTH, "x-kubernetes-validations" = is_ip_or_empty()))]
    pub start: Option<String>,
    /// Last address that clusters may have. The older way to give a single range; `ranges` is preferred and
    /// beats it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = IP_LENGTH, "x-kubernetes-validations" = is_ip_or_empty()))]
    pub end: Option<String>,
    /// How many addresses a cluster gets that does not say.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub defaults: AllocationDefaults,
}

impl TenantAllocation {
    /// The parts that clusters may have; none means everything that is not reserved. An end that was not
    /// given is an empty text, so that whoever parses the span hears about it.
    pub fn ranges(&self) -> Vec<AddressSpan> {
        if !self.ranges.is_empty() {
            let span = |range: &IpRange| AddressSpan { start: range.start.clone(), end: range.end.clone() };
            return self.ranges.iter().map(span).collect();
        }
        match (given(&self.start), given(&self.end)) {
            (None, None) => Vec::new(),
            (start, end) => {
                let text = |end: Option<&str>| end.unwrap_or_default().to_owned();
                vec![AddressSpan { start: text(start), end: text(end) }]
            }
        }
    }
}

/// Consecutive addresses, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpRange {
    /// First address.
    #[schemars(extend("maxLength" = IP_LENGTH, "x-kubernetes-validations" = is_ip()))]
    pub start: String,
    /// Last address.
    #[schemars(extend("maxLength" = IP_LENGTH, "x-kubernetes-validations" = is_ip()))]
    pub end: String,
}

/// How many addresses a cluster gets that does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocationDefaults {
    /// Addresses for nodes, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = Self::DEFAULT_NODES))]
    pub nodes_per_tenant: Option<i32>,
    /// Addresses for Services of type LoadBalancer, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = Self::DEFAULT_LOAD_BALANCERS))]
    pub lb_pool_per_tenant: Option<i32>,
}

impl AllocationDefaults {
    /// Addresses for nodes when nobody says.
    pub const DEFAULT_NODES: i32 = 5;
    /// Addresses for Services of type LoadBalancer when nobody says.
    pub const DEFAULT_LOAD_BALANCERS: i32 = 8;

    /// How many addresses an allocation of that type gets.
    pub fn count(&self, allocation: AllocationType) -> i32 {
        match allocation {
            AllocationType::Nodes => self.nodes_per_tenant.unwrap_or(Self::DEFAULT_NODES),
            AllocationType::Loadbalancer => self.lb_pool_per_tenant.unwrap_or(Self::DEFAULT_LOAD_BALANCERS),
        }
    }
}

/// What Butler observed about the pool. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPoolStatus {
    /// The aspects of the pool's state; Ready sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Addresses that clusters can have, free or not.
    #[serde(rename = "totalIPs", skip_serializing_if = "Option::is_none")]
    pub total_ips: Option<i32>,
    /// Addresses that clusters hold.
    #[serde(rename = "allocatedIPs", skip_serializing_if = "Option::is_none")]
    pub allocated_ips: Option<i32>,
    /// Addresses that are free.
    #[serde(rename = "availableIPs", skip_serializing_if = "Option::is_none")]
    pub available_ips: Option<i32>,
    /// IPAllocations that hold addresses of the pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation_count: Option<i32>,
    /// How scattered the free addresses are, in per cent; 0 means in one piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub fragmentation_percent: Option<i32>,
    /// Free addresses in a row, which is the largest allocation that still fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_free_block: Option<i32>,
    /// Generation of the object that this status was computed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Addresses that the platform's own machines and Services use, by address.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = MAX_CHECKED_ITEMS),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["ip"])
    )]
    pub infrastructure_allocations: Vec<InfrastructureAllocation>,
    /// How many addresses the platform itself uses.
    #[serde(rename = "infrastructureConsumedIPs", skip_serializing_if = "Option::is_none")]
    pub infrastructure_consumed_ips: Option<i32>,
    /// Addresses in the range of the pool, reserved or not.
    #[serde(rename = "poolSizeIPs", skip_serializing_if = "Option::is_none")]
    pub pool_size_ips: Option<i32>,
    /// Addresses that no cluster may have.
    #[serde(rename = "reservedIPs", skip_serializing_if = "Option::is_none")]
    pub reserved_ips: Option<i32>,
    /// Addresses that are neither reserved nor for clusters.
    #[serde(rename = "unmanagedScopeIPs", skip_serializing_if = "Option::is_none")]
    pub unmanaged_scope_ips: Option<i32>,
    /// Parts of the range that are neither reserved nor for clusters.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub unmanaged_ranges: Vec<AddressSpan>,
}

/// An address that the platform itself uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureAllocation {
    /// The address.
    #[schemars(extend("maxLength" = IP_LENGTH, "x-kubernetes-validations" = is_ip()))]
    pub ip: String,
    /// How Butler learned that the address is in use.
    pub source: String,
    /// Machine that uses the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_ref: Option<NsRef>,
    /// Node that uses the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_ref: Option<LocalRef>,
    /// Service that uses the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_ref: Option<NsRef>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn allocation(value: Value) -> TenantAllocation {
        serde_json::from_value(value).expect("allocation")
    }

    #[test]
    fn ranges_beat_the_older_start_and_end() {
        let older = allocation(json!({"start": "10.0.0.1", "end": "10.0.0.9"}));
        assert_eq!(older.ranges(), [AddressSpan::parse("10.0.0.1-10.0.0.9")]);
        let both = allocation(json!({
            "start": "10.0.0.1", "end": "10.0.0.9", "ranges": [{"start": "10.0.1.1", "end": "10.0.1.9"}]
        }));
        assert_eq!(both.ranges(), [AddressSpan::parse("10.0.1.1-10.0.1.9")]);
        assert_eq!(allocation(json!({})).ranges(), []);
        let half = allocation(json!({"start": "10.0.0.1"})).ranges();
        assert_eq!(half, [AddressSpan { start: "10.0.0.1".into(), end: String::new() }]);
        assert!(half[0].range().is_err());
    }

    #[test]
    fn a_cluster_that_does_not_say_gets_the_pools_count() {
        let none = AllocationDefaults::default();
        assert_eq!(none.count(AllocationType::Nodes), 5);
        assert_eq!(none.count(AllocationType::Loadbalancer), 8);
    }
}
