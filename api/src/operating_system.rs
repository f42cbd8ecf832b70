//! Worker operating systems.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Operating system of worker machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OsType {
    /// Talos Linux.
    Talos,
    /// Rocky Linux.
    Rocky,
    /// Flatcar Container Linux.
    Flatcar,
    /// Bottlerocket.
    Bottlerocket,
    /// Kairos.
    Kairos,
}
