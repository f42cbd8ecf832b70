//! ButlerConfig: the settings of the whole platform.

pub mod addon_versions;
pub mod chart_sources;
pub mod git_provider;
pub mod image_factory;
pub mod multi_tenancy;
pub mod observability;
pub mod reporting;
pub mod status;
pub mod supported_kubernetes;
pub mod team_limits;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::addon_versions::AddonVersions;
pub use self::chart_sources::ChartSources;
pub use self::git_provider::{GitProvider, GitProviderType};
pub use self::image_factory::ImageFactory;
pub use self::multi_tenancy::{MultiTenancy, MultiTenancyMode};
pub use self::observability::Observability;
pub use self::reporting::{Audit, Notifications};
pub use self::status::ButlerConfigStatus;
pub use self::supported_kubernetes::{SupportedKubernetes, SupportedRange};
pub use self::team_limits::TeamLimits;
use crate::control_plane_resources::ControlPlaneResources;
use crate::exposure::ControlPlaneExposure;
use crate::reference::LocalRef;
use crate::team::ClusterDefaults;
use crate::wire::{given, is_default};

/// The name of the one ButlerConfig that counts.
pub const CONFIG_NAME: &str = "butler";

/// Settings of the whole platform. Nothing is required.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ButlerConfig",
    doc = "Settings of the whole platform. There is one, named `butler`; without it every setting has its default.",
    status = "ButlerConfigStatus",
    shortname = "bc",
    category = "butler",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Mode", "type": "string", "jsonPath": ".spec.multiTenancy.mode",
                      "description": "Whether clusters need a team."}"#,
    printcolumn = r#"{"name": "Git", "type": "string", "jsonPath": ".spec.gitProvider.type",
                      "description": "Where Git repositories are hosted."}"#,
    printcolumn = r#"{"name": "Teams", "type": "integer", "jsonPath": ".status.teamCount",
                      "description": "Teams on the platform."}"#,
    printcolumn = r#"{"name": "Clusters", "type": "integer", "jsonPath": ".status.clusterCount",
                      "description": "Clusters on the platform."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "Exposure", "type": "string", "jsonPath": ".status.controlPlaneExposureMode",
                      "description": "How tenant API servers are reached.", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ButlerConfigSpec {
    /// Whether clusters need a team.
    #[serde(default, deserialize_with = "crate::wire::or_default")]
    pub multi_tenancy: MultiTenancy,
    /// Namespace of clusters without a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Self::DEFAULT_NAMESPACE))]
    pub default_namespace: Option<String>,
    /// ProviderConfig of clusters for which neither they nor their team name one, in `butler-system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_provider_config_ref: Option<LocalRef>,
    /// Limits of teams, for each limit that a team does not set itself. Left out, such a limit does not
    /// exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_team_limits: Option<TeamLimits>,
    /// Values for what a new cluster leaves out, where neither its environment nor its team has one.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub cluster_defaults: ClusterDefaults,
    /// Kubernetes releases that clusters may use, if the hosted control plane of this platform runs others than
    /// Butler expects.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub supported_kubernetes: SupportedKubernetes,
    /// Helm repositories that TenantAddons may take charts of their own from. Left out, any repository that is
    /// reached by `https://` or `oci://`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart_sources: Option<ChartSources>,
    /// Chart versions of the addons that every cluster gets, for clusters that do not name one. Left out,
    /// they are the versions that this release of Butler was tested with.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub default_addon_versions: AddonVersions,
    /// Where the platform's Git repositories are hosted. Left out, Butler creates none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_provider: Option<GitProvider>,
    /// How tenant API servers are reached, for clusters that do not choose themselves.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub control_plane_exposure: ControlPlaneExposure,
    /// Where logs, metrics and traces go, and what is collected.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub observability: Observability,
    /// Requests and limits of control planes that do not set their own. Left out, they have none.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub default_control_plane_resources: ControlPlaneResources,
    /// Image Factory that builds images of worker machines. Left out, images must already be at the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_factory: Option<ImageFactory>,
    /// Public SSH key that may log in to worker machines whose cluster does not name one. Talos has no SSH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_authorized_key: Option<String>,
    /// Time servers of workers for which neither their cluster nor their provider names any.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = crate::schema::MOST_SERVERS))]
    pub default_time_servers: Vec<String>,
    /// The log of who changed what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
    /// Messages about what happens on the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notifications: Option<Notifications>,
}

impl ButlerConfigSpec {
    /// The namespace of clusters without a team when nobody says.
    pub const DEFAULT_NAMESPACE: &str = "butler-tenants";

    /// The namespace of clusters without a team.
    pub fn default_namespace(&self) -> &str {
        given(&self.default_namespace).unwrap_or(Self::DEFAULT_NAMESPACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_config_has_every_default() {
        let config = ButlerConfigSpec::default();
        assert_eq!(config.default_namespace(), "butler-tenants");
        assert_eq!(config.multi_tenancy.mode(), MultiTenancyMode::Disabled);
    }
}
