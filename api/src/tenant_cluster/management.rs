//! Who looks after a TenantCluster once it runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who looks after a running cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ManagementPolicy {
    /// How far Butler goes in keeping the cluster as described here.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = ManagementMode::DEFAULT))]
    pub mode: Option<ManagementMode>,
}

impl ManagementPolicy {
    /// How far Butler goes.
    pub fn mode(&self) -> ManagementMode {
        self.mode.unwrap_or(ManagementMode::DEFAULT)
    }
}

/// How far Butler goes in keeping a cluster as described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ManagementMode {
    /// Butler installs the addons and keeps them as described.
    Active,
    /// Butler reports what it finds and changes nothing inside the cluster.
    Observe,
    /// Butler hands the addons over to the GitOps tool in `addons.gitops` and leaves them alone.
    GitOps,
}

impl ManagementMode {
    /// The mode when the user does not say.
    pub const DEFAULT: Self = Self::Active;
}
