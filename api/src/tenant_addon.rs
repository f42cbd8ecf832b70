//! TenantAddon: one more addon in a running cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::addon_definition::{AddonDefinition, DEFAULT_CREATE_NAMESPACE};
use crate::helm_release::HelmRelease;
use crate::helm_values::HelmValues;
use crate::reference::LocalRef;
use crate::wire::given;

/// Which addon goes into which cluster. Name the addon with `addon`, or bring a chart of your own with
/// `helm`.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "TenantAddon",
    namespaced,
    doc = "An addon in a TenantCluster of the same namespace, taken from the catalogue of AddonDefinitions or from any \
           Helm repository. Delete it to uninstall the addon.",
    status = "TenantAddonStatus",
    shortname = "ta",
    category = "butler",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".spec.clusterRef.name",
                      "description": "Cluster that the addon goes into."}"#,
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
pub struct TenantAddonSpec {
    /// TenantCluster that the addon goes into, in the same namespace.
    pub cluster_ref: LocalRef,
    /// AddonDefinition to install. Give either this or `helm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addon: Option<String>,
    /// Chart version. Left out, it is the AddonDefinition's default; a chart given with `helm` needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A chart that is not in the catalogue. Give either this or `addon`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm: Option<HelmChart>,
    /// Values for the chart, laid over those of the AddonDefinition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HelmValues>,
    /// TenantAddons of the same cluster that must be installed first.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<LocalRef>,
}

/// A chart in a Helm repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmChart {
    /// Address of the repository, for example `https://charts.example.org`.
    pub repository: String,
    /// Name of the chart in the repository.
    pub chart: String,
    /// Name of the release. Left out, it is the name of the TenantAddon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release_name: Option<String>,
    /// Namespace of the release, in the tenant's cluster. Left out, it is the name of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Whether to create that namespace if it does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_CREATE_NAMESPACE))]
    pub create_namespace: Option<bool>,
}

impl TenantAddonSpec {
    /// The AddonDefinition that was named.
    pub fn addon(&self) -> Option<&str> {
        given(&self.addon)
    }

    /// The chart version: the user's, else the definition's default.
    pub fn version<'a>(&'a self, definition: Option<&'a AddonDefinition>) -> Option<&'a str> {
        given(&self.version)
            .or_else(|| definition.map(|definition| definition.spec.chart.default_version.as_str()))
    }

    /// The values for the chart: the user's laid over the definition's.
    pub fn values(&self, definition: Option<&AddonDefinition>) -> HelmValues {
        let defaults =
            definition.and_then(|definition| definition.spec.defaults.values.clone()).unwrap_or_default();
        self.values.as_ref().map_or_else(|| defaults.clone(), |own| own.over(&defaults))
    }
}

impl TenantAddon {
    /// The name of the release: that of the user's chart, else the definition's, else the TenantAddon's own
    /// name.
    pub fn release_name<'a>(&'a self, definition: Option<&'a AddonDefinition>) -> &'a str {
        let charts = self.spec.helm.as_ref().and_then(|helm| given(&helm.release_name));
        let definitions =
            || definition.map(AddonDefinition::release_name).filter(|_| self.spec.helm.is_none());
        charts.or_else(definitions).unwrap_or_else(|| self.metadata.name.as_deref().unwrap_or_default())
    }

    /// The namespace of the release, in the tenant's cluster.
    pub fn release_namespace<'a>(&'a self, definition: Option<&'a AddonDefinition>) -> &'a str {
        let charts = self.spec.helm.as_ref().and_then(|helm| given(&helm.namespace));
        let definitions =
            || definition.map(AddonDefinition::release_namespace).filter(|_| self.spec.helm.is_none());
        charts.or_else(definitions).unwrap_or_else(|| self.release_name(definition))
    }

    /// Whether to create the namespace of the release.
    pub fn create_namespace(&self, definition: Option<&AddonDefinition>) -> bool {
        match (&self.spec.helm, definition) {
            (Some(helm), _) => helm.create_namespace.unwrap_or(DEFAULT_CREATE_NAMESPACE),
            (None, Some(definition)) => definition.spec.defaults.create_namespace(),
            (None, None) => DEFAULT_CREATE_NAMESPACE,
        }
    }
}

/// What Butler observed about the addon. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantAddonStatus {
    /// The aspects of the addon's state: ClusterReady, DependenciesMet, Installed, Healthy, and Ready, which
    /// sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Where the addon is in its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<TenantAddonPhase>,
    /// Chart version that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_version: Option<String>,
    /// The Helm release of the addon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helm_release: Option<HelmRelease>,
    /// Generation of the object that this status was computed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the phase last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// What the addon is waiting for, or what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Where an addon of a tenant is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TenantAddonPhase {
    /// Waiting for its cluster or for other addons.
    Pending,
    /// Being installed.
    Installing,
    /// Installed and working.
    Installed,
    /// Being upgraded.
    Upgrading,
    /// Installed, but something in it does not work.
    Degraded,
    /// Could not be installed; the conditions say why.
    Failed,
    /// Being uninstalled.
    Deleting,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn addon(spec: Value) -> TenantAddon {
        TenantAddon::new("orders-queue", serde_json::from_value(spec).expect("spec"))
    }

    fn definition(defaults: Value) -> AddonDefinition {
        let spec = json!({
            "displayName": "Queue", "description": "A queue", "category": "messaging", "defaults": defaults,
            "chart": {"repository": "https://charts.example.org", "name": "queue", "defaultVersion": "1.0.0"}
        });
        AddonDefinition::new("queue", serde_json::from_value(spec).expect("definition"))
    }

    #[test]
    fn an_addon_from_the_catalogue_takes_name_namespace_and_version_from_its_definition() {
        let addon = addon(json!({"clusterRef": {"name": "orders"}, "addon": "queue"}));
        let bare = definition(json!({}));
        assert_eq!(addon.release_name(Some(&bare)), "queue");
        assert_eq!(addon.release_namespace(Some(&bare)), "queue");
        assert_eq!(addon.spec.version(Some(&bare)), Some("1.0.0"));
        let full =
            definition(json!({"releaseName": "q", "namespace": "messaging", "createNamespace": false}));
        assert_eq!(addon.release_name(Some(&full)), "q");
        assert_eq!(addon.release_namespace(Some(&full)), "messaging");
        assert!(!addon.create_namespace(Some(&full)));
    }

    #[test]
    fn an_own_chart_is_named_after_the_addon() {
        let chart = json!({"repository": "https://charts.example.org", "chart": "queue"});
        let bare = addon(json!({"clusterRef": {"name": "orders"}, "helm": chart}));
        assert_eq!(bare.release_name(None), "orders-queue");
        assert_eq!(bare.release_namespace(None), "orders-queue");
        assert!(bare.create_namespace(None));
        let chart =
            json!({"repository": "r", "chart": "queue", "releaseName": "q", "createNamespace": false});
        let named = addon(json!({"clusterRef": {"name": "orders"}, "helm": chart}));
        assert_eq!(named.release_name(None), "q");
        assert_eq!(named.release_namespace(None), "q");
        assert!(!named.create_namespace(None));
    }

    #[test]
    fn an_empty_version_means_the_default() {
        let addon = addon(json!({"clusterRef": {"name": "orders"}, "addon": "queue", "version": ""}));
        assert_eq!(addon.spec.version(Some(&definition(json!({})))), Some("1.0.0"));
        assert_eq!(addon.spec.version(None), None);
    }

    #[test]
    fn own_values_lie_over_the_definitions() {
        let addon =
            addon(json!({"clusterRef": {"name": "orders"}, "addon": "queue", "values": {"replicas": 3}}));
        let definition = definition(json!({"values": {"replicas": 1, "persistence": true}}));
        let expected = json!({"replicas": 3, "persistence": true});
        assert_eq!(serde_json::to_value(addon.spec.values(Some(&definition))).expect("values"), expected);
    }
}
