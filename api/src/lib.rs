//! Butler's custom resources and the pure domain behind them: no I/O, no client, no clock.

pub mod addon_definition;
pub mod address;
pub mod address_span;
pub mod butler_config;
pub mod cluster_creation_policy;
pub mod condition;
pub mod contradiction;
pub mod control_plane_resources;
pub mod crd;
pub mod exposure;
pub mod helm_release;
pub mod helm_values;
pub mod ip_allocation;
pub mod labels;
pub mod management_addon;
pub mod names;
pub mod network_pool;
pub mod operating_system;
pub mod phase;
pub mod provider_config;
pub mod quantity;
pub mod quota;
pub mod reference;
pub mod role;
pub mod team;
pub mod tenant_addon;
pub mod tenant_cluster;
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
