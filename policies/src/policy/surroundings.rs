//! What is known beside the request: by the webhook from its facts, by `butlerctl` from files.

use super::params::{ParamKind, ParamScope};
use super::request::{Document, Request};
use crate::facts::{FactKey, Lookup};

/// What expressions see here beyond what Kubernetes shows them. A file that uses one is ours only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extra {
    /// `team`: the Team that the request's namespace belongs to, or that the object names.
    Team,
    /// `config`: the ButlerConfig.
    Config,
    /// `provider`: the ProviderConfig that the cluster uses.
    Provider,
    /// `cluster`: the TenantCluster of an addon.
    Cluster,
    /// `usage`: what the team has, before this request: `clusters`, `nodes`, `cpu`, `memory`, `storage`.
    Usage,
}

impl Extra {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Team, Self::Config, Self::Provider, Self::Cluster, Self::Usage];

    /// As expressions name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Team => "team",
            Self::Config => "config",
            Self::Provider => "provider",
            Self::Cluster => "cluster",
            Self::Usage => "usage",
        }
    }
}

/// What is known beside a request. Each is asked for at most once per request, and only if a policy that matches uses it.
pub trait Surroundings {
    /// A Namespace, as [`super::complete_namespace`] leaves it.
    fn namespace(&self, name: &str) -> Lookup<Document>;

    /// Whether objects of a kind of params are in namespaces; nothing if nobody knows the kind.
    fn param_scope(&self, kind: &ParamKind) -> Option<ParamScope>;

    /// A param by name; its namespace is empty if it is in none.
    fn param(&self, kind: &ParamKind, namespace: &str, name: &str) -> Lookup<Document>;

    /// All params of a kind in a namespace, which is empty if they are in none, by name.
    fn params(&self, kind: &ParamKind, namespace: &str) -> Lookup<Vec<(String, Document)>>;

    /// What policies of our own see; absent is null to them.
    fn extra(&self, extra: Extra, request: &Request<'_>) -> Lookup<Document>;

    /// The objects that such a thing rests on, which are read once more before it denies anybody.
    fn rests_on(&self, extra: Extra, request: &Request<'_>) -> Vec<FactKey> {
        let _ = (extra, request);
        Vec::new()
    }
}

/// Nothing is known beside the request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Surroundings for Nothing {
    fn namespace(&self, _: &str) -> Lookup<Document> {
        Lookup::Absent
    }

    fn param_scope(&self, _: &ParamKind) -> Option<ParamScope> {
        None
    }

    fn param(&self, _: &ParamKind, _: &str, _: &str) -> Lookup<Document> {
        Lookup::Absent
    }

    fn params(&self, _: &ParamKind, _: &str) -> Lookup<Vec<(String, Document)>> {
        Lookup::Found(Vec::new())
    }

    fn extra(&self, _: Extra, _: &Request<'_>) -> Lookup<Document> {
        Lookup::Absent
    }
}
