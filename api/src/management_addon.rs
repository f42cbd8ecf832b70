//! ManagementAddon: an addon of the management cluster itself.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::addon_definition::AddonDefinition;
use crate::helm_release::HelmRelease;
use crate::helm_values::HelmValues;
use crate::wire::given;

/// Which addon the management cluster gets.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ManagementAddon",
    doc = "An addon of the management cluster itself, taken from the catalogue of AddonDefinitions. Delete it to \
           uninstall the addon.",
    status = "ManagementAddonStatus",
    shortname = "ma",
    shortname = "maddon",
    category = "butler",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Addon", "type": "string", "jsonPath": ".spec.addon",
                      "description": "AddonDefinition of the addon."}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".spec.version",
                      "description": "Chart version that was asked for."}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase",
                      "description": "Where the addon is in its life."}"#,
    printcolumn = r#"{"name": "Installed", "type": "string", "jsonPath": ".status.installedVersion",
                      "description": "Chart version that is installed."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.message",
                      "description": "What the addon is waiting for.", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ManagementAddonSpec {
    /// AddonDefinition to install.
    #[schemars(length(min = 1))]
    pub addon: String,
    /// Chart version. Left out, it is the AddonDefinition's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Values for the chart, laid over those of the AddonDefinition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HelmValues>,
    /// Whether Butler leaves the addon as it is, neither upgrading nor repairing it. Left out, it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

impl ManagementAddonSpec {
    /// The chart version: the user's, else the definition's default.
    pub fn version<'a>(&'a self, definition: &'a AddonDefinition) -> &'a str {
        given(&self.version).unwrap_or(&definition.spec.chart.default_version)
    }

    /// The values for the chart: the user's laid over the definition's.
    pub fn values(&self, definition: &AddonDefinition) -> HelmValues {
        let defaults = definition.spec.defaults.values.clone().unwrap_or_default();
        self.values.as_ref().map_or_else(|| defaults.clone(), |own| own.over(&defaults))
    }

    /// Whether the addon is left as it is.
    pub fn paused(&self) -> bool {
        self.paused.unwrap_or(false)
    }
}

impl ManagementAddon {
    /// The name of the release: that of the ManagementAddon, so that two addons of one definition do not
    /// collide.
    pub fn release_name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The namespace of the release: the definition's, else the release's name with `-system` behind it.
    pub fn release_namespace(&self, definition: &AddonDefinition) -> String {
        given(&definition.spec.defaults.namespace)
            .map_or_else(|| format!("{}-system", self.release_name()), str::to_owned)
    }
}

/// What Butler observed about the addon. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagementAddonStatus {
    /// Where the addon is in its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ManagementAddonPhase>,
    /// Chart version that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_version: Option<String>,
    /// The Helm release of the addon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm_release: Option<HelmRelease>,
    /// The aspects of the addon's state; Ready sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Generation of the object that this status was computed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What the addon is waiting for, or what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Chart version of the last installation or upgrade that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempted_version: Option<String>,
}

/// Where an addon of the management cluster is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ManagementAddonPhase {
    /// Not started yet.
    Pending,
    /// Being installed.
    Installing,
    /// Installed.
    Installed,
    /// Being upgraded.
    Upgrading,
    /// Could not be installed; the conditions say why.
    Failed,
    /// Being uninstalled.
    Uninstalling,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definition(defaults: Value) -> AddonDefinition {
        let spec = json!({
            "displayName": "Velero", "description": "Cluster backup", "category": "backup", "defaults": defaults,
            "chart": {"repository": "https://charts.example.org", "name": "velero", "defaultVersion": "8.1.0"}
        });
        AddonDefinition::new("velero", serde_json::from_value(spec).expect("definition"))
    }

    #[test]
    fn a_release_is_named_after_the_addon_and_lives_where_the_definition_says() {
        let spec = ManagementAddonSpec { addon: "velero".into(), ..Default::default() };
        let addon = ManagementAddon::new("backup", spec);
        assert_eq!(addon.release_name(), "backup");
        assert_eq!(addon.release_namespace(&definition(json!({}))), "backup-system");
        assert_eq!(addon.release_namespace(&definition(json!({"namespace": "velero"}))), "velero");
        assert_eq!(addon.spec.version(&definition(json!({}))), "8.1.0");
    }
}
