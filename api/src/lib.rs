//! Butler's custom resources and the pure domain behind them: no I/O, no client, no clock.

// The kinds.
pub mod addon_definition;
pub mod butler_config;
pub mod cluster_creation_policy;
pub mod ip_allocation;
pub mod management_addon;
pub mod network_pool;
pub mod provider_config;
pub mod quota_ledger;
pub mod team;
pub mod tenant_addon;
pub mod tenant_cluster;
pub mod user;

// What several kinds are made of.
pub mod address_span;
pub mod contradiction;
pub mod control_plane_resources;
pub mod exposure;
pub mod helm_release;
pub mod helm_values;
pub mod labels;
pub mod reference;

// What the values mean.
pub mod address;
pub mod condition;
pub mod names;
pub mod operating_system;
pub mod phase;
pub mod quantity;
pub mod quota;
pub mod role;
pub mod version;

// How the kinds are told to an API server.
pub mod crd;

// How text of a user is read and quoted.
pub mod excerpt;
pub mod wire;

mod schema;

pub use addon_definition::{AddonDefinition, AddonDefinitionSpec};
pub use butler_config::{ButlerConfig, ButlerConfigSpec, ButlerConfigStatus};
pub use cluster_creation_policy::{
    ClusterCreationPolicy, ClusterCreationPolicySpec, ClusterCreationPolicyStatus,
};
pub use ip_allocation::{IPAllocation, IPAllocationSpec, IPAllocationStatus};
pub use management_addon::{ManagementAddon, ManagementAddonSpec, ManagementAddonStatus};
pub use network_pool::{NetworkPool, NetworkPoolSpec, NetworkPoolStatus};
pub use provider_config::{ProviderConfig, ProviderConfigSpec, ProviderConfigStatus};
pub use quota_ledger::{QuotaLedger, QuotaLedgerSpec};
pub use team::{Team, TeamSpec, TeamStatus};
pub use tenant_addon::{TenantAddon, TenantAddonSpec, TenantAddonStatus};
pub use tenant_cluster::{TenantCluster, TenantClusterSpec, TenantClusterStatus};
pub use user::{User, UserSpec, UserStatus};

/// The API group of every kind.
pub const GROUP: &str = "butler.butlerlabs.dev";
/// The only version of that group.
pub const VERSION: &str = "v1alpha1";
