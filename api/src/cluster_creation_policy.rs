//! ClusterCreationPolicy: what users may choose when they create a cluster.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::provider_config::ProviderKind;
use crate::reference::LocalRef;

/// For whom the policy counts and what it settles.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ClusterCreationPolicy",
    doc = "What users may choose when they create a cluster: images, networks, infrastructure clusters and storage. \
           Where several policies settle the same option, the one with the narrowest scope counts.",
    status = "ClusterCreationPolicyStatus",
    shortname = "ccp",
    category = "butler",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Team", "type": "string", "jsonPath": ".spec.scope['team','teamAndEnvironment'].teamRef.name",
                      "description": "Team that the policy counts for."}"#,
    printcolumn = r#"{"name": "Env", "type": "string", "jsonPath": ".spec.scope.teamAndEnvironment.environmentName",
                      "description": "Environment that the policy counts for."}"#,
    printcolumn = r#"{"name": "Providers", "type": "string", "jsonPath": ".spec.targetProviders",
                      "description": "Providers that the policy counts for; none means all."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCreationPolicySpec {
    /// For whom the policy counts: exactly one of `platformWide`, `team` and `teamAndEnvironment`.
    pub scope: PolicyScope,
    /// Providers that the policy counts for. Left out or empty, all.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub target_providers: Vec<ProviderKind>,
    /// What the policy settles, by option: `image`, `network`, `cluster` or `storageContainer`.
    #[serde(
        default,
        deserialize_with = "crate::wire::or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub options: BTreeMap<String, OptionPolicy>,
}

impl ClusterCreationPolicySpec {
    /// Whether the policy counts on that provider.
    pub fn targets(&self, provider: ProviderKind) -> bool {
        self.target_providers.is_empty() || self.target_providers.contains(&provider)
    }
}

/// For whom a policy counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = exactly_one_scope()))]
pub struct PolicyScope {
    /// Everybody. Written as `platformWide: {}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform_wide: Option<PlatformWideScope>,
    /// One team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamScope>,
    /// One environment of one team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_and_environment: Option<TeamAndEnvironmentScope>,
}

fn exactly_one_scope() -> Value {
    json!([{
        "rule": "[has(self.platformWide), has(self.team), has(self.teamAndEnvironment)].filter(given, given).size() == 1",
        "message": "exactly one of platformWide, team and teamAndEnvironment must be given"
    }])
}

/// Everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlatformWideScope {}

/// One team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamScope {
    /// The team.
    pub team_ref: LocalRef,
}

/// One environment of one team.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamAndEnvironmentScope {
    /// The team.
    pub team_ref: LocalRef,
    /// The environment of that team.
    #[schemars(length(min = 1, max = 63))]
    pub environment_name: String,
}

/// What a policy settles about one option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionPolicy {
    /// How strictly the option is settled.
    pub mode: OptionMode,
    /// Values that the option may have: one for `pin`, at least one for `allowList` and `recommended`.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Value of clusters that do not choose, for `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Why the values are recommended, at most 120 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 120))]
    pub recommended_reason: Option<String>,
}

/// How strictly an option is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OptionMode {
    /// The one value is used, whatever the user says.
    Pin,
    /// Only the listed values may be chosen.
    AllowList,
    /// The default is used where the user does not choose.
    Default,
    /// The listed values are offered first; any may be chosen.
    Recommended,
}

/// What Butler observed about the policy. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCreationPolicyStatus {
    /// The aspects of the policy's state; Ready sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// What the policy refers to that no longer exists.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub stale_references: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_without_providers_counts_on_all() {
        let policy = |providers: Value| -> ClusterCreationPolicySpec {
            serde_json::from_value(json!({"scope": {"platformWide": {}}, "targetProviders": providers}))
                .expect("policy")
        };
        assert!(policy(json!([])).targets(ProviderKind::Gcp));
        assert!(policy(json!(["gcp"])).targets(ProviderKind::Gcp));
        assert!(!policy(json!(["nutanix"])).targets(ProviderKind::Gcp));
    }
}
