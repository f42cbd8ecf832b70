//! What the handler knows while it is asked: platforms that are in order, empty, and half out of sight.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use butler_api::reference::NsRef;
use butler_policies::Presumption;
use butler_policies::facts::{Fact, FactKey, FactKind, Facts, NamespaceFact};
use butler_policies::review::Caller;
use butler_webhook::facts::Look;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::originals;

/// The snapshots: everything there is, half of it, nothing, and everything with some of it unreadable.
pub(crate) fn snapshots() -> Vec<Facts> {
    let all = everything();
    let mut whole = Facts::default();
    let mut half = Facts::default();
    for (index, (key, fact)) in all.iter().enumerate() {
        whole.learn(key.clone(), fact.clone());
        if index % 2 == 0 {
            half.learn(key.clone(), fact.clone());
        }
    }
    let mut dim = whole.clone();
    dim.lose(FactKind::Cluster);
    dim.lose(FactKind::User);
    dim.learn(FactKey::Team("team-a".into()), Fact::Unreadable);
    dim.learn(FactKey::Config, Fact::Unreadable);
    vec![whole.clone(), half, whole, Facts::default(), dim]
}

/// Everything there is, by the key under which it is looked up.
pub(crate) fn everything() -> &'static BTreeMap<FactKey, Fact> {
    static ALL: OnceLock<BTreeMap<FactKey, Fact>> = OnceLock::new();
    ALL.get_or_init(read_everything)
}

fn read_everything() -> BTreeMap<FactKey, Fact> {
    let mut all = BTreeMap::new();
    let objects = originals::objects();
    for object in objects.iter().chain(&own_objects()) {
        if let Some((key, fact)) = fact_of(object) {
            all.insert(key, fact);
        }
    }
    all
}

/// A team whose limits, environments and defaults all say something, with a cluster and an addon.
fn own_objects() -> Vec<Value> {
    let meta = |name: &str, namespace: &str| json!({"name": name, "namespace": namespace});
    vec![
        json!({"kind": "ButlerConfig", "metadata": {"name": "butler"}, "spec": {
            "multiTenancy": {"mode": "Enforced"}, "defaultProviderConfigRef": {"name": "harvester-prod"}}}),
        json!({"kind": "Team", "metadata": {"name": "team-a"}, "spec": {
            "access": {"users": [{"name": "ana@example.org", "role": "admin"}]},
            "resourceLimits": {"allowedKubernetesVersions": ["v1.31.4", "v1.30.2"], "maxClusters": 5},
            "environments": [{"name": "prod"}, {"name": "dev"}],
            "clusterDefaults": {"kubernetesVersion": "v1.31.4", "workerCount": 2, "defaultAddons": ["cilium", "argocd"]}}}),
        json!({"kind": "TenantCluster", "metadata": meta("my-cluster", "team-a"), "spec": {
            "kubernetesVersion": "v1.31.4", "teamRef": {"name": "team-a"}, "providerConfigRef": {"name": "harvester-prod"},
            "workers": {"replicas": 3}}}),
        json!({"kind": "TenantAddon", "metadata": meta("my-addon", "team-a"), "spec": {
            "clusterRef": {"name": "my-cluster"}, "addon": "argocd"}}),
        json!({"kind": "ClusterCreationPolicy", "metadata": {"name": "images"}, "spec": {
            "scope": {"platformWide": {}}, "options": {"image": {"mode": "pin", "values": ["default/talos"]}}}}),
        json!({"kind": "User", "metadata": {"name": "ana"}, "spec": {"email": "ana@example.org"}}),
        json!({"kind": "Namespace", "metadata": {"name": "team-a"}, "team": "team-a"}),
        json!({"kind": "Namespace", "metadata": {"name": "payments"}}),
        json!({"kind": "Secret", "metadata": meta("harvester-prod", "butler-system")}),
    ]
}

/// The fact that an object is, unless it is one that nobody could have stored.
pub(crate) fn fact_of(object: &Value) -> Option<(FactKey, Fact)> {
    fn typed<T: DeserializeOwned>(object: &Value) -> Option<Arc<T>> {
        serde_json::from_value(object.clone()).ok().map(Arc::new)
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&object["metadata"]["name"]);
    let at = NsRef { name: name.clone(), namespace: text(&object["metadata"]["namespace"]) };
    Some(match object["kind"].as_str()? {
        "ButlerConfig" => (FactKey::Config, Fact::Config(typed(object)?)),
        "Team" => (FactKey::Team(name), Fact::Team(typed(object)?)),
        "TenantCluster" => (FactKey::Cluster(at), Fact::Cluster(typed(object)?)),
        "TenantAddon" => (FactKey::Addon(at), Fact::Addon(typed(object)?)),
        "AddonDefinition" => (FactKey::Definition(name), Fact::Definition(typed(object)?)),
        "ProviderConfig" => (FactKey::Provider(at), Fact::Provider(typed(object)?)),
        "NetworkPool" => (FactKey::Pool(at), Fact::Pool(typed(object)?)),
        "IPAllocation" => (FactKey::Allocation(at), Fact::Allocation(typed(object)?)),
        "ClusterCreationPolicy" => (FactKey::CreationPolicy(name), Fact::CreationPolicy(typed(object)?)),
        "User" => (FactKey::User(text(&object["spec"]["email"])), Fact::User(typed(object)?)),
        "Namespace" => {
            let team = object["team"].as_str().map(str::to_owned);
            (FactKey::Namespace(name), Fact::Namespace(NamespaceFact { team, object: None }))
        }
        "Secret" => (FactKey::Secret(at), Fact::Secret),
        _ => return None,
    })
}

/// Live reads: what there is, that there is none, or that nobody can say. Which of them depends on the case and on
/// what is read, so that reading twice gives the same.
pub(crate) struct Elsewhere {
    salt: Arc<AtomicU64>,
}

impl Elsewhere {
    pub(crate) fn new(salt: &Arc<AtomicU64>) -> Self {
        Self { salt: Arc::clone(salt) }
    }
}

impl Look for Elsewhere {
    async fn look(&self, key: &FactKey, _: &Caller<'_>) -> Fact {
        let mut hasher = DefaultHasher::new();
        (self.salt.load(Ordering::Relaxed), key).hash(&mut hasher);
        match hasher.finish() % 4 {
            0 => Fact::Absent,
            1 => Fact::Unreadable,
            _ if matches!(key, FactKey::Administrator(_)) => Fact::Administrator,
            _ => everything().get(key).cloned().unwrap_or(Fact::Absent),
        }
    }

    async fn list(&self, presumption: &Presumption) -> Option<Vec<(FactKey, Fact)>> {
        if self.salt.load(Ordering::Relaxed).is_multiple_of(4) {
            return None;
        }
        let all = everything().iter().filter(|(key, _)| key.kind() == presumption.kind);
        Some(all.map(|(key, fact)| (key.clone(), fact.clone())).collect())
    }
}
