//! Development workspaces inside a TenantCluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::given;

/// Development workspaces inside the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workspaces {
    /// Whether people may create workspaces in this cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required, extend("default" = false))]
    pub enabled: Option<bool>,
    /// Container image of workspaces that do not name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Self::DEFAULT_IMAGE))]
    pub default_image: Option<String>,
    /// How many workspaces there may be at a time; 0 means as many as you like.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Self::DEFAULT_MAX_WORKSPACES))]
    pub max_workspaces: Option<i32>,
    /// What all workspaces together may use. Left out, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_quota: Option<WorkspaceQuota>,
    /// How long an unused workspace is kept, for example `240h`; `0` keeps it for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Self::DEFAULT_AUTO_DELETE_AFTER))]
    pub auto_delete_after: Option<String>,
}

impl Workspaces {
    /// The image when the user does not say.
    pub const DEFAULT_IMAGE: &str = "ghcr.io/butlerdotdev/workspace-base:latest";
    /// The number of workspaces when the user does not say.
    pub const DEFAULT_MAX_WORKSPACES: i32 = 20;
    /// How long unused workspaces are kept when the user does not say.
    pub const DEFAULT_AUTO_DELETE_AFTER: &str = "720h";

    /// Whether people may create workspaces.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(false)
    }

    /// The image of workspaces that do not name one.
    pub fn default_image(&self) -> &str {
        given(&self.default_image).unwrap_or(Self::DEFAULT_IMAGE)
    }

    /// How many workspaces there may be; none means no limit.
    pub fn max_workspaces(&self) -> Option<i32> {
        Some(self.max_workspaces.unwrap_or(Self::DEFAULT_MAX_WORKSPACES)).filter(|max| *max != 0)
    }

    /// How long an unused workspace is kept, as a duration in Go's notation.
    pub fn auto_delete_after(&self) -> &str {
        given(&self.auto_delete_after).unwrap_or(Self::DEFAULT_AUTO_DELETE_AFTER)
    }
}

/// What all workspaces of a cluster may use together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceQuota {
    /// Processor cores, for example `16`, in quotes.
    #[serde(rename = "maxCPU", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "16"))]
    pub max_cpu: Option<String>,
    /// Memory, for example `32Gi`.
    #[serde(rename = "maxMemory", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "32Gi"))]
    pub max_memory: Option<String>,
    /// Persistent storage, for example `500Gi`.
    #[serde(rename = "maxStorage", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "500Gi"))]
    pub max_storage: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_workspaces_means_no_limit() {
        assert_eq!(Workspaces::default().max_workspaces(), Some(20));
        let unlimited = Workspaces { max_workspaces: Some(0), ..Default::default() };
        assert_eq!(unlimited.max_workspaces(), None);
    }
}
