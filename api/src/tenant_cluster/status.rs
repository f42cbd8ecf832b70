//! What Butler reports about a TenantCluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::phase::ClusterPhase;
use crate::reference::LocalRef;

/// What Butler observed about the cluster. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantClusterStatus {
    /// The aspects of the cluster's state: Accepted, QuotaSatisfied, ProviderAccessGranted, NetworkReady and
    /// ImageReady are needed before anything is built; InfrastructureReady, ControlPlaneReady, WorkersReady
    /// and AddonsReady follow; Ready sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Where the cluster is in its life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ClusterPhase>,
    /// Namespace of the management cluster that holds the control plane and the machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_namespace: Option<String>,
    /// Where the cluster's API server answers, as `host:port`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<String>,
    /// Secret with the administrator's kubeconfig, in `tenantNamespace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_ref: Option<LocalRef>,
    /// Generation of the object that this status was computed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the phase last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// What is really running, which may lag behind what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_state: Option<ObservedState>,
    /// Worker machines that exist, ready or not. `kubectl scale` and autoscalers read this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_nodes: Option<i32>,
    /// Worker nodes that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_nodes_ready: Option<i32>,
    /// Worker nodes that there should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_nodes_desired: Option<i32>,
    /// IPAllocation with the addresses of the nodes, in `butler-system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_allocation_ref: Option<LocalRef>,
    /// IPAllocation with the addresses for Services of type LoadBalancer, in `butler-system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lb_allocation_ref: Option<LocalRef>,
    /// Image synchronisation that brings the workers' image to the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_sync_ref: Option<LocalRef>,
}

/// What is really running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedState {
    /// Kubernetes release of the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
    /// The worker nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<ObservedWorkers>,
    /// The addons, by name.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub addons: Vec<ObservedAddon>,
}

/// The worker nodes that are really there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedWorkers {
    /// How many nodes there should be.
    pub desired: i32,
    /// How many nodes are ready.
    pub ready: i32,
    /// Names of the nodes.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
}

/// An addon that is really there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedAddon {
    /// Name of the addon.
    pub name: String,
    /// Chart version that is installed, empty while there is none.
    pub version: String,
    /// How the addon is doing.
    pub status: AddonHealth,
    /// Who keeps the addon as it should be.
    pub managed_by: AddonManager,
}

/// How an addon is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AddonHealth {
    /// Not started yet.
    Pending,
    /// Being installed or upgraded.
    Installing,
    /// Installed and working.
    Healthy,
    /// Installed, but something in it does not work.
    Degraded,
    /// Could not be installed.
    Failed,
}

/// Who keeps an addon as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AddonManager {
    /// Butler.
    Butler,
    /// Flux.
    Flux,
    /// Argo CD.
    Argocd,
    /// People, by hand.
    Manual,
}
