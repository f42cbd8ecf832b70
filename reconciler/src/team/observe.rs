//! What there is around a team. Asks the API server only when something is about to be deleted.

use std::sync::Arc;

use butler_api::butler_config::CONFIG_NAME;
use butler_api::reference::SYSTEM_NAMESPACE;
use butler_api::{ButlerConfig, QuotaLedger, Team, TenantAddon, TenantCluster};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, ListParams};
use kube::core::PartialObjectMeta;
use kube::{Client, ResourceExt};

use crate::frame::{Error, Key};
use crate::known::{Known, of_namespace, of_team};

/// What was looked at.
#[derive(Clone, Debug, Default)]
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
    /// When the team is being deleted: all clusters that are in its namespace now, whatever a watch has told.
    pub clusters_now: Vec<String>,
}

pub(super) async fn observe(client: &Client, known: &Known, team: &Team) -> Result<Observed, Error> {
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
    let clusters_now = match &team.metadata.deletion_timestamp {
        Some(_) => clusters_in(client, &name).await?,
        None => Vec::new(),
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
    Ok(Observed {
        config: known.configs.get(&Key::cluster_wide(CONFIG_NAME)),
        namespace: known.namespaces.get(&Key::cluster_wide(&name)),
        roles: known.roles.by(&here),
        bindings: known.role_bindings.by(&here),
        cluster_roles,
        cluster_bindings,
        clusters,
        ledger: known.ledgers.get(&Key::namespaced(SYSTEM_NAMESPACE, &name)),
        addons: known.addons.by(&here),
        clusters_now,
    })
}

/// A consistent list: the namespace is deleted on the strength of it.
async fn clusters_in(client: &Client, namespace: &str) -> Result<Vec<String>, Error> {
    let api = Api::<PartialObjectMeta<TenantCluster>>::namespaced(client.clone(), namespace);
    let found = api.list(&ListParams::default()).await;
    let found =
        found.map_err(|error| Error::api("list", format!("TenantClusters of `{namespace}`"), error))?;
    Ok(found.items.iter().map(ResourceExt::name_any).collect())
}
