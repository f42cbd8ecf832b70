//! Who gets a turn when something changes.

use std::sync::Arc;
use std::time::Duration;

use butler_api::butler_config::CONFIG_NAME;
use butler_api::reference::SYSTEM_NAMESPACE;
use butler_api::{
    ButlerConfig, NetworkPool, ProviderConfig, QuotaLedger, Team, TenantAddon, TenantCluster, labels,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::frame::child::label;
use crate::frame::{Change, Key, Turns, Watches};
use crate::known::Known;

/// What a status counts is what others do; to say so once a second is often enough.
const COUNTED: Duration = Duration::from_secs(1);

/// The queue of each controller, and what its objects depend on.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    known: Known,
    pub(crate) configs: Arc<Turns>,
    pub(crate) providers: Arc<Turns>,
    pub(crate) teams: Arc<Turns>,
}

impl Queues {
    pub(crate) fn new(known: Known) -> Self {
        Self { known, configs: Arc::default(), providers: Arc::default(), teams: Arc::default() }
    }

    /// Watches every kind, and gives a turn to whomever a change concerns.
    pub(crate) fn fill(&self, watches: &mut Watches) {
        macro_rules! watch {
            ($($how:ident $cache:ident $(with $turns:expr)? => $hear:ident,)*) => {$({
                let queues = self.clone();
                watches.$how(&self.known.$cache, $($turns,)? move |change| queues.$hear(&change));
            })*};
        }
        watch! {
            ours configs with Some(self.configs.clone()) => config_changed,
            ours teams with Some(self.teams.clone()) => team_changed,
            ours clusters with None => cluster_changed,
            ours addons with None => addon_changed,
            ours providers with Some(self.providers.clone()) => provider_changed,
            ours pools with None => pool_changed,
            ours ledgers with None => ledger_changed,
            theirs namespaces => namespace_changed,
            theirs roles => changed_in_namespace,
            theirs role_bindings => changed_in_namespace,
            theirs cluster_roles => changed_of_team,
            theirs cluster_role_bindings => changed_of_team,
        }
    }

    /// Limits and the default namespace concern every team, the default provider those that are going.
    fn config_changed(&self, change: &Change<'_, ButlerConfig>) {
        changed(&self.configs, change);
        let spec = |it: Option<&ButlerConfig>| it.map(|it| it.spec.clone());
        if spec(change.old) != spec(change.new) {
            for key in self.known.teams.keys() {
                self.teams.add(key);
            }
            self.going_providers();
        }
    }

    fn team_changed(&self, change: &Change<'_, Team>) {
        changed(&self.teams, change);
        self.counted();
        self.going_providers();
    }

    fn cluster_changed(&self, change: &Change<'_, TenantCluster>) {
        let teams = [change.old, change.new].into_iter().flatten().flat_map(|cluster| {
            let named = cluster.spec.team_ref.as_ref().map(|team| team.name.clone());
            named.into_iter().chain(cluster.metadata.namespace.clone())
        });
        for team in teams {
            self.team(&team);
        }
        self.counted();
        self.going_providers();
    }

    /// Who may change an addon depends on which there are, not on what they say.
    fn addon_changed(&self, change: &Change<'_, TenantAddon>) {
        if change.old.is_none() || change.new.is_none() {
            self.changed_in_namespace(change);
        }
    }

    fn provider_changed(&self, change: &Change<'_, ProviderConfig>) {
        changed(&self.providers, change);
    }

    fn pool_changed(&self, change: &Change<'_, NetworkPool>) {
        let Some(pool) = newest(change).filter(|it| it.namespace.as_deref() == Some(SYSTEM_NAMESPACE)) else {
            return;
        };
        let uses = |provider: &ProviderConfig| {
            provider.spec.network.pool_refs.iter().any(|it| Some(&it.name) == pool.name.as_ref())
        };
        for provider in self.known.providers.all().iter().filter(|it| uses(it)) {
            self.providers.add(Key::of(&provider.metadata));
        }
    }

    fn ledger_changed(&self, change: &Change<'_, QuotaLedger>) {
        let here = newest(change).filter(|it| it.namespace.as_deref() == Some(SYSTEM_NAMESPACE));
        let team = here.and_then(|it| it.name.as_deref()).map(Key::cluster_wide);
        if let Some(team) = team.filter(|team| self.known.teams.get(team).is_some()) {
            self.teams.add_in(team, COUNTED);
        }
    }

    fn namespace_changed<K: Resource>(&self, change: &Change<'_, K>) {
        let Some(name) = newest(change).and_then(|it| it.name.as_deref()) else { return };
        self.team(name);
        let config = Key::cluster_wide(CONFIG_NAME);
        if self.known.configs.get(&config).is_some_and(|it| it.spec.default_namespace() == name) {
            self.configs.add_for_others(config);
        }
    }

    fn changed_in_namespace<K: Resource>(&self, change: &Change<'_, K>) {
        if let Some(namespace) = newest(change).and_then(|it| it.namespace.as_deref()) {
            self.team(namespace);
        }
    }

    fn changed_of_team<K: Resource>(&self, change: &Change<'_, K>) {
        let metadata = [change.old, change.new].into_iter().flatten().map(Resource::meta);
        for team in metadata.filter_map(|it| label(it, labels::TEAM)) {
            self.team(team);
        }
    }

    fn team(&self, name: &str) {
        let key = Key::cluster_wide(name);
        if self.known.teams.get(&key).is_some() {
            self.teams.add_for_others(key);
        }
    }

    fn counted(&self) {
        self.configs.add_in(Key::cluster_wide(CONFIG_NAME), COUNTED);
    }

    /// A provider that is being deleted waits for the last of its clusters. It lists them all before it goes, which a change
    /// of any of them must not make it do each time.
    fn going_providers(&self) {
        for provider in self.known.providers.all() {
            if provider.metadata.deletion_timestamp.is_some() {
                self.providers.add_in(Key::of(&provider.metadata), COUNTED);
            }
        }
    }
}

/// An object whose turn it is because of itself. What somebody asks for is done at once; of its status, which is ours, we
/// may hear before the answer to our own write, and that is no reason to hurry.
fn changed<K: Resource>(turns: &Turns, change: &Change<'_, K>) {
    let Some(newest) = newest(change) else { return };
    let asked = |it: Option<&K>| it.map(|it| (it.meta().generation, it.meta().deletion_timestamp.clone()));
    if asked(change.old) == asked(change.new) {
        turns.add_for_others(Key::of(newest));
    } else {
        turns.add(Key::of(newest));
    }
}

fn newest<'a, K: Resource>(change: &Change<'a, K>) -> Option<&'a ObjectMeta> {
    change.new.or(change.old).map(Resource::meta)
}
