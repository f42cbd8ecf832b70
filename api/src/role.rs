//! Team roles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a member may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TeamRole {
    /// Manages the team.
    Admin,
    /// Manages clusters.
    Operator,
    /// The older spelling of operator.
    Member,
    /// Reads.
    Viewer,
}
