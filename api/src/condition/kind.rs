//! The condition types of each kind, each with what it means when `True`.

/// Everything this object promises is in place; always a summary of its other conditions. Every kind has it.
pub const READY: &str = "Ready";
/// Something is being worked on. Informative: it changes neither `Ready` nor the phase.
pub const PROGRESSING: &str = "Progressing";
/// Something optional does not work; the object is usable. Informative: it changes neither `Ready` nor the phase.
pub const DEGRADED: &str = "Degraded";

/// TenantCluster.
pub mod tenant_cluster {
    /// The reconciler's own check found the spec acceptable: team, namespace, provider and configuration fit together.
    pub const ACCEPTED: &str = "Accepted";
    /// The cluster's team, environment and creator stay within their limits with it.
    pub const QUOTA_SATISFIED: &str = "QuotaSatisfied";
    /// The team may use the ProviderConfig.
    pub const PROVIDER_ACCESS_GRANTED: &str = "ProviderAccessGranted";
    /// The addresses the cluster needs have been allocated.
    pub const NETWORK_READY: &str = "NetworkReady";
    /// The machine image is available at the provider.
    pub const IMAGE_READY: &str = "ImageReady";
    /// The namespace and the provider's cluster-wide objects exist.
    pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
    /// The hosted control plane answers, in the version asked for.
    pub const CONTROL_PLANE_READY: &str = "ControlPlaneReady";
    /// As many workers as asked for have joined, all built from the current template.
    pub const WORKERS_READY: &str = "WorkersReady";
    /// Every addon the spec asks for is installed and healthy.
    pub const ADDONS_READY: &str = "AddonsReady";
}

/// Team.
pub mod team {
    /// The team's namespace exists and is the team's own.
    pub const NAMESPACE_READY: &str = "NamespaceReady";
    /// Every member has the role bindings of their role, and nobody else has.
    pub const RBAC_READY: &str = "RBACReady";
    /// The team uses more than its limits allow, which happens when a limit is lowered.
    pub const QUOTA_EXCEEDED: &str = "QuotaExceeded";
}

/// TenantAddon.
pub mod tenant_addon {
    /// The cluster it belongs to can be reached.
    pub const CLUSTER_READY: &str = "ClusterReady";
    /// Every addon it depends on is installed.
    pub const DEPENDENCIES_MET: &str = "DependenciesMet";
    /// The Helm release is deployed in the version asked for.
    pub const INSTALLED: &str = "Installed";
    /// What the release deployed is running.
    pub const HEALTHY: &str = "Healthy";
}

/// ButlerConfig.
pub mod butler_config {
    /// The configuration is valid and in force.
    pub const CONFIGURED: &str = "Configured";
    /// The default namespace exists, or the mode needs none.
    pub const NAMESPACE_READY: &str = "NamespaceReady";
}

/// ProviderConfig.
pub mod provider_config {
    /// The credentials Secret exists and has the keys its provider needs.
    pub const CREDENTIALS_VALID: &str = "CredentialsValid";
    /// At least one of the pools has free addresses.
    pub const POOL_AVAILABLE: &str = "PoolAvailable";
}

/// NetworkPool.
pub mod network_pool {
    /// At least 70 % of the pool is allocated.
    pub const CAPACITY_WARNING: &str = "CapacityWarning";
    /// At least 85 % of the pool is allocated.
    pub const CAPACITY_CRITICAL: &str = "CapacityCritical";
    /// At least 95 % of the pool is allocated.
    pub const CAPACITY_EXHAUSTED: &str = "CapacityExhausted";
}

/// IPAllocation.
pub mod ip_allocation {
    /// The pool has given the addresses.
    pub const ALLOCATED: &str = "Allocated";
}

/// LoadBalancerRequest.
pub mod load_balancer_request {
    /// The cloud load balancer exists.
    pub const PROVISIONED: &str = "Provisioned";
    /// It sends traffic to exactly the targets asked for.
    pub const TARGETS_SYNCED: &str = "TargetsSynced";
}
