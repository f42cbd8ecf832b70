//! One object more, or less, with everything that leads to it.

use std::sync::Arc;

use butler_api::reference::NsRef;
use butler_api::{IPAllocation, TenantAddon};

use super::shared_map::SharedMap;
use super::{Fact, FactKey, Facts};

impl Facts {
    /// Takes in one object, or its absence, and forgets what was known under that key before.
    pub fn learn(&mut self, key: FactKey, fact: Fact) {
        if let (FactKey::Param(..), Fact::Unreadable) = (&key, &fact) {
            // What is known of it stays: to take it for absent could lift what it denies.
            return;
        }
        self.unreadable.remove(&key);
        self.forget(&key);
        if self.unreadable_kinds.contains(&key.kind()) {
            self.learned_since.insert(key.clone());
        }
        match (key, fact) {
            (_, Fact::Absent) => {}
            (key, Fact::Unreadable) => {
                self.unreadable.insert(key);
            }
            (FactKey::Config, Fact::Config(config)) => self.config = Some(config),
            (FactKey::Team(name), Fact::Team(team)) => {
                let name: Arc<str> = name.into();
                self.teams_by_namespace.insert(team.namespace().into(), Arc::clone(&name));
                self.teams.insert(name, team);
            }
            (FactKey::Cluster(at), Fact::Cluster(cluster)) => {
                let at = Arc::new(at);
                if let Some(team) = &cluster.spec.team_ref {
                    add(&mut self.clusters_by_team, Arc::from(team.name.as_str()), &at);
                }
                match &cluster.spec.provider_config_ref {
                    Some(provider) => {
                        add(&mut self.clusters_by_provider, Arc::new(provider.resolve()), &at);
                    }
                    None => drop(self.clusters_without_provider.insert(Arc::clone(&at), ())),
                }
                self.clusters.insert(at, cluster);
            }
            (FactKey::Addon(at), Fact::Addon(addon)) => {
                let at = Arc::new(at);
                add(&mut self.addons_by_cluster, Arc::new(cluster_of(&addon, &at)), &at);
                if let Some(definition) = addon.spec.addon() {
                    add(&mut self.addons_by_definition, definition.into(), &at);
                }
                self.addons.insert(at, addon);
            }
            (FactKey::Definition(name), Fact::Definition(it)) => {
                self.definitions.insert(name.into(), it);
            }
            (FactKey::Provider(at), Fact::Provider(provider)) => {
                let at = Arc::new(at);
                for pool in &provider.spec.network.pool_refs {
                    add(&mut self.providers_by_pool, Arc::from(pool.name.as_str()), &at);
                }
                self.providers.insert(at, provider);
            }
            (FactKey::Pool(at), Fact::Pool(it)) => {
                self.pools.insert(Arc::new(at), it);
            }
            (FactKey::Allocation(at), Fact::Allocation(allocation)) => {
                let at = Arc::new(at);
                add(&mut self.allocations_by_pool, Arc::new(pool_of(&allocation, &at)), &at);
                self.allocations.insert(at, allocation);
            }
            (FactKey::CreationPolicy(name), Fact::CreationPolicy(it)) => {
                self.creation_policies.insert(name.into(), it);
            }
            (FactKey::User(email), Fact::User(user)) => {
                self.users_by_email.insert(email.to_lowercase().into(), user);
            }
            (FactKey::Namespace(name), Fact::Namespace(it)) => {
                self.namespaces.insert(name.into(), Arc::new(it));
            }
            (FactKey::Secret(at), Fact::Secret) => {
                self.secrets.insert(Arc::new(at), Arc::new(()));
            }
            (FactKey::Administrator(caller), Fact::Administrator) => {
                self.administrators.insert(caller.into(), ());
            }
            (FactKey::Param(kind, at), Fact::Param(object)) => self.params.learn(&kind, at, Some(object)),
            // An object under the key of another kind was read wrongly by the caller; nobody can say then.
            (key, _) => {
                self.unreadable.insert(key);
            }
        }
    }

    fn forget(&mut self, key: &FactKey) {
        match key {
            FactKey::Config => self.config = None,
            FactKey::Team(name) => {
                if let Some(team) = self.teams.remove(name.as_str()) {
                    self.teams_by_namespace.remove(team.namespace());
                }
            }
            FactKey::Cluster(at) => {
                if let Some(cluster) = self.clusters.remove(at) {
                    if let Some(team) = &cluster.spec.team_ref {
                        drop_from(&mut self.clusters_by_team, team.name.as_str(), at);
                    }
                    match &cluster.spec.provider_config_ref {
                        Some(provider) => drop_from(&mut self.clusters_by_provider, &provider.resolve(), at),
                        None => drop(self.clusters_without_provider.remove(at)),
                    }
                }
            }
            FactKey::Addon(at) => {
                if let Some(addon) = self.addons.remove(at) {
                    drop_from(&mut self.addons_by_cluster, &cluster_of(&addon, at), at);
                    if let Some(definition) = addon.spec.addon() {
                        drop_from(&mut self.addons_by_definition, definition, at);
                    }
                }
            }
            FactKey::Definition(name) => drop(self.definitions.remove(name.as_str())),
            FactKey::Provider(at) => {
                if let Some(provider) = self.providers.remove(at) {
                    for pool in &provider.spec.network.pool_refs {
                        drop_from(&mut self.providers_by_pool, pool.name.as_str(), at);
                    }
                }
            }
            FactKey::Pool(at) => drop(self.pools.remove(at)),
            FactKey::Allocation(at) => {
                if let Some(allocation) = self.allocations.remove(at) {
                    drop_from(&mut self.allocations_by_pool, &pool_of(&allocation, at), at);
                }
            }
            FactKey::CreationPolicy(name) => drop(self.creation_policies.remove(name.as_str())),
            FactKey::User(email) => drop(self.users_by_email.remove(email.to_lowercase().as_str())),
            FactKey::Namespace(name) => drop(self.namespaces.remove(name.as_str())),
            FactKey::Secret(at) => drop(self.secrets.remove(at)),
            FactKey::Administrator(caller) => drop(self.administrators.remove(caller.as_str())),
            FactKey::Param(kind, at) => self.params.learn(kind, at.clone(), None),
        }
    }
}

fn cluster_of(addon: &TenantAddon, at: &NsRef) -> NsRef {
    NsRef { name: addon.spec.cluster_ref.name.clone(), namespace: at.namespace.clone() }
}

fn pool_of(allocation: &IPAllocation, at: &NsRef) -> NsRef {
    NsRef { name: allocation.spec.pool_ref.name.clone(), namespace: at.namespace.clone() }
}

fn add<K>(index: &mut SharedMap<K, SharedMap<NsRef, ()>>, key: Arc<K>, entry: &Arc<NsRef>)
where
    K: std::hash::Hash + Eq + ?Sized,
{
    let mut entries = index.remove(&*key).unwrap_or_default();
    entries.insert(Arc::clone(entry), ());
    index.insert(key, entries);
}

fn drop_from<K>(index: &mut SharedMap<K, SharedMap<NsRef, ()>>, key: &K, entry: &NsRef)
where
    K: std::hash::Hash + Eq + ?Sized,
{
    let Some((key, mut entries)) = index.remove_entry(key) else { return };
    entries.remove(entry);
    if !entries.is_empty() {
        index.insert(key, entries);
    }
}
