//! The contents of a fact.

use std::sync::Arc;

use crate::policy::Document;
use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, IPAllocation, NetworkPool, ProviderConfig, Team,
    TenantAddon, TenantCluster, User,
};

/// What was read under a [`super::FactKey`].
#[derive(Clone, Debug)]
pub enum Fact {
    /// There is no such object.
    Absent,
    /// It could not be read, or what was read is not understood.
    Unreadable,
    /// The ButlerConfig.
    Config(Arc<ButlerConfig>),
    /// A Team.
    Team(Arc<Team>),
    /// A TenantCluster.
    Cluster(Arc<TenantCluster>),
    /// A TenantAddon.
    Addon(Arc<TenantAddon>),
    /// An AddonDefinition.
    Definition(Arc<AddonDefinition>),
    /// A ProviderConfig.
    Provider(Arc<ProviderConfig>),
    /// A NetworkPool.
    Pool(Arc<NetworkPool>),
    /// An IPAllocation.
    Allocation(Arc<IPAllocation>),
    /// A ClusterCreationPolicy.
    CreationPolicy(Arc<ClusterCreationPolicy>),
    /// A User.
    User(Arc<User>),
    /// A Namespace.
    Namespace(NamespaceFact),
    /// A Secret: only that it exists.
    Secret,
    /// The caller is an administrator.
    Administrator,
    /// A param of policies.
    Param(Document),
}

/// What matters about a Namespace.
#[derive(Clone, Debug, Default)]
pub struct NamespaceFact {
    /// The Team that Butler made it for, if Butler made it.
    pub team: Option<String>,
    /// All of it as policies see it; nothing where nobody keeps it.
    pub object: Option<Document>,
}
