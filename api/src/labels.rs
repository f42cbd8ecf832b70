//! Keys that Butler puts on, or reads from, the metadata of objects.

/// Marks everything that Butler created; its value is [`MANAGED_BY_BUTLER`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`].
pub const MANAGED_BY_BUTLER: &str = "butler";

/// Name of the Team that an object belongs to.
pub const TEAM: &str = "butler.butlerlabs.dev/team";
/// Name of the TenantCluster that an object was made for.
pub const TENANT: &str = "butler.butlerlabs.dev/tenant";
/// Namespace of the TenantCluster that an object was made for.
pub const SOURCE_NAMESPACE: &str = "butler.butlerlabs.dev/source-namespace";
/// Name of the object that an object was made for.
pub const SOURCE_NAME: &str = "butler.butlerlabs.dev/source-name";
/// Name of the NetworkPool that an IPAllocation draws from.
pub const NETWORK_POOL: &str = "butler.butlerlabs.dev/network-pool";
/// Name of the ProviderConfig that an object was made with.
pub const PROVIDER_CONFIG: &str = "butler.butlerlabs.dev/provider-config";
/// Hash of the e-mail address of a workspace's owner.
pub const WORKSPACE_OWNER: &str = "butler.butlerlabs.dev/workspace-owner";
/// What an IPAllocation is for: `nodes` or `loadbalancer`.
pub const ALLOCATION_TYPE: &str = "butler.butlerlabs.dev/allocation-type";
/// Image Factory schematic of an image.
pub const SCHEMATIC_ID: &str = "butler.butlerlabs.dev/schematic-id";
/// Version of an image.
pub const IMAGE_VERSION: &str = "butler.butlerlabs.dev/image-version";
/// Processor architecture of an image.
pub const IMAGE_ARCH: &str = "butler.butlerlabs.dev/image-arch";
/// Environment of its Team that a TenantCluster belongs to. It changes only together with
/// [`annotations::MIGRATION_OPERATION`].
pub const ENVIRONMENT: &str = "butler.butlerlabs.dev/environment";
/// Marks LoadBalancer Services that the platform owns; the value is `true`.
pub const PLATFORM_LB: &str = "butler.butlerlabs.dev/platform-lb";
/// Where an AddonDefinition comes from; [`SOURCE_BUILTIN`] on the ones Butler ships.
pub const SOURCE: &str = "butler.butlerlabs.dev/source";
/// The value of [`SOURCE`] on shipped AddonDefinitions.
pub const SOURCE_BUILTIN: &str = "builtin";

/// Annotation keys.
pub mod annotations {
    /// Free text that describes an object.
    pub const DESCRIPTION: &str = "butler.butlerlabs.dev/description";
    /// Who created an object, as the creating tool saw it.
    pub const CREATED_BY: &str = "butler.butlerlabs.dev/created-by";
    /// E-mail address of the person who created a TenantCluster; caps per member count by it.
    pub const CREATOR_EMAIL: &str = "butler.butlerlabs.dev/creator-email";
    /// E-mail address of the person a TenantCluster belongs to, copied from [`CREATOR_EMAIL`].
    pub const OWNER: &str = "butler.butlerlabs.dev/owner";
    /// Fields of a TenantCluster that Butler filled in because the user left them out, as paths joined by commas.
    pub const FILLED_IN: &str = "butler.butlerlabs.dev/filled-in";
    /// AddonDefinitions that a new TenantCluster gets from the defaults of its team and for which its spec has no
    /// block, joined by commas.
    pub const DEFAULT_ADDONS: &str = "butler.butlerlabs.dev/default-addons";
    /// With the value `true`, lets an update change the environment label.
    pub const MIGRATION_OPERATION: &str = "butler.butlerlabs.dev/migration-operation";
    /// Asks for an SSH session into a workspace.
    pub const CONNECT: &str = "butler.butlerlabs.dev/connect";
    /// When the SSH session into a workspace was asked for.
    pub const CONNECT_TIME: &str = "butler.butlerlabs.dev/connect-time";
}

/// Finalizers, one per kind whose deletion needs work.
pub mod finalizers {
    /// On a Team. The same text is also the label key of the team.
    pub const TEAM: &str = "butler.butlerlabs.dev/team";
    /// On a TenantCluster.
    pub const TENANT_CLUSTER: &str = "butler.butlerlabs.dev/tenantcluster";
    /// On a TenantAddon.
    pub const TENANT_ADDON: &str = "butler.butlerlabs.dev/tenantaddon";
    /// On a User.
    pub const USER: &str = "butler.butlerlabs.dev/user";
    /// On a NetworkPool.
    pub const NETWORK_POOL: &str = "butler.butlerlabs.dev/networkpool";
    /// On an IPAllocation.
    pub const IP_ALLOCATION: &str = "butler.butlerlabs.dev/ipallocation";
    /// On a ProviderConfig.
    pub const PROVIDER_CONFIG: &str = "butler.butlerlabs.dev/providerconfig";
    /// On a ManagementAddon.
    pub const MANAGEMENT_ADDON: &str = "managementaddon.butler.butlerlabs.dev/finalizer";
    /// On a workspace.
    pub const WORKSPACE: &str = "butler.butlerlabs.dev/workspace";
    /// On an image synchronisation.
    pub const IMAGE_SYNC: &str = "butler.butlerlabs.dev/imagesync";
    /// On a load balancer request.
    pub const LOAD_BALANCER_REQUEST: &str = "butler.butlerlabs.dev/loadbalancerrequest";
}
