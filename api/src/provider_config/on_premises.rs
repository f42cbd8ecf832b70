//! Infrastructure of one's own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::given;

/// Settings of Harvester.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Harvester {
    /// Address of Harvester's API, for example `https://harvester.example.org:6443`. Left out, it is the one
    /// in the kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Namespace of the virtual machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Self::DEFAULT_NAMESPACE))]
    pub namespace: Option<String>,
    /// Network of the virtual machines, as `namespace/name`.
    #[schemars(regex(pattern = "^[a-z0-9-]+/[a-z0-9-]+$"))]
    pub network_name: String,
    /// Image to boot from, as `namespace/name`. Left out, clusters must name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_name: Option<String>,
    /// Storage class of the disks. Left out, it is the image's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
}

impl Harvester {
    /// Where virtual machines go when nobody says.
    pub const DEFAULT_NAMESPACE: &str = "default";

    /// The namespace of the virtual machines.
    pub fn namespace(&self) -> &str {
        given(&self.namespace).unwrap_or(Self::DEFAULT_NAMESPACE)
    }
}

/// Settings of Nutanix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Nutanix {
    /// Address of Prism Central, beginning with `http://` or `https://`.
    #[schemars(regex(pattern = crate::schema::HTTP_URL))]
    pub endpoint: String,
    /// Port of Prism Central.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Self::DEFAULT_PORT))]
    pub port: Option<i32>,
    /// Whether to accept any certificate from Prism Central.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub insecure: Option<bool>,
    /// Prism Element cluster that the virtual machines run on.
    #[serde(rename = "clusterUUID")]
    pub cluster_uuid: String,
    /// Subnet of the virtual machines.
    #[serde(rename = "subnetUUID")]
    pub subnet_uuid: String,
    /// Image to boot from. Left out, clusters must name one.
    #[serde(rename = "imageUUID", skip_serializing_if = "Option::is_none")]
    pub image_uuid: Option<String>,
    /// Storage container of the disks. Left out, it is the cluster's default.
    #[serde(rename = "storageContainerUUID", skip_serializing_if = "Option::is_none")]
    pub storage_container_uuid: Option<String>,
}

impl Nutanix {
    /// The port of Prism Central when nobody says.
    pub const DEFAULT_PORT: i32 = 9440;

    /// The port of Prism Central.
    pub fn port(&self) -> i32 {
        self.port.unwrap_or(Self::DEFAULT_PORT)
    }

    /// Whether any certificate is accepted.
    pub fn insecure(&self) -> bool {
        self.insecure.unwrap_or(false)
    }
}

/// Settings of Proxmox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Proxmox {
    /// Address of Proxmox, beginning with `http://` or `https://`.
    #[schemars(regex(pattern = crate::schema::HTTP_URL))]
    pub endpoint: String,
    /// Whether to accept any certificate from Proxmox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub insecure: Option<bool>,
    /// Proxmox nodes that the virtual machines run on, at least one.
    #[schemars(length(min = 1))]
    pub nodes: Vec<String>,
    /// Storage of the disks.
    pub storage: String,
    /// Number of the template to clone. Left out, clusters must name one.
    #[serde(rename = "templateID", skip_serializing_if = "Option::is_none")]
    pub template_id: Option<i32>,
    /// Numbers that new virtual machines may get. Left out, any that is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vmid_range: Option<VmidRange>,
}

impl Proxmox {
    /// Whether any certificate is accepted.
    pub fn insecure(&self) -> bool {
        self.insecure.unwrap_or(false)
    }
}

/// Numbers of virtual machines, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VmidRange {
    /// First number, at least 100.
    #[schemars(range(min = 100))]
    pub start: i32,
    /// Last number, at least 100.
    #[schemars(range(min = 100))]
    pub end: i32,
}

/// Settings of machines that are containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Local {
    /// Image of the containers. Left out, it is `kindest/node` with the cluster's Kubernetes release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind_node_image: Option<String>,
}

impl Local {
    /// The image of the containers for a Kubernetes release.
    pub fn node_image(&self, kubernetes_version: &str) -> String {
        given(&self.kind_node_image)
            .map_or_else(|| format!("kindest/node:{kubernetes_version}"), str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_machine_runs_the_release_of_its_cluster() {
        assert_eq!(Local::default().node_image("v1.31.4"), "kindest/node:v1.31.4");
        let own = Local { kind_node_image: Some("registry.example.org/node:1".into()) };
        assert_eq!(own.node_image("v1.31.4"), "registry.example.org/node:1");
    }
}
