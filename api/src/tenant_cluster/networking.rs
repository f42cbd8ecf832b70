//! The address ranges of a TenantCluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address_span::AddressSpan;
use crate::wire::given;

/// Address ranges of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Networking {
    /// Range that pods get their addresses from. It must not overlap `serviceCIDR` or the network of the
    /// machines. Left out, it is `10.244.0.0/16`.
    // Not a default of the schema, nor is the other: an update that leaves it out must keep what the cluster has.
    #[serde(rename = "podCIDR", skip_serializing_if = "Option::is_none")]
    pub pod_cidr: Option<String>,
    /// Range that Services get their addresses from. It must not overlap `podCIDR` or the network of the
    /// machines. Left out, it is `10.96.0.0/12`.
    #[serde(rename = "serviceCIDR", skip_serializing_if = "Option::is_none")]
    pub service_cidr: Option<String>,
    /// Addresses for Services of type LoadBalancer, chosen by hand. Left out, they are allocated from the
    /// provider's NetworkPools where the provider uses them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer_pool: Option<AddressSpan>,
    /// How many addresses to allocate for Services of type LoadBalancer, at least 1. Only read where the
    /// provider allocates addresses (`network.mode: ipam`). Left out, it is the provider's size.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub lb_pool_size: Option<i32>,
}

impl Networking {
    /// Where pods get their addresses from when the user does not say.
    pub const DEFAULT_POD_CIDR: &str = "10.244.0.0/16";
    /// Where Services get their addresses from when the user does not say.
    pub const DEFAULT_SERVICE_CIDR: &str = "10.96.0.0/12";

    /// The range of the pods.
    pub fn pod_cidr(&self) -> &str {
        given(&self.pod_cidr).unwrap_or(Self::DEFAULT_POD_CIDR)
    }

    /// The range of the Services.
    pub fn service_cidr(&self) -> &str {
        given(&self.service_cidr).unwrap_or(Self::DEFAULT_SERVICE_CIDR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_constant_defaults() {
        let none = Networking { pod_cidr: Some(String::new()), ..Default::default() };
        assert_eq!(none.pod_cidr(), "10.244.0.0/16");
        assert_eq!(none.service_cidr(), "10.96.0.0/12");
    }
}
