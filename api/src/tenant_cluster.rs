//! TenantCluster: one Kubernetes cluster, handed to a team.

pub mod addons;
pub mod control_plane;
pub mod infrastructure;
pub mod management;
pub mod networking;
pub mod status;
pub mod workers;
pub mod workspaces;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::addons::Addons;
pub use self::control_plane::ControlPlane;
pub use self::infrastructure::InfrastructureOverride;
pub use self::management::{ManagementMode, ManagementPolicy};
pub use self::networking::Networking;
pub use self::status::TenantClusterStatus;
pub use self::workers::Workers;
pub use self::workspaces::Workspaces;
use crate::address_span::AddressSpan;
use crate::butler_config::ButlerConfigSpec;
use crate::contradiction::Contradiction;
use crate::labels;
use crate::provider_config::ProviderConfigSpec;
use crate::reference::{LocalRef, NsRef, ProviderRef};
use crate::team::TeamSpec;
use crate::wire::{given, is_default};

/// What the cluster should be. Everything that is left out is filled in when the cluster is created, from the
/// defaults of its environment, its team and the platform.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "TenantCluster",
    namespaced,
    doc = "A Kubernetes cluster for a team: a control plane hosted in the management cluster, worker machines on an \
           infrastructure provider, and the addons that make it usable. Create one to get a cluster, change it to \
           scale or upgrade it, delete it to give everything back.",
    status = "TenantClusterStatus",
    shortname = "tc",
    category = "butler",
    derive = "Default",
    derive = "PartialEq",
    scale = r#"{"specReplicasPath": ".spec.workers.replicas", "statusReplicasPath": ".status.workerNodes"}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase",
                      "description": "Where the cluster is in its life."}"#,
    printcolumn = r#"{"name": "K8s Version", "type": "string", "jsonPath": ".spec.kubernetesVersion",
                      "description": "Kubernetes release that was asked for."}"#,
    printcolumn = r#"{"name": "Workers", "type": "integer", "jsonPath": ".spec.workers.replicas",
                      "description": "Worker machines that were asked for."}"#,
    printcolumn = r#"{"name": "Ready", "type": "integer", "jsonPath": ".status.workerNodesReady",
                      "description": "Worker nodes that are ready."}"#,
    printcolumn = r#"{"name": "Endpoint", "type": "string", "jsonPath": ".status.controlPlaneEndpoint",
                      "description": "Where the cluster's API server answers."}"#,
    printcolumn = r#"{"name": "Team", "type": "string", "jsonPath": ".spec.teamRef.name",
                      "description": "Team that the cluster belongs to."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "Running", "type": "string", "jsonPath": ".status.observedState.kubernetesVersion",
                      "description": "Kubernetes release that is running.", "priority": 1}"#,
    printcolumn = r#"{"name": "OS", "type": "string", "jsonPath": ".spec.workers.machineTemplate.os.type",
                      "description": "Operating system of the workers.", "priority": 1}"#,
    printcolumn = r#"{"name": "Provider", "type": "string", "jsonPath": ".spec.providerConfigRef.name",
                      "description": "ProviderConfig that the workers run on.", "priority": 1}"#,
    printcolumn = r#"{"name": "Message", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].message",
                      "description": "What the cluster is waiting for.", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct TenantClusterSpec {
    /// Kubernetes release of the control plane and the workers, in full, for example `v1.31.4`. Raise it to
    /// upgrade. Left out, it comes from the defaults of the environment, the team or the platform, else
    /// Butler chooses one that is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = crate::schema::KUBERNETES_VERSION))]
    pub kubernetes_version: Option<String>,
    /// Team that the cluster belongs to and whose limits it counts against. Required when the platform
    /// enforces teams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team_ref: Option<LocalRef>,
    /// ProviderConfig that says where the workers run. Left out, it is the team's, else the platform's
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_config_ref: Option<ProviderRef>,
    /// The hosted control plane.
    #[serde(default, deserialize_with = "crate::wire::or_default")]
    pub control_plane: ControlPlane,
    /// The worker machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<Workers>,
    /// Address ranges of the cluster.
    #[serde(default, deserialize_with = "crate::wire::or_default")]
    pub networking: Networking,
    /// Who looks after the cluster once it runs.
    #[serde(default, deserialize_with = "crate::wire::or_default")]
    pub management_policy: ManagementPolicy,
    /// Addons that Butler installs before it calls the cluster ready. A block that is left out gets the
    /// platform's choice.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub addons: Addons,
    /// Time servers of the workers, in order of preference. Left out, they are the provider's, else the
    /// platform's, else `pool.ntp.org`.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = crate::schema::MOST_SERVERS))]
    pub time_servers: Vec<String>,
    /// Settings of the infrastructure provider that this cluster needs different. Only the block of the
    /// provider in use is read.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub infrastructure_override: InfrastructureOverride,
    /// Development workspaces inside the cluster. Left out, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<Workspaces>,
}

impl TenantClusterSpec {
    /// The Kubernetes release as written.
    pub fn kubernetes_version(&self) -> Option<&str> {
        given(&self.kubernetes_version)
    }

    /// How many workers were asked for.
    pub fn replicas(&self) -> Option<i32> {
        self.workers.as_ref()?.replicas
    }

    /// The ProviderConfig to use: the cluster's own, else its team's, else the platform's default.
    pub fn provider(&self, team: Option<&TeamSpec>, config: Option<&ButlerConfigSpec>) -> Option<NsRef> {
        let own = self.provider_config_ref.as_ref().map(ProviderRef::resolve);
        let teams = || team?.provider_config_ref.as_ref().map(LocalRef::in_system_namespace);
        let platforms = || config?.default_provider_config_ref.as_ref().map(LocalRef::in_system_namespace);
        own.or_else(teams).or_else(platforms)
    }

    /// The time servers of the workers. Never empty.
    pub fn time_servers<'a>(
        &'a self,
        provider: Option<&'a ProviderConfigSpec>,
        config: Option<&'a ButlerConfigSpec>,
    ) -> Vec<&'a str> {
        let sources = [
            Some(&self.time_servers),
            provider.map(|provider| &provider.network.time_servers),
            config.map(|config| &config.default_time_servers),
        ];
        let chosen = sources.into_iter().flatten().find(|servers| !servers.is_empty());
        chosen
            .map_or_else(|| vec![DEFAULT_TIME_SERVER], |servers| servers.iter().map(String::as_str).collect())
    }

    /// The addresses that the user set aside for load balancers, under either of the two names.
    pub fn load_balancer_range(&self) -> Option<AddressSpan> {
        let newer = self.networking.load_balancer_pool.clone();
        newer.or_else(|| self.addons.load_balancer.as_ref()?.address_pool())
    }

    /// Settings given under two names that disagree.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let older = self.addons.load_balancer.as_ref().and_then(|addon| addon.address_pool());
        match (&self.networking.load_balancer_pool, older) {
            (Some(newer), Some(older)) if !newer.agrees_with(&older) => vec![Contradiction {
                newer: "spec.networking.loadBalancerPool",
                older: "spec.addons.loadBalancer.addressPool",
            }],
            _ => Vec::new(),
        }
    }
}

impl TenantCluster {
    /// The environment of its team that the cluster is in.
    pub fn environment(&self) -> Option<&str> {
        let label = self.metadata.labels.as_ref()?.get(labels::ENVIRONMENT)?;
        Some(label.as_str()).filter(|label| !label.is_empty())
    }

    /// The person that caps per member count the cluster for.
    pub fn owner(&self) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        let of = |key: &str| annotations.get(key).map(String::as_str).filter(|text| !text.is_empty());
        of(labels::annotations::OWNER).or_else(|| of(labels::annotations::CREATOR_EMAIL))
    }

    /// The conditions of the cluster, none before the first reconciliation.
    pub fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map_or(&[], |status| &status.conditions)
    }
}

/// Where workers get the time when nobody names a server.
pub const DEFAULT_TIME_SERVER: &str = "pool.ntp.org";

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::exposure::ExposureMode;

    fn spec(value: Value) -> TenantClusterSpec {
        serde_json::from_value(value).expect("spec")
    }

    #[test]
    fn an_incomplete_cluster_decodes_so_that_admission_can_complete_it() {
        assert_eq!(spec(json!({})), TenantClusterSpec::default());
        assert_eq!(spec(json!({"workers": {}})).replicas(), None);
    }

    #[test]
    fn the_provider_is_the_clusters_then_the_teams_then_the_platforms() {
        let team: TeamSpec =
            serde_json::from_value(json!({"providerConfigRef": {"name": "teams"}})).expect("team");
        let config: ButlerConfigSpec =
            serde_json::from_value(json!({"defaultProviderConfigRef": {"name": "platforms"}}))
                .expect("config");
        let own = spec(json!({"providerConfigRef": {"name": "own", "namespace": "edge"}}));
        let none = spec(json!({}));
        let named = |name: &str, namespace: &str| {
            Some(NsRef { name: name.to_owned(), namespace: namespace.to_owned() })
        };
        assert_eq!(own.provider(Some(&team), Some(&config)), named("own", "edge"));
        assert_eq!(none.provider(Some(&team), Some(&config)), named("teams", "butler-system"));
        assert_eq!(none.provider(None, Some(&config)), named("platforms", "butler-system"));
        assert_eq!(none.provider(None, None), None);
    }

    #[test]
    fn time_comes_from_the_nearest_list_that_is_not_empty() {
        let provider: ProviderConfigSpec =
            serde_json::from_value(json!({"provider": "local", "network": {"timeServers": ["p"]}}))
                .expect("provider");
        let config: ButlerConfigSpec =
            serde_json::from_value(json!({"defaultTimeServers": ["c1", "c2"]})).expect("config");
        let own = spec(json!({"timeServers": ["own"]}));
        let none = spec(json!({}));
        assert_eq!(own.time_servers(Some(&provider), Some(&config)), ["own"]);
        assert_eq!(none.time_servers(Some(&provider), Some(&config)), ["p"]);
        assert_eq!(none.time_servers(None, Some(&config)), ["c1", "c2"]);
        assert_eq!(none.time_servers(None, None), ["pool.ntp.org"]);
    }

    #[test]
    fn addons_need_no_version_and_monitoring_is_one_of_them() {
        let addons = spec(json!({"addons": {
            "cni": {"provider": "cilium"},
            "loadBalancer": {"provider": "metallb", "addressPool": "10.40.1.0-10.40.1.50"},
            "storage": {"provider": "longhorn"},
            "monitoring": {"provider": "prometheus"}
        }}))
        .addons;
        assert_eq!(addons.cni.expect("cni").version(), None);
        assert_eq!(addons.storage.expect("storage").provider(), addons::StorageProvider::Longhorn);
        assert_eq!(
            addons.monitoring.expect("monitoring").provider,
            Some(addons::MonitoringProvider::Prometheus)
        );
    }

    #[test]
    fn a_cluster_may_choose_the_platforms_modes_for_itself() {
        let chosen = spec(json!({"controlPlane": {"serviceType": "Gateway"}}));
        assert_eq!(chosen.control_plane.service_type(None).mode(), Some(ExposureMode::Gateway));
    }

    #[test]
    fn a_load_balancer_range_is_read_under_either_name() {
        let span = AddressSpan { start: "10.40.1.0".into(), end: "10.40.1.50".into() };
        let older = spec(json!({"addons": {"loadBalancer": {"addressPool": "10.40.1.0-10.40.1.50"}}}));
        let newer =
            spec(json!({"networking": {"loadBalancerPool": {"start": "10.40.1.0", "end": "10.40.1.50"}}}));
        assert_eq!(older.load_balancer_range(), Some(span.clone()));
        assert_eq!(newer.load_balancer_range(), Some(span));
        assert_eq!(spec(json!({})).load_balancer_range(), None);
    }

    #[test]
    fn two_different_load_balancer_ranges_contradict_each_other() {
        let both = |pool: &str| {
            spec(json!({
                "networking": {"loadBalancerPool": {"start": "10.40.1.0", "end": "10.40.1.50"}},
                "addons": {"loadBalancer": {"addressPool": pool}}
            }))
        };
        assert_eq!(both("10.40.1.0-10.40.1.50").contradictions(), []);
        assert_eq!(both("10.40.1.0 - 10.40.1.50").contradictions(), []);
        let other = both("10.40.1.0-10.40.1.60");
        let expected = Contradiction {
            newer: "spec.networking.loadBalancerPool",
            older: "spec.addons.loadBalancer.addressPool",
        };
        assert_eq!(other.contradictions(), [expected]);
        assert_eq!(other.load_balancer_range().expect("range").end, "10.40.1.50");
    }

    #[test]
    fn the_owner_annotation_beats_the_creators() {
        let mut cluster = TenantCluster::default();
        assert_eq!(cluster.owner(), None);
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert(labels::annotations::CREATOR_EMAIL.into(), "ana@example.org".into());
        assert_eq!(cluster.owner(), Some("ana@example.org"));
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert(labels::annotations::OWNER.into(), "bo@example.org".into());
        assert_eq!(cluster.owner(), Some("bo@example.org"));
    }
}
