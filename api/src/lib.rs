//! Butler's custom resources and the pure domain behind them: no I/O, no client, no clock.

/// An entry of the addon catalogue.
pub mod addon_definition;
pub mod address;
/// The settings of the whole platform.
pub mod butler_config;
/// What users may choose when they create a cluster.
pub mod cluster_creation_policy;
pub mod condition;
/// Two spellings of one setting that disagree.
pub mod contradiction;
/// Processor time and memory of the control plane's components.
pub mod control_plane_resources;
/// The CustomResourceDefinitions of all kinds.
pub mod crd;
/// How a tenant's API server is reached from outside.
pub mod exposure;
/// A Helm release as status reports it.
pub mod helm_release;
/// Values handed to a Helm chart untouched.
pub mod helm_values;
/// Addresses that one cluster holds.
pub mod ip_allocation;
/// Label, annotation and finalizer keys.
pub mod labels;
/// An addon of the management cluster itself.
pub mod management_addon;
pub mod names;
/// Addresses that clusters share.
pub mod network_pool;
pub mod operating_system;
pub mod phase;
/// A place where worker machines can run.
pub mod provider_config;
pub mod quantity;
pub mod quota;
/// How one object names another.
pub mod reference;
pub mod role;
/// People who share clusters, and what they may use.
pub mod team;
/// One more addon in a running cluster.
pub mod tenant_addon;
/// One Kubernetes cluster, handed to a team.
pub mod tenant_cluster;
/// A person known to the platform.
pub mod user;
pub mod version;

mod excerpt;
mod schema;
mod wire;

pub use addon_definition::{AddonDefinition, AddonDefinitionSpec};
pub use butler_config::{ButlerConfig, ButlerConfigSpec, ButlerConfigStatus};
pub use cluster_creation_policy::{
    ClusterCreationPolicy, ClusterCreationPolicySpec, ClusterCreationPolicyStatus,
};
pub use ip_allocation::{IPAllocation, IPAllocationSpec, IPAllocationStatus};
pub use management_addon::{ManagementAddon, ManagementAddonSpec, ManagementAddonStatus};
pub use network_pool::{NetworkPool, NetworkPoolSpec, NetworkPoolStatus};
pub use provider_config::{ProviderConfig, ProviderConfigSpec, ProviderConfigStatus};
pub use team::{Team, TeamSpec, TeamStatus};
pub use tenant_addon::{TenantAddon, TenantAddonSpec, TenantAddonStatus};
pub use tenant_cluster::{TenantCluster, TenantClusterSpec, TenantClusterStatus};
pub use user::{User, UserSpec, UserStatus};

/// The API group of every kind.
pub const GROUP: &str = "butler.butlerlabs.dev";
/// The only version of that group.
pub const VERSION: &str = "v1alpha1";
