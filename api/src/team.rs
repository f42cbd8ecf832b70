//! Team: people who share clusters, and what they may use.

pub mod access;
pub mod cluster_defaults;
pub mod environment;
pub mod limits;
pub mod status;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::access::{TeamAccess, TeamGroup, TeamUser};
pub use self::cluster_defaults::ClusterDefaults;
pub use self::environment::{Environment, EnvironmentLimits};
pub use self::limits::{EffectiveLimits, ResourceLimits};
pub use self::status::{QuotaStatus, ResourceUsage, TeamPhase, TeamStatus};
use crate::contradiction::Contradiction;
use crate::reference::LocalRef;
use crate::wire::{given, is_default};

/// Who is in the team and what it may use. Nothing is required.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "Team",
    doc = "People who share clusters. A Team gets a namespace of its own name; its members create TenantClusters and \
           TenantAddons there, within the limits that the Team sets.",
    status = "TeamStatus",
    shortname = "tm",
    category = "butler",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Display Name", "type": "string", "jsonPath": ".spec.displayName",
                      "description": "Name for people."}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase",
                      "description": "Where the team is in its life."}"#,
    printcolumn = r#"{"name": "Namespace", "type": "string", "jsonPath": ".status.namespace",
                      "description": "Namespace of the team."}"#,
    printcolumn = r#"{"name": "Clusters", "type": "integer", "jsonPath": ".status.resourceUsage.clusters",
                      "description": "Clusters of the team."}"#,
    printcolumn = r#"{"name": "Nodes", "type": "integer", "jsonPath": ".status.resourceUsage.totalNodes",
                      "description": "Worker nodes of all clusters."}"#,
    printcolumn = r#"{"name": "CPU", "type": "string", "jsonPath": ".status.resourceUsage.totalCPU",
                      "description": "Processor cores of all workers."}"#,
    printcolumn = r#"{"name": "Memory", "type": "string", "jsonPath": ".status.resourceUsage.totalMemory",
                      "description": "Memory of all workers."}"#,
    printcolumn = r#"{"name": "Quota", "type": "string", "jsonPath": ".status.quotaStatus",
                      "description": "How close the team is to its limits."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "Members", "type": "integer", "jsonPath": ".status.memberCount",
                      "description": "Users and groups of the team.", "priority": 1}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.quotaMessage",
                      "description": "Which limit is close or reached.", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct TeamSpec {
    /// Name of the team for people, for example `Platform Engineering`. Left out, the object's name is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// What the team does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who is in the team.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub access: TeamAccess,
    /// What all clusters of the team may use together. A limit that is left out comes from the platform's
    /// `defaultTeamLimits`; without one there is no limit. Only platform administrators may change this
    /// block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_limits: Option<ResourceLimits>,
    /// ProviderConfig of clusters that do not name one, in `butler-system`. Left out, it is the platform's
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config_ref: Option<LocalRef>,
    /// Values for what a new cluster leaves out.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub cluster_defaults: ClusterDefaults,
    /// Stages such as `dev` and `prod` with limits of their own. Once a team has environments, each of its
    /// clusters must name one in the label `butler.butlerlabs.dev/environment`.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub environments: Vec<Environment>,
}

impl TeamSpec {
    /// The environment of that name.
    pub fn environment(&self, name: &str) -> Option<&Environment> {
        self.environments.iter().find(|environment| environment.name == name)
    }

    /// What a new cluster gets where it says nothing: the environment's values, else the team's.
    pub fn cluster_defaults(&self, environment: Option<&str>) -> ClusterDefaults {
        let narrower = environment.and_then(|name| self.environment(name));
        narrower.map_or_else(
            || self.cluster_defaults.clone(),
            |environment| environment.cluster_defaults.over(&self.cluster_defaults),
        )
    }

    /// Settings given under two names that disagree.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        self.resource_limits.as_ref().map_or_else(Vec::new, ResourceLimits::contradictions)
    }
}

impl Team {
    /// The namespace of the team: the one reported, else the team's own name.
    pub fn namespace(&self) -> &str {
        let reported = self.status.as_ref().and_then(|status| given(&status.namespace));
        reported.unwrap_or_else(|| self.metadata.name.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_team_lives_in_the_namespace_of_its_name_until_told_otherwise() {
        let mut team = Team::new("payments", TeamSpec::default());
        assert_eq!(team.namespace(), "payments");
        team.status = Some(TeamStatus { namespace: Some("payments-2".into()), ..Default::default() });
        assert_eq!(team.namespace(), "payments-2");
    }

    #[test]
    fn an_environment_overrides_the_teams_defaults_field_by_field_and_adds_its_addons() {
        let team: TeamSpec = serde_json::from_value(json!({
            "clusterDefaults": {"kubernetesVersion": "v1.31.4", "workerCount": 2, "defaultAddons": ["prometheus", "velero"]},
            "environments": [{"name": "prod", "clusterDefaults": {"workerCount": 5, "defaultAddons": ["velero", "istio"]}}]
        }))
        .expect("team");
        let defaults = team.cluster_defaults(Some("prod"));
        assert_eq!(defaults.kubernetes_version(), Some("v1.31.4"));
        assert_eq!(defaults.worker_count, Some(5));
        assert_eq!(defaults.default_addons, ["prometheus", "velero", "istio"]);
        assert_eq!(team.cluster_defaults(None).worker_count, Some(2));
        assert_eq!(team.cluster_defaults(Some("gone")).worker_count, Some(2));
    }
}
