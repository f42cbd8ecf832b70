//! Whether clusters need a team.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether clusters need a team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MultiTenancy {
    /// How strict the platform is about teams.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = MultiTenancyMode::DEFAULT))]
    pub mode: Option<MultiTenancyMode>,
}

impl MultiTenancy {
    /// How strict the platform is.
    pub fn mode(&self) -> MultiTenancyMode {
        self.mode.unwrap_or(MultiTenancyMode::DEFAULT)
    }
}

/// How strict the platform is about teams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum MultiTenancyMode {
    /// Every cluster belongs to a team and lives in the team's namespace.
    Enforced,
    /// A cluster may belong to a team; one that does not lives in the default namespace.
    Optional,
    /// There are no teams; every cluster lives in the default namespace.
    Disabled,
}

impl MultiTenancyMode {
    /// The mode when nobody says.
    pub const DEFAULT: Self = Self::Disabled;
}
