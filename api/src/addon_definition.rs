//! AddonDefinition: an entry of the addon catalogue.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::butler_config::chart_sources::place_of_chart;
use crate::helm_values::HelmValues;
use crate::labels;
use crate::tenant_addon::HelmChart;
use crate::wire::{given, is_default};

/// Whether a release's namespace is created when nobody says.
pub(crate) const DEFAULT_CREATE_NAMESPACE: bool = true;

/// What the addon is and which chart installs it.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "AddonDefinition",
    doc = "An entry of the addon catalogue: a Helm chart with the version, names and values that suit the platform. \
           TenantAddons and ManagementAddons install it by its name.",
    shortname = "ad",
    shortname = "adddef",
    category = "butler",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Display Name", "type": "string", "jsonPath": ".spec.displayName",
                      "description": "Name for people."}"#,
    printcolumn = r#"{"name": "Category", "type": "string", "jsonPath": ".spec.category",
                      "description": "What kind of addon it is."}"#,
    printcolumn = r#"{"name": "Chart", "type": "string", "jsonPath": ".spec.chart.name",
                      "description": "Chart that installs the addon."}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".spec.chart.defaultVersion",
                      "description": "Chart version when the user does not say."}"#,
    printcolumn = r#"{"name": "Platform", "type": "boolean", "jsonPath": ".spec.platform",
                      "description": "Whether the platform itself depends on the addon."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AddonDefinitionSpec {
    /// Name for people, at most 64 characters.
    #[schemars(length(min = 1, max = 64))]
    pub display_name: String,
    /// What the addon does, at most 512 characters.
    #[schemars(length(min = 1, max = 512))]
    pub description: String,
    /// What kind of addon it is.
    pub category: AddonCategory,
    /// Emoji or a few letters shown beside the name, at most 8 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8))]
    pub icon: Option<String>,
    /// Picture shown beside the name: an SVG file in base64, at most 131072 characters. It beats `icon`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 131072))]
    pub icon_data: Option<String>,
    /// The Helm chart.
    pub chart: AddonChart,
    /// What an installation uses where it says nothing.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub defaults: AddonDefaults,
    /// Whether the platform itself depends on the addon, so that tenants cannot remove it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub platform: Option<bool>,
    /// JSON Schema (draft 2020-12) that the values of an installation must satisfy, after they were laid over
    /// `defaults.values`. References may only point inside the schema. Left out, any values are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_schema: Option<HelmValues>,
    /// Where the addon goes in a GitOps repository. Left out, it is `infrastructure` for platform addons,
    /// else `apps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<AddonTier>,
    /// AddonDefinitions that must be installed in the same cluster first, by name.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Who looks after this entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintainer: Option<Maintainer>,
    /// Where to read more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<AddonLinks>,
}

impl AddonDefinitionSpec {
    /// Where the addon goes in a GitOps repository.
    pub fn tier(&self) -> AddonTier {
        self.tier.unwrap_or(if self.platform() { AddonTier::Infrastructure } else { AddonTier::Apps })
    }

    /// Whether the platform itself depends on the addon.
    pub fn platform(&self) -> bool {
        self.platform.unwrap_or(false)
    }
}

impl AddonDefinition {
    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The name of releases: the definition's, else its own name.
    pub fn release_name(&self) -> &str {
        given(&self.spec.defaults.release_name).unwrap_or_else(|| self.name())
    }

    /// The namespace of releases: the definition's, else its own name.
    pub fn release_namespace(&self) -> &str {
        given(&self.spec.defaults.namespace).unwrap_or_else(|| self.name())
    }

    /// Whether Butler ships this entry.
    pub fn is_builtin(&self) -> bool {
        let source = self.metadata.labels.as_ref().and_then(|labels| labels.get(labels::SOURCE));
        source.is_some_and(|source| source == labels::SOURCE_BUILTIN)
    }
}

/// Where a chart comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonChart {
    /// Address of the Helm repository, beginning with `http://` or `https://`.
    #[schemars(regex(pattern = crate::schema::HTTP_URL))]
    pub repository: String,
    /// Name of the chart in the repository.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Version to install when the user does not say.
    pub default_version: String,
    /// Versions that users may choose. Left out or empty, any.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub available_versions: Vec<String>,
}

impl AddonChart {
    /// Whether users may install that version. The default can always be installed.
    pub fn offers(&self, version: &str) -> bool {
        self.available_versions.is_empty()
            || version == self.default_version
            || self.available_versions.iter().any(|available| available == version)
    }

    /// Whether a chart that somebody brings along is this very one.
    pub fn is_same(&self, own: &HelmChart) -> bool {
        let place = place_of_chart(&self.repository, &self.name);
        place.is_some() && place == place_of_chart(&own.repository, &own.chart)
    }
}

/// What an installation uses where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonDefaults {
    /// Namespace of the release. Left out, it is the name of the AddonDefinition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name of the release. Left out, it is the name of the AddonDefinition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_name: Option<String>,
    /// Whether to create the namespace if it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_CREATE_NAMESPACE))]
    pub create_namespace: Option<bool>,
    /// Values for the chart, under those of the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HelmValues>,
    /// How long an installation may take, for example `15m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Self::DEFAULT_TIMEOUT))]
    pub timeout: Option<String>,
}

impl AddonDefaults {
    /// How long an installation may take when the definition does not say.
    pub const DEFAULT_TIMEOUT: &str = "10m";

    /// Whether to create the namespace of the release.
    pub fn create_namespace(&self) -> bool {
        self.create_namespace.unwrap_or(DEFAULT_CREATE_NAMESPACE)
    }

    /// How long an installation may take, as a duration in Go's notation.
    pub fn timeout(&self) -> &str {
        given(&self.timeout).unwrap_or(Self::DEFAULT_TIMEOUT)
    }
}

/// Who looks after an entry of the catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Maintainer {
    /// Name of the person or team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// E-mail address of the person or team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// Where to read more about an addon.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddonLinks {
    /// Address of the documentation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation: Option<String>,
    /// Address of the source code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Address of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
}

/// What kind of addon it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AddonCategory {
    /// Pod networks.
    Cni,
    /// Load balancers.
    #[serde(rename = "loadbalancer")]
    LoadBalancer,
    /// Persistent volumes.
    Storage,
    /// Certificates.
    #[serde(rename = "certmanager")]
    CertManager,
    /// HTTP routing.
    Ingress,
    /// Metrics, logs and traces.
    Observability,
    /// Backup and restore.
    Backup,
    /// GitOps tools.
    Gitops,
    /// Secrets, policies and scanners.
    Security,
    /// Names.
    Dns,
    /// Databases.
    Database,
    /// Queues and brokers.
    Messaging,
    /// Service meshes.
    ServiceMesh,
    /// Anything else.
    Other,
}

/// Where an addon goes in a GitOps repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AddonTier {
    /// With what other addons build on.
    Infrastructure,
    /// With the applications.
    Apps,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definition(extra: Value) -> AddonDefinition {
        let mut spec = json!({
            "displayName": "Velero", "description": "Cluster backup", "category": "backup",
            "chart": {"repository": "https://charts.example.org", "name": "velero", "defaultVersion": "8.1.0"}
        });
        let (Some(spec_fields), Value::Object(extra)) = (spec.as_object_mut(), extra) else {
            panic!("objects")
        };
        spec_fields.extend(extra);
        AddonDefinition::new("velero", serde_json::from_value(spec).expect("spec"))
    }

    #[test]
    fn an_addon_the_platform_depends_on_is_infrastructure_unless_it_says_otherwise() {
        assert_eq!(definition(json!({})).spec.tier(), AddonTier::Apps);
        assert_eq!(definition(json!({"platform": true})).spec.tier(), AddonTier::Infrastructure);
        assert_eq!(definition(json!({"platform": true, "tier": "apps"})).spec.tier(), AddonTier::Apps);
    }

    #[test]
    fn a_definition_without_defaults_names_releases_after_itself() {
        let bare = definition(json!({}));
        assert_eq!((bare.release_name(), bare.release_namespace()), ("velero", "velero"));
        assert_eq!(bare.spec.defaults.timeout(), "10m");
        assert!(bare.spec.defaults.create_namespace());
    }

    #[test]
    fn any_version_may_be_chosen_unless_the_definition_lists_some() {
        let mut chart = definition(json!({})).spec.chart;
        assert!(chart.offers("7.0.0"));
        chart.available_versions = vec!["8.0.0".into()];
        assert!(chart.offers("8.0.0"));
        assert!(chart.offers("8.1.0"));
        assert!(!chart.offers("7.0.0"));
    }

    #[test]
    fn categories_are_spelled_as_on_the_wire() {
        let spelled = |category: AddonCategory| serde_json::to_value(category).expect("category");
        assert_eq!(spelled(AddonCategory::ServiceMesh), json!("service-mesh"));
        assert_eq!(spelled(AddonCategory::LoadBalancer), json!("loadbalancer"));
        assert_eq!(spelled(AddonCategory::CertManager), json!("certmanager"));
    }
}
