//! The name of a fact.

use std::fmt;

use butler_api::reference::NsRef;

use crate::policy::ParamKind;

/// Which object a finding rests on, be it there or not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKey {
    /// The ButlerConfig `butler`.
    Config,
    /// A Team.
    Team(String),
    /// A TenantCluster.
    Cluster(NsRef),
    /// A TenantAddon.
    Addon(NsRef),
    /// An AddonDefinition.
    Definition(String),
    /// A ProviderConfig.
    Provider(NsRef),
    /// A NetworkPool.
    Pool(NsRef),
    /// An IPAllocation.
    Allocation(NsRef),
    /// A ClusterCreationPolicy.
    CreationPolicy(String),
    /// A User, by e-mail address.
    User(String),
    /// A Namespace.
    Namespace(String),
    /// A Secret.
    Secret(NsRef),
    /// Whether the API server authorizes that caller to `administer` Teams: a verb of our own, because anybody
    /// who may merely `update` them, such as a controller, is no administrator.
    Administrator(String),
    /// A param of policies, of any kind.
    Param(ParamKind, NsRef),
}

/// The kind of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKind {
    /// ButlerConfig.
    Config,
    /// Team.
    Team,
    /// TenantCluster.
    Cluster,
    /// TenantAddon.
    Addon,
    /// AddonDefinition.
    Definition,
    /// ProviderConfig.
    Provider,
    /// NetworkPool.
    Pool,
    /// IPAllocation.
    Allocation,
    /// ClusterCreationPolicy.
    CreationPolicy,
    /// User.
    User,
    /// Namespace.
    Namespace,
    /// Secret.
    Secret,
    /// The answer of the API server's authorization.
    Administrator,
    /// A param of policies.
    Param,
}

impl FactKey {
    /// The kind of the fact.
    pub fn kind(&self) -> FactKind {
        match self {
            Self::Config => FactKind::Config,
            Self::Team(_) => FactKind::Team,
            Self::Cluster(_) => FactKind::Cluster,
            Self::Addon(_) => FactKind::Addon,
            Self::Definition(_) => FactKind::Definition,
            Self::Provider(_) => FactKind::Provider,
            Self::Pool(_) => FactKind::Pool,
            Self::Allocation(_) => FactKind::Allocation,
            Self::CreationPolicy(_) => FactKind::CreationPolicy,
            Self::User(_) => FactKind::User,
            Self::Namespace(_) => FactKind::Namespace,
            Self::Secret(_) => FactKind::Secret,
            Self::Administrator(_) => FactKind::Administrator,
            Self::Param(..) => FactKind::Param,
        }
    }
}

impl fmt::Display for FactKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Config => "ButlerConfig",
            Self::Team => "Team",
            Self::Cluster => "TenantCluster",
            Self::Addon => "TenantAddon",
            Self::Definition => "AddonDefinition",
            Self::Provider => "ProviderConfig",
            Self::Pool => "NetworkPool",
            Self::Allocation => "IPAllocation",
            Self::CreationPolicy => "ClusterCreationPolicy",
            Self::User => "User",
            Self::Namespace => "Namespace",
            Self::Secret => "Secret",
            Self::Administrator => "authorization",
            Self::Param => "param",
        })
    }
}

impl fmt::Display for FactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config => f.write_str("ButlerConfig `butler`"),
            Self::Team(name) => write!(f, "Team `{name}`"),
            Self::Cluster(at) => write!(f, "TenantCluster `{}` in namespace `{}`", at.name, at.namespace),
            Self::Addon(at) => write!(f, "TenantAddon `{}` in namespace `{}`", at.name, at.namespace),
            Self::Definition(name) => write!(f, "AddonDefinition `{name}`"),
            Self::Provider(at) => write!(f, "ProviderConfig `{}` in namespace `{}`", at.name, at.namespace),
            Self::Pool(at) => write!(f, "NetworkPool `{}` in namespace `{}`", at.name, at.namespace),
            Self::Allocation(at) => write!(f, "IPAllocation `{}` in namespace `{}`", at.name, at.namespace),
            Self::CreationPolicy(name) => write!(f, "ClusterCreationPolicy `{name}`"),
            Self::User(email) => write!(f, "User with the e-mail address `{email}`"),
            Self::Namespace(name) => write!(f, "Namespace `{name}`"),
            Self::Secret(at) => write!(f, "Secret `{}` in namespace `{}`", at.name, at.namespace),
            Self::Administrator(caller) => write!(f, "authorization of `{caller}`"),
            Self::Param(kind, at) => write!(f, "{} `{}` in namespace `{}`", kind.kind, at.name, at.namespace),
        }
    }
}
