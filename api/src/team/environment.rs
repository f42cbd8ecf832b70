//! The stages of a Team.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::team::access::TeamAccess;
use crate::team::cluster_defaults::ClusterDefaults;
use crate::wire::is_default;

/// A stage such as `dev` or `prod`. A cluster belongs to the one it names in the label
/// `butler.butlerlabs.dev/environment`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    /// Name of the environment, at most 63 letters, digits, hyphens, underscores or dots.
    #[schemars(length(min = 1, max = 63), regex(pattern = crate::schema::LABEL_VALUE))]
    pub name: String,
    /// What the environment is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the clusters of this environment may use, within the limits of the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<EnvironmentLimits>,
    /// Members of the team who may do more in this environment than in the team. A role here can only be
    /// higher.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub access: TeamAccess,
    /// Values for what a new cluster in this environment leaves out. They beat the team's.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub cluster_defaults: ClusterDefaults,
}

/// What the clusters of an environment may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentLimits {
    /// How many clusters the environment may have; 0 allows none. Left out, only the team's limit counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_clusters: Option<i32>,
    /// How many clusters one person may own in the environment; 0 allows none. Left out, there is no such limit. With
    /// it, every new cluster must carry its creator's e-mail address in the annotation
    /// `butler.butlerlabs.dev/creator-email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_clusters_per_member: Option<i32>,
}
