//! Cluster phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a cluster is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ClusterPhase {
    /// Accepted.
    Pending,
    /// Machines are being made.
    Provisioning,
    /// Addons are being installed.
    Installing,
    /// Works.
    Ready,
    /// Changing.
    Updating,
    /// Going away.
    Deleting,
    /// Blocked.
    Failed,
}
