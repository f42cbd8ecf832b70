//! Where machines and load balancers get their addresses from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::is_default;

/// Where machines and load balancers get their addresses from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderNetwork {
    /// Who hands out addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = NetworkMode::DEFAULT))]
    pub mode: Option<NetworkMode>,
    /// NetworkPools to allocate from, in `butler-system`, each listed once. Mode `ipam` needs at least one.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub pool_refs: Vec<PoolRef>,
    /// Subnet of the machines, as people call it, for example `VLAN 50`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet: Option<String>,
    /// Address of the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Addresses of the name servers, in order of preference.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = crate::schema::MOST_SERVERS))]
    pub dns_servers: Vec<String>,
    /// Time servers of workers whose cluster does not name any, in order of preference.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = crate::schema::MOST_SERVERS))]
    pub time_servers: Vec<String>,
    /// How many addresses a cluster gets for Services of type LoadBalancer.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub load_balancer: LoadBalancerAddresses,
    /// How many addresses one cluster may hold. Left out, there is no limit.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub quota_per_tenant: AddressQuota,
}

impl ProviderNetwork {
    /// Who hands out addresses.
    pub fn mode(&self) -> NetworkMode {
        self.mode.unwrap_or(NetworkMode::DEFAULT)
    }

    /// The pools to try, in the order in which to try them.
    pub fn pools(&self) -> Vec<&PoolRef> {
        let mut pools: Vec<&PoolRef> = self.pool_refs.iter().collect();
        pools.sort_by_key(|pool| pool.priority());
        pools
    }

    /// How many load balancer addresses a new cluster gets, given what it asked for. Never more than its
    /// quota.
    pub fn load_balancer_addresses(&self, asked: Option<i32>) -> i32 {
        let size = asked.unwrap_or_else(|| self.load_balancer.first_size());
        self.quota_per_tenant.max_load_balancer_ips.map_or(size, |quota| size.min(quota))
    }
}

/// Who hands out addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Butler, from NetworkPools. Not for public clouds.
    Ipam,
    /// The infrastructure itself.
    Cloud,
}

impl NetworkMode {
    /// The mode when nobody says.
    pub const DEFAULT: Self = Self::Cloud;
}

/// A NetworkPool to allocate from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolRef {
    /// Name of the NetworkPool.
    pub name: String,
    /// When the pool is tried: lower numbers first, equal ones in the order of the list. Left out, it is 0.
    // Not a default of the schema: inside a list it would make `kubectl apply` of the same file report a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
}

impl PoolRef {
    /// When the pool is tried, lower numbers first.
    pub fn priority(&self) -> i32 {
        self.priority.unwrap_or(0)
    }
}

/// How many addresses a cluster gets for Services of type LoadBalancer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerAddresses {
    /// How many addresses a cluster gets at once, with allocation `static`; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = Self::DEFAULT_POOL_SIZE))]
    pub default_pool_size: Option<i32>,
    /// Whether a cluster's addresses grow with its needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = AllocationMode::DEFAULT))]
    pub allocation_mode: Option<AllocationMode>,
    /// How many addresses a cluster starts with, with allocation `elastic`; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = Self::DEFAULT_INITIAL_POOL_SIZE))]
    pub initial_pool_size: Option<i32>,
    /// How many addresses are added when a cluster runs out, with allocation `elastic`; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = Self::DEFAULT_GROWTH_INCREMENT))]
    pub growth_increment: Option<i32>,
}

impl LoadBalancerAddresses {
    /// Addresses of a cluster with static allocation when nobody says.
    pub const DEFAULT_POOL_SIZE: i32 = 8;
    /// Addresses that a cluster with elastic allocation starts with when nobody says.
    pub const DEFAULT_INITIAL_POOL_SIZE: i32 = 2;
    /// Addresses that are added at a time when nobody says.
    pub const DEFAULT_GROWTH_INCREMENT: i32 = 2;

    /// Whether a cluster's addresses grow with its needs.
    pub fn allocation_mode(&self) -> AllocationMode {
        self.allocation_mode.unwrap_or(AllocationMode::DEFAULT)
    }

    /// How many addresses are added at a time.
    pub fn growth_increment(&self) -> i32 {
        self.growth_increment.unwrap_or(Self::DEFAULT_GROWTH_INCREMENT)
    }

    fn first_size(&self) -> i32 {
        match self.allocation_mode() {
            AllocationMode::Static => self.default_pool_size.unwrap_or(Self::DEFAULT_POOL_SIZE),
            AllocationMode::Elastic => self.initial_pool_size.unwrap_or(Self::DEFAULT_INITIAL_POOL_SIZE),
        }
    }
}

/// Whether a cluster's addresses grow with its needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllocationMode {
    /// A cluster gets all its addresses at once.
    Static,
    /// A cluster starts small and gets more when it runs out.
    Elastic,
}

impl AllocationMode {
    /// The mode when nobody says.
    pub const DEFAULT: Self = Self::Static;
}

/// How many addresses one cluster may hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddressQuota {
    /// Addresses of nodes, at least 1.
    #[serde(rename = "maxNodeIPs", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_node_ips: Option<i32>,
    /// Addresses for Services of type LoadBalancer, at least 1.
    #[serde(rename = "maxLoadBalancerIPs", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_load_balancer_ips: Option<i32>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn network(value: Value) -> ProviderNetwork {
        serde_json::from_value(value).expect("network")
    }

    #[test]
    fn load_balancer_addresses_follow_the_cluster_then_the_provider_within_the_quota() {
        let none = network(json!({}));
        assert_eq!(none.load_balancer_addresses(None), 8);
        assert_eq!(none.load_balancer_addresses(Some(4)), 4);
        let elastic = network(json!({"loadBalancer": {"allocationMode": "elastic", "defaultPoolSize": 16}}));
        assert_eq!(elastic.load_balancer_addresses(None), 2);
        let fixed = network(json!({
            "loadBalancer": {"defaultPoolSize": 16},
            "quotaPerTenant": {"maxLoadBalancerIPs": 10}
        }));
        assert_eq!(fixed.load_balancer_addresses(None), 10);
        assert_eq!(fixed.load_balancer_addresses(Some(12)), 10);
        assert_eq!(fixed.load_balancer_addresses(Some(3)), 3);
    }

    #[test]
    fn pools_are_tried_by_priority_then_in_the_order_of_the_list() {
        let network = network(json!({
            "poolRefs": [{"name": "c", "priority": 10}, {"name": "a"}, {"name": "b", "priority": 0}]
        }));
        let names: Vec<&str> = network.pools().into_iter().map(|pool| pool.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }
}
