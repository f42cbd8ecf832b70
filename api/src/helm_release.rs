//! A Helm release as status reports it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Helm release behind an addon.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HelmRelease {
    /// Name of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Version of the chart that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How often the release was installed or upgraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::plain_integer")]
    pub revision: Option<i64>,
    /// What Helm says about the release, for example `deployed`, `failed` or `pending-upgrade`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}
