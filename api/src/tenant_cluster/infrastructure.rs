//! What one TenantCluster needs different from its provider.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the provider that one cluster needs different. A field that is left out keeps the value of the
/// ProviderConfig.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InfrastructureOverride {
    /// For clusters on Harvester.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harvester: Option<HarvesterOverride>,
    /// For clusters on Nutanix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nutanix: Option<NutanixOverride>,
    /// For clusters on Proxmox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxmox: Option<ProxmoxOverride>,
    /// For clusters on Google Cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<GcpOverride>,
}

/// What differs on Harvester.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HarvesterOverride {
    /// Namespace of the virtual machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Network of the virtual machines, as `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_name: Option<String>,
    /// Image to boot from, as `namespace/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_name: Option<String>,
}

/// What differs on Nutanix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NutanixOverride {
    /// Prism Element cluster that the virtual machines run on.
    #[serde(rename = "clusterUUID", skip_serializing_if = "Option::is_none")]
    pub cluster_uuid: Option<String>,
    /// Subnet of the virtual machines.
    #[serde(rename = "subnetUUID", skip_serializing_if = "Option::is_none")]
    pub subnet_uuid: Option<String>,
    /// Image to boot from.
    #[serde(rename = "imageUUID", skip_serializing_if = "Option::is_none")]
    pub image_uuid: Option<String>,
    /// Storage container of the disks.
    #[serde(rename = "storageContainerUUID", skip_serializing_if = "Option::is_none")]
    pub storage_container_uuid: Option<String>,
}

/// What differs on Proxmox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProxmoxOverride {
    /// Proxmox node that the virtual machines run on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Storage of the disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
    /// Number of the template to clone.
    #[serde(rename = "templateID", default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::plain_integer")]
    pub template_id: Option<i64>,
}

/// What differs on Google Cloud.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcpOverride {
    /// Zone of the virtual machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Machine type, for example `n2-standard-4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_type: Option<String>,
    /// Image to boot from. It beats `imageFamily`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Image family; the newest image of it is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_family: Option<String>,
    /// Subnetwork of the virtual machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnetwork: Option<String>,
}
