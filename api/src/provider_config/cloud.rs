//! Public clouds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::given;

/// Settings of Azure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Azure {
    /// Subscription that pays.
    #[serde(rename = "subscriptionID")]
    pub subscription_id: String,
    /// Resource group of everything that Butler creates.
    pub resource_group: String,
    /// Region, for example `westeurope`. Left out, it is that of the resource group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Virtual network of the machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vnet_name: Option<String>,
    /// Subnet of the machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_name: Option<String>,
    /// Size of the machines, for example `Standard_D4s_v3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vm_size: Option<String>,
    /// Image to boot from, as `publisher:offer:sku:version`.
    #[serde(rename = "imageURN", skip_serializing_if = "Option::is_none")]
    pub image_urn: Option<String>,
}

/// Settings of Amazon Web Services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Aws {
    /// Region, for example `eu-west-1`.
    pub region: String,
    /// Virtual private cloud of the machines. Left out, it is the region's default.
    #[serde(rename = "vpcID", skip_serializing_if = "Option::is_none")]
    pub vpc_id: Option<String>,
    /// Subnets of the machines. Left out, those of the virtual private cloud.
    #[serde(
        rename = "subnetIDs",
        default,
        deserialize_with = "crate::wire::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub subnet_ids: Vec<String>,
    /// Security groups of the machines. Left out, the default one.
    #[serde(
        rename = "securityGroupIDs",
        default,
        deserialize_with = "crate::wire::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub security_group_ids: Vec<String>,
}

/// Settings of Google Cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gcp {
    /// Project that pays.
    #[serde(rename = "projectID")]
    pub project_id: String,
    /// Region, for example `europe-west1`.
    pub region: String,
    /// Zone of the machines, for example `europe-west1-b`. Left out, it is the region's zone `a`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Network of the machines. Left out, it is the project's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Subnetwork of the machines. Left out, it is the network's default for the region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnetwork: Option<String>,
    /// Machine type, for example `n2-standard-4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_type: Option<String>,
    /// Project that owns the image. Left out, it is `projectID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_project: Option<String>,
    /// Image family; the newest image of it is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_family: Option<String>,
    /// Image to boot from. It beats `imageFamily`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Service account of the machines. Left out, it is the project's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<String>,
    /// Network tags of the machines.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

impl Gcp {
    /// The zone of the machines.
    pub fn zone(&self) -> String {
        given(&self.zone).map_or_else(|| format!("{}-a", self.region), str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_falls_back_to_the_first_of_the_region() {
        let mut gcp = Gcp { region: "europe-west1".into(), ..Default::default() };
        assert_eq!(gcp.zone(), "europe-west1-a");
        gcp.zone = Some("europe-west1-d".into());
        assert_eq!(gcp.zone(), "europe-west1-d");
    }
}
