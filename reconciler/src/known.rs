//! Everything that is watched, and how it is found.

use butler_api::labels;
use butler_api::{ButlerConfig, NetworkPool, ProviderConfig, QuotaLedger, Team, TenantAddon, TenantCluster};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::PartialObjectMeta;

use crate::frame::Cache;
use crate::frame::child::label;

/// What is known of each kind. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Known {
    /// All there are; one of them counts.
    pub configs: Cache<ButlerConfig>,
    /// Teams.
    pub teams: Cache<Team>,
    /// Clusters, by the team that they name ([`of_team`]) and by namespace ([`of_namespace`]).
    pub clusters: Cache<TenantCluster>,
    /// Addons, by namespace.
    pub addons: Cache<TenantAddon>,
    /// Providers.
    pub providers: Cache<ProviderConfig>,
    /// Pools.
    pub pools: Cache<NetworkPool>,
    /// What the clusters of a team take, as the webhook counts it.
    pub ledgers: Cache<QuotaLedger>,
    /// The metadata of namespaces.
    pub namespaces: Cache<PartialObjectMeta<Namespace>>,
    /// Roles, everybody's, by namespace: one that is in the way must be seen.
    pub roles: Cache<Role>,
    /// Role bindings, everybody's, by namespace.
    pub role_bindings: Cache<RoleBinding>,
    /// Cluster roles, everybody's, by the team that they were made for.
    pub cluster_roles: Cache<ClusterRole>,
    /// Cluster role bindings, everybody's, by the team that they were made for.
    pub cluster_role_bindings: Cache<ClusterRoleBinding>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            configs: Cache::new(|_| Vec::new()),
            teams: Cache::new(|_| Vec::new()),
            clusters: Cache::new(|cluster| {
                let team = cluster.spec.team_ref.as_ref().map(|team| of_team(&team.name));
                team.into_iter().chain(by_namespace(&cluster.metadata)).collect()
            }),
            addons: Cache::new(|addon| by_namespace(&addon.metadata)),
            providers: Cache::new(|_| Vec::new()),
            pools: Cache::new(|_| Vec::new()),
            ledgers: Cache::new(|_| Vec::new()),
            namespaces: Cache::new(|_| Vec::new()),
            roles: Cache::new(|role| by_namespace(&role.metadata)),
            role_bindings: Cache::new(|binding| by_namespace(&binding.metadata)),
            cluster_roles: Cache::new(|role| by_team(&role.metadata)),
            cluster_role_bindings: Cache::new(|binding| by_team(&binding.metadata)),
        }
    }
}

impl Known {
    /// Waits until every kind has been listed: who acts on half of it removes what it has not heard of.
    pub async fn synced(&self) {
        // Taken apart in full, so that a new kind cannot be forgotten.
        let Self {
            configs,
            teams,
            clusters,
            addons,
            providers,
            pools,
            ledgers,
            namespaces,
            roles,
            role_bindings,
            cluster_roles,
            cluster_role_bindings,
        } = self;
        configs.synced().await;
        teams.synced().await;
        clusters.synced().await;
        addons.synced().await;
        providers.synced().await;
        pools.synced().await;
        ledgers.synced().await;
        namespaces.synced().await;
        roles.synced().await;
        role_bindings.synced().await;
        cluster_roles.synced().await;
        cluster_role_bindings.synced().await;
    }
}

/// The word under which what belongs to a team is found.
pub fn of_team(team: &str) -> String {
    format!("team/{team}")
}

/// The word under which what is in a namespace is found.
pub fn of_namespace(namespace: &str) -> String {
    format!("namespace/{namespace}")
}

fn by_namespace(metadata: &ObjectMeta) -> Vec<String> {
    metadata.namespace.as_deref().map(of_namespace).into_iter().collect()
}

fn by_team(metadata: &ObjectMeta) -> Vec<String> {
    label(metadata, labels::TEAM).map(of_team).into_iter().collect()
}
