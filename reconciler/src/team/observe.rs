//! What there is around a team. Asks the API server only when something is about to be deleted.

use std::sync::Arc;
use std::time::Duration;

use butler_api::butler_config::CONFIG_NAME;
use butler_api::reference::SYSTEM_NAMESPACE;
use butler_api::{ButlerConfig, QuotaLedger, Team, TenantAddon, TenantCluster};
use butler_program::Failure;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, ListParams};
use kube::core::PartialObjectMeta;
use kube::{Client, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::frame::{Error, Key};
use crate::known::{Known, of_namespace, of_team};

/// How long a question may take. Whoever is to lose access does not wait longer for an answer that is only about the rest.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was looked at.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The platform's settings.
    pub config: Option<Arc<ButlerConfig>>,
    /// The namespace of the team's name, whoever's it is.
    pub namespace: Option<Arc<PartialObjectMeta<Namespace>>>,
    /// Everybody's in that namespace.
    pub roles: Vec<Arc<Role>>,
    /// Everybody's in that namespace.
    pub bindings: Vec<Arc<RoleBinding>>,
    /// Those with the team's label, and those that have the names of the team's.
    pub cluster_roles: Vec<Arc<ClusterRole>>,
    /// Those with the team's label, and those that have the names of the team's.
    pub cluster_bindings: Vec<Arc<ClusterRoleBinding>>,
    /// The team's, and all others in its namespace.
    pub clusters: Vec<Arc<TenantCluster>>,
    /// What they take, as the webhook counts it.
    pub ledger: Option<Arc<QuotaLedger>>,
    /// Everybody's in that namespace.
    pub addons: Vec<Arc<TenantAddon>>,
    /// When the team is being deleted: all clusters that are in its namespace now, whatever a watch has told; or why that
    /// is not known, or not whether there is a namespace.
    pub clusters_now: Result<Vec<String>, Error>,
}

pub(super) async fn observe(client: &Client, known: &Known, team: &Team) -> Observed {
    let name = team.name_any();
    let (here, own) = (of_namespace(&name), of_team(&name));
    let [member, admin] = super::rights::cluster_wide_names(&name);
    let mut clusters = known.clusters.by(&own);
    clusters.extend(
        known
            .clusters
            .by(&here)
            .into_iter()
            .filter(|it| it.spec.team_ref.as_ref().is_none_or(|team| team.name != name)),
    );
    let cached = known.namespaces.get(&Key::cluster_wide(&name));
    let (namespace, clusters_now) = match &team.metadata.deletion_timestamp {
        None => (cached, Ok(Vec::new())),
        Some(_) => last_look(client, &name, cached).await,
    };
    let mut cluster_roles = known.cluster_roles.by(&own);
    let mut cluster_bindings = known.cluster_role_bindings.by(&own);
    for name in [member, admin] {
        let key = Key::cluster_wide(name);
        let role = known.cluster_roles.get(&key);
        cluster_roles
            .extend(role.filter(|it| !cluster_roles.iter().any(|own| own.metadata.name == it.metadata.name)));
        let binding = known.cluster_role_bindings.get(&key);
        cluster_bindings.extend(
            binding.filter(|it| !cluster_bindings.iter().any(|own| own.metadata.name == it.metadata.name)),
        );
    }
    Observed {
        config: known.configs.get(&Key::cluster_wide(CONFIG_NAME)),
        namespace,
        roles: known.roles.by(&here),
        bindings: known.role_bindings.by(&here),
        cluster_roles,
        cluster_bindings,
        clusters,
        ledger: known.ledgers.get(&Key::namespaced(SYSTEM_NAMESPACE, &name)),
        addons: known.addons.by(&here),
        clusters_now,
    }
}

type Ns = Arc<PartialObjectMeta<Namespace>>;

/// By consistent lists: the namespace is deleted on the strength of there being no cluster, and the team let go on the
/// strength of there being no namespace.
async fn last_look(
    client: &Client,
    team: &str,
    cached: Option<Ns>,
) -> (Option<Ns>, Result<Vec<String>, Error>) {
    let api = Api::<PartialObjectMeta<TenantCluster>>::namespaced(client.clone(), team);
    let clusters = list(&api, &ListParams::default(), format!("TenantClusters of `{team}`")).await;
    let clusters = clusters.map(|all| all.iter().map(ResourceExt::name_any).collect());
    if cached.is_some() || clusters.is_err() {
        return (cached, clusters);
    }
    let api = Api::<PartialObjectMeta<Namespace>>::all(client.clone());
    let own = ListParams::default().fields(&format!("metadata.name={team}"));
    match list(&api, &own, format!("Namespace `{team}`")).await {
        Ok(found) => (found.into_iter().next().map(Arc::new), clusters),
        Err(error) => (None, Err(error)),
    }
}

async fn list<K>(api: &Api<K>, params: &ListParams, what: String) -> Result<Vec<K>, Error>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let found = timeout(PATIENCE, api.list(params)).await.map_err(|_| Failure::no_answer());
    let found = found.and_then(|found| found.map_err(Failure::from));
    found.map(|found| found.items).map_err(|failure| Error::api("list", what, failure))
}

#[cfg(test)]
impl Default for Observed {
    fn default() -> Self {
        Self {
            config: None,
            namespace: None,
            roles: Vec::new(),
            bindings: Vec::new(),
            cluster_roles: Vec::new(),
            cluster_bindings: Vec::new(),
            clusters: Vec::new(),
            ledger: None,
            addons: Vec::new(),
            clusters_now: Ok(Vec::new()),
        }
    }
}
