//! Who may use a provider, and how much of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reference::LocalRef;

/// Who may use the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderScope {
    /// Whether everybody or one team may use the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = ScopeType::DEFAULT))]
    pub r#type: Option<ScopeType>,
    /// The team that may use the provider. Scope `team` needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_ref: Option<LocalRef>,
}

impl ProviderScope {
    /// Whether everybody or one team may use the provider.
    pub fn scope_type(&self) -> ScopeType {
        self.r#type.unwrap_or(ScopeType::DEFAULT)
    }

    /// Whether clusters of that team may use the provider. One that is kept for a team without naming it is
    /// for nobody.
    pub fn admits(&self, team: Option<&str>) -> bool {
        match self.scope_type() {
            ScopeType::Platform => true,
            ScopeType::Team => self.team_ref.as_ref().is_some_and(|own| Some(own.name.as_str()) == team),
        }
    }
}

/// Whether everybody or one team may use a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScopeType {
    /// Every team.
    Platform,
    /// The team in `teamRef` only.
    Team,
}

impl ScopeType {
    /// The scope when nobody says.
    pub const DEFAULT: Self = Self::Platform;
}

/// What each team may use of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderLimits {
    /// How many clusters a team may have on the provider, at least 1. Left out, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_clusters_per_team: Option<i32>,
    /// How many workers a team may have on the provider, at least 1. Left out, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_nodes_per_team: Option<i32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_kept_for_a_team_admits_only_that_team() {
        assert!(ProviderScope::default().admits(None));
        let nobodys = ProviderScope { r#type: Some(ScopeType::Team), team_ref: None };
        assert!(!nobodys.admits(None));
        let teams = ProviderScope { team_ref: Some(LocalRef { name: "payments".into() }), ..nobodys };
        assert!(teams.admits(Some("payments")));
        assert!(!teams.admits(Some("orders")));
        assert!(!teams.admits(None));
    }
}
