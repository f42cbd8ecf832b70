//! What may be known: an immutable snapshot of the objects that rules look at.
//!
//! Looking something up costs the same however many objects there are, also in the other direction (which
//! clusters use this provider?). Copying the snapshot and changing one object in the copy costs microseconds,
//! so that one is published per watch event.
//!
//! A lookup has three answers: here it is, there is none, and nobody can say. A rule that needs what nobody can
//! say denies. A finding names the facts it rests on ([`FactKey`]), because a snapshot may lag behind: before a
//! denial is given, those facts are read once more from the API server, put into a copy of the snapshot with
//! [`Facts::learn`], and the review is judged again.

mod key;
mod learn;
mod object;
mod params;
pub mod shared_map;

use std::collections::BTreeSet;
use std::sync::Arc;

use butler_api::reference::NsRef;
use butler_api::{
    AddonDefinition, ButlerConfig, ButlerConfigSpec, ClusterCreationPolicy, IPAllocation, NetworkPool,
    ProviderConfig, Team, TenantAddon, TenantCluster, User,
};

pub use self::key::{FactKey, FactKind};
pub use self::object::{Fact, NamespaceFact};
pub use self::params::LiveParams;
use self::shared_map::SharedMap;

type Named<T> = SharedMap<str, Arc<T>>;
type Placed<T> = SharedMap<NsRef, Arc<T>>;
type Index = SharedMap<str, SharedMap<NsRef, ()>>;
type PlacedIndex = SharedMap<NsRef, SharedMap<NsRef, ()>>;

/// A snapshot of what is known.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    config: Option<Arc<ButlerConfig>>,
    teams: Named<Team>,
    teams_by_namespace: SharedMap<str, Arc<str>>,
    clusters: Placed<TenantCluster>,
    clusters_by_team: Index,
    clusters_by_provider: PlacedIndex,
    /// Defaults write the provider into every cluster, so only those from before the gate are here.
    clusters_without_provider: SharedMap<NsRef, ()>,
    addons: Placed<TenantAddon>,
    addons_by_cluster: PlacedIndex,
    addons_by_definition: Index,
    definitions: Named<AddonDefinition>,
    providers: Placed<ProviderConfig>,
    providers_by_pool: Index,
    pools: Placed<NetworkPool>,
    allocations: Placed<IPAllocation>,
    allocations_by_pool: PlacedIndex,
    creation_policies: Named<ClusterCreationPolicy>,
    users_by_email: SharedMap<str, Arc<User>>,
    namespaces: Named<NamespaceFact>,
    secrets: Placed<()>,
    administrators: SharedMap<str, ()>,
    unreadable: BTreeSet<FactKey>,
    unreadable_kinds: BTreeSet<FactKind>,
    /// What was learned of a kind after it was lost, and is therefore of today.
    learned_since: BTreeSet<FactKey>,
    /// The params of policies that are in the cluster.
    pub params: LiveParams,
}

/// The answer to a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<T> {
    /// Here it is.
    Found(T),
    /// There is none.
    Absent,
    /// Nobody can say: it could not be read, or what was read is not understood.
    Unknown,
}

impl<T> Lookup<T> {
    /// What was found.
    pub fn found(self) -> Option<T> {
        match self {
            Self::Found(value) => Some(value),
            Self::Absent | Self::Unknown => None,
        }
    }
}

impl Facts {
    /// The platform's settings; a platform without any has the default of each.
    pub fn config(&self) -> Lookup<&ButlerConfig> {
        self.answer(self.config.as_deref(), || FactKey::Config)
    }

    /// The platform's settings where a missing or unreadable ButlerConfig means the defaults.
    pub fn config_spec(&self) -> Option<&ButlerConfigSpec> {
        self.config.as_deref().map(|config| &config.spec)
    }

    /// A Team.
    pub fn team(&self, name: &str) -> Lookup<&Team> {
        self.answer(self.teams.get(name).map(|team| &**team), || FactKey::Team(name.to_owned()))
    }

    /// The Team that a namespace belongs to.
    pub fn team_of_namespace(&self, namespace: &str) -> Lookup<&Team> {
        let name = self.teams_by_namespace.get(namespace).map_or(namespace, |name| &**name);
        let team = self.teams.get(name).map(|team| &**team).filter(|team| team.namespace() == namespace);
        self.answer(team, || FactKey::Team(name.to_owned()))
    }

    /// All Teams, in no order.
    pub fn teams(&self) -> impl Iterator<Item = &Team> {
        self.teams.iter().map(|(_, team)| &**team)
    }

    /// A TenantCluster.
    pub fn cluster(&self, at: &NsRef) -> Lookup<&TenantCluster> {
        self.answer(self.clusters.get(at).map(|it| &**it), || FactKey::Cluster(at.clone()))
    }

    /// All TenantClusters, in no order. There may be thousands: for what happens seldom.
    pub fn clusters(&self) -> impl Iterator<Item = &TenantCluster> {
        self.clusters.iter().map(|(_, cluster)| &**cluster)
    }

    /// How many TenantClusters there are.
    pub fn cluster_count(&self) -> usize {
        self.clusters.len()
    }

    /// The TenantClusters of a team.
    pub fn clusters_of_team<'a>(&'a self, team: &str) -> impl Iterator<Item = &'a TenantCluster> + use<'a> {
        let keys = self.clusters_by_team.get(team).into_iter().flat_map(|keys| keys.iter());
        keys.filter_map(|(key, ())| self.clusters.get(key).map(|it| &**it))
    }

    /// The TenantClusters that use a ProviderConfig, whether they name it or got it from their team or the
    /// platform.
    pub fn clusters_of_provider<'a>(
        &'a self,
        provider: &NsRef,
    ) -> impl Iterator<Item = &'a TenantCluster> + use<'a> {
        let named = self.clusters_by_provider.get(provider).into_iter().flat_map(|keys| keys.iter());
        let named = named.filter_map(|(key, ())| self.clusters.get(key).map(|it| &**it));
        let provider = provider.clone();
        let others = self.clusters_without_provider.iter().filter_map(|(key, ())| self.clusters.get(key));
        let others = others.map(|it| &**it);
        named.chain(others.filter(move |cluster| self.provider_of(cluster).as_ref() == Some(&provider)))
    }

    /// The TenantAddons of a cluster.
    pub fn addons_of_cluster<'a>(
        &'a self,
        cluster: &NsRef,
    ) -> impl Iterator<Item = &'a TenantAddon> + use<'a> {
        let keys = self.addons_by_cluster.get(cluster).into_iter().flat_map(|keys| keys.iter());
        keys.filter_map(|(key, ())| self.addons.get(key).map(|it| &**it))
    }

    /// The TenantAddons that install an AddonDefinition.
    pub fn addons_of_definition<'a>(
        &'a self,
        definition: &str,
    ) -> impl Iterator<Item = &'a TenantAddon> + use<'a> {
        let keys = self.addons_by_definition.get(definition).into_iter().flat_map(|keys| keys.iter());
        keys.filter_map(|(key, ())| self.addons.get(key).map(|it| &**it))
    }

    /// An AddonDefinition.
    pub fn definition(&self, name: &str) -> Lookup<&AddonDefinition> {
        self.answer(self.definitions.get(name).map(|it| &**it), || FactKey::Definition(name.to_owned()))
    }

    /// All AddonDefinitions, in no order.
    pub fn definitions(&self) -> impl Iterator<Item = &AddonDefinition> {
        self.definitions.iter().map(|(_, definition)| &**definition)
    }

    /// A ProviderConfig.
    pub fn provider(&self, at: &NsRef) -> Lookup<&ProviderConfig> {
        self.answer(self.providers.get(at).map(|it| &**it), || FactKey::Provider(at.clone()))
    }

    /// The ProviderConfigs that allocate from a NetworkPool of that name.
    pub fn providers_of_pool<'a>(&'a self, pool: &str) -> impl Iterator<Item = &'a ProviderConfig> + use<'a> {
        let keys = self.providers_by_pool.get(pool).into_iter().flat_map(|keys| keys.iter());
        keys.filter_map(|(key, ())| self.providers.get(key).map(|it| &**it))
    }

    /// A NetworkPool.
    pub fn pool(&self, at: &NsRef) -> Lookup<&NetworkPool> {
        self.answer(self.pools.get(at).map(|it| &**it), || FactKey::Pool(at.clone()))
    }

    /// All NetworkPools, in no order.
    pub fn pools(&self) -> impl Iterator<Item = &NetworkPool> {
        self.pools.iter().map(|(_, pool)| &**pool)
    }

    /// The IPAllocations from a NetworkPool.
    pub fn allocations_of_pool<'a>(
        &'a self,
        pool: &NsRef,
    ) -> impl Iterator<Item = &'a IPAllocation> + use<'a> {
        let keys = self.allocations_by_pool.get(pool).into_iter().flat_map(|keys| keys.iter());
        keys.filter_map(|(key, ())| self.allocations.get(key).map(|it| &**it))
    }

    /// All ClusterCreationPolicies, in no order. There are a handful on a whole platform.
    pub fn creation_policies(&self) -> impl Iterator<Item = &ClusterCreationPolicy> {
        self.creation_policies.iter().map(|(_, policy)| &**policy)
    }

    /// The person with that e-mail address, whatever its case.
    pub fn user(&self, email: &str) -> Lookup<&User> {
        let email = email.to_lowercase();
        self.answer(self.users_by_email.get(email.as_str()).map(|it| &**it), || FactKey::User(email.clone()))
    }

    /// A Namespace.
    pub fn namespace(&self, name: &str) -> Lookup<&NamespaceFact> {
        self.answer(self.namespaces.get(name).map(|it| &**it), || FactKey::Namespace(name.to_owned()))
    }

    /// Whether there is such a Secret. What is in it is nobody's business here.
    pub fn secret(&self, at: &NsRef) -> Lookup<()> {
        self.answer(self.secrets.get(at).map(|_| ()), || FactKey::Secret(at.clone()))
    }

    /// Whether the API server's own authorization makes that caller an administrator of the platform. It is asked
    /// only when a denial rests on it.
    pub fn is_authorized_administrator(&self, caller: &str) -> bool {
        self.administrators.get(caller).is_some()
    }

    fn answer<T>(&self, found: Option<T>, key: impl FnOnce() -> FactKey) -> Lookup<T> {
        let answer = found.map_or(Lookup::Absent, Lookup::Found);
        if self.unreadable.is_empty() && self.unreadable_kinds.is_empty() {
            return answer;
        }
        let key = key();
        let is_old = self.unreadable_kinds.contains(&key.kind()) && !self.learned_since.contains(&key);
        if is_old || self.unreadable.contains(&key) { Lookup::Unknown } else { answer }
    }

    /// Whether that object is known to be there.
    pub fn knows(&self, key: &FactKey) -> bool {
        let is_there = match key {
            FactKey::Config => self.config.is_some(),
            FactKey::Team(name) => self.teams.get(name).is_some(),
            FactKey::Cluster(at) => self.clusters.get(at).is_some(),
            FactKey::Addon(at) => self.addons.get(at).is_some(),
            FactKey::Definition(name) => self.definitions.get(name).is_some(),
            FactKey::Provider(at) => self.providers.get(at).is_some(),
            FactKey::Pool(at) => self.pools.get(at).is_some(),
            FactKey::Allocation(at) => self.allocations.get(at).is_some(),
            FactKey::CreationPolicy(name) => self.creation_policies.get(name).is_some(),
            FactKey::User(email) => self.users_by_email.get(email.to_lowercase().as_str()).is_some(),
            FactKey::Namespace(name) => self.namespaces.get(name).is_some(),
            FactKey::Secret(at) => self.secrets.get(at).is_some(),
            FactKey::Administrator(caller) => self.administrators.get(caller).is_some(),
            FactKey::Param(kind, at) => {
                matches!(self.params.find(kind, &at.namespace, &at.name), Lookup::Found(_))
            }
        };
        self.answer(is_there.then_some(()), || key.clone()) == Lookup::Found(())
    }

    /// Whether everything of that kind is known, so that finding none means that there is none.
    pub fn knows_all(&self, kind: FactKind) -> bool {
        !self.unreadable_kinds.contains(&kind) && !self.unreadable.iter().any(|key| key.kind() == kind)
    }

    /// Whether anything of that kind can be read at the moment; single objects of it may still be unreadable.
    pub fn hears_of(&self, kind: FactKind) -> bool {
        !self.unreadable_kinds.contains(&kind)
    }

    /// Nothing of that kind can be read at the moment. What is remembered of it may be long past, so nobody can say,
    /// except of what is learned from here on.
    pub fn lose(&mut self, kind: FactKind) {
        self.unreadable_kinds.insert(kind);
    }

    /// That kind can be read again.
    pub fn regain(&mut self, kind: FactKind) {
        self.unreadable_kinds.remove(&kind);
        self.learned_since.retain(|key| key.kind() != kind);
    }

    /// The ProviderConfig that a cluster uses: its own, its team's or the platform's.
    fn provider_of(&self, cluster: &TenantCluster) -> Option<NsRef> {
        let team = cluster.spec.team_ref.as_ref().and_then(|team| self.teams.get(team.name.as_str()));
        cluster.spec.provider(team.map(|team| &team.spec), self.config_spec())
    }
}

#[cfg(test)]
mod tests;
