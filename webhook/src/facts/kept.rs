//! What is kept of each kind, and under which key.
//!
//! Thousands of objects stay in memory for as long as the program runs, so what no rule reads is dropped before an
//! object is stored: who wrote which field when, the text that `kubectl apply` leaves behind, and most of the status.

use std::fmt::Debug;
use std::sync::Arc;

use butler_api::labels;
use butler_api::reference::NsRef;
use butler_api::tenant_cluster::status::{ObservedState, TenantClusterStatus};
use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, IPAllocation, IPAllocationStatus, NetworkPool,
    ProviderConfig, Team, TeamStatus, TenantAddon, TenantCluster, User,
};
use butler_policies::cel::Tree;
use butler_policies::facts::{Fact, FactKey, FactKind, NamespaceFact};
use butler_policies::policy::{Document, complete_namespace};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DeserializeGuard;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::failure::without_quotes;

/// The only ButlerConfig that counts.
pub(super) const CONFIG_NAME: &str = "butler";
/// Holds a second copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// One object as it is remembered.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Name and namespace of the object; the namespace is empty for one that is in none.
    pub(super) name: NsRef,
    /// The key of its fact, unless the object cannot be read and its name does not tell.
    pub(super) key: Option<FactKey>,
    /// What was read.
    pub(super) fact: Fact,
}

/// A kind of which facts are made.
pub(super) trait Kept:
    Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static
{
    /// The kind of the fact.
    const KIND: FactKind;
    /// Selects the objects that count, if not all do.
    const FIELDS: Option<&'static str> = None;

    /// The key of a fact, from what is there even if the rest cannot be read.
    fn key_by_name(name: NsRef) -> Option<FactKey>;

    /// The key of the fact.
    fn key(&self) -> Option<FactKey> {
        Self::key_by_name(name_of(self.meta()))
    }

    /// Drops what no rule reads.
    fn slim(&mut self);

    /// The fact itself.
    fn into_fact(self) -> Fact;

    /// The fact without what no rule reads.
    fn into_slim_fact(mut self) -> Fact {
        slim_metadata(self.meta_mut());
        self.slim();
        self.into_fact()
    }
}

/// What a watch of a kind yields.
pub(super) trait Watched:
    Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static
{
    /// The kind of the facts.
    const KIND: FactKind;
    /// Selects the objects that count, if not all do.
    const FIELDS: Option<&'static str>;

    /// What is remembered of an object.
    fn into_entry(self) -> Entry;
}

impl<K: Kept> Watched for DeserializeGuard<K> {
    const KIND: FactKind = K::KIND;
    const FIELDS: Option<&'static str> = K::FIELDS;

    fn into_entry(self) -> Entry {
        let name = name_of(self.meta());
        match self.0 {
            Ok(object) => Entry { name, key: object.key(), fact: object.into_slim_fact() },
            Err(error) => {
                let why = without_quotes(&error.to_string());
                tracing::warn!(
                    kind = %K::KIND, name = name.name, namespace = name.namespace,
                    "an object cannot be read, so what rests on it is denied: {why}"
                );
                Entry { key: K::key_by_name(name.clone()), name, fact: Fact::Unreadable }
            }
        }
    }
}

/// The API server itself knows what a Namespace is, so there is nothing in it that could be unreadable.
impl Watched for Namespace {
    const KIND: FactKind = FactKind::Namespace;
    const FIELDS: Option<&'static str> = None;

    fn into_entry(self) -> Entry {
        let name = name_of(&self.metadata);
        Entry {
            key: Some(FactKey::Namespace(name.name.clone())),
            fact: Fact::Namespace(namespace_fact(&self)),
            name,
        }
    }
}

/// Butler puts the label of the team, and the one that says who made it, on the namespace of a team. The namespace of
/// a tenant's cluster has them too, and beside them the name of the cluster.
pub(super) fn namespace_fact(namespace: &Namespace) -> NamespaceFact {
    let labels = namespace.labels();
    let is_butlers = labels.get(labels::MANAGED_BY).is_some_and(|by| by == labels::MANAGED_BY_BUTLER);
    let is_a_clusters = labels.contains_key(labels::TENANT);
    let team = labels.get(labels::TEAM).filter(|_| is_butlers && !is_a_clusters);
    NamespaceFact { team: team.cloned(), object: shown(namespace) }
}

/// A Namespace as policies see it: like Kubernetes, without who owns it and who wrote which field.
fn shown(namespace: &Namespace) -> Option<Document> {
    let mut namespace = namespace.clone();
    namespace.metadata.managed_fields = None;
    namespace.metadata.owner_references = None;
    let mut json = serde_json::to_value(&namespace).ok()?;
    complete_namespace(&mut json);
    document(&json)
}

/// An object in the form in which policies see it; nothing if it nests too deeply.
pub(super) fn document(object: &impl Serialize) -> Option<Document> {
    let text = serde_json::to_string(object).ok()?;
    Some(Arc::new(Tree::parse(&text).ok()?.into_owned()))
}

pub(super) fn name_of(metadata: &ObjectMeta) -> NsRef {
    NsRef {
        name: metadata.name.clone().unwrap_or_default(),
        namespace: metadata.namespace.clone().unwrap_or_default(),
    }
}

fn slim_metadata(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    metadata.owner_references = None;
    metadata.finalizers = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

macro_rules! kept {
    ($type:ident as $kind:ident, by_name, $slim:expr) => {
        kept!(@ $type as $kind, |name: NsRef| Some(FactKey::$kind(name.name)), $slim);
    };
    ($type:ident as $kind:ident, by_place, $slim:expr) => {
        kept!(@ $type as $kind, |name: NsRef| Some(FactKey::$kind(name)), $slim);
    };
    (@ $type:ident as $kind:ident, $key:expr, $slim:expr) => {
        impl Kept for $type {
            const KIND: FactKind = FactKind::$kind;

            fn key_by_name(name: NsRef) -> Option<FactKey> {
                let key: fn(NsRef) -> Option<FactKey> = $key;
                key(name)
            }

            fn slim(&mut self) {
                let slim: fn(&mut Self) = $slim;
                slim(self);
            }

            fn into_fact(self) -> Fact {
                Fact::$kind(Arc::new(self))
            }
        }
    };
}

kept!(Team as Team, by_name, |team| {
    team.status = team.status.take().map(|status| TeamStatus {
        phase: status.phase,
        namespace: status.namespace,
        ..TeamStatus::default()
    });
});
kept!(TenantCluster as Cluster, by_place, |cluster| {
    let observed = cluster.status.take().and_then(|status| status.observed_state);
    let running = observed.and_then(|observed| observed.kubernetes_version);
    cluster.status = running.map(|version| TenantClusterStatus {
        observed_state: Some(ObservedState { kubernetes_version: Some(version), ..ObservedState::default() }),
        ..TenantClusterStatus::default()
    });
});
kept!(TenantAddon as Addon, by_place, |addon| addon.status = None);
kept!(AddonDefinition as Definition, by_name, |_| ());
// Why a provider is not ready is said to whoever wants to use it.
kept!(ProviderConfig as Provider, by_place, |_| ());
kept!(NetworkPool as Pool, by_place, |pool| pool.status = None);
kept!(IPAllocation as Allocation, by_place, |allocation| {
    allocation.status = allocation.status.take().map(|status| IPAllocationStatus {
        phase: status.phase,
        start_address: status.start_address,
        end_address: status.end_address,
        ..IPAllocationStatus::default()
    });
});
kept!(ClusterCreationPolicy as CreationPolicy, by_name, |policy| policy.status = None);

impl Kept for ButlerConfig {
    const KIND: FactKind = FactKind::Config;
    const FIELDS: Option<&'static str> = Some("metadata.name=butler");

    fn key_by_name(name: NsRef) -> Option<FactKey> {
        (name.name == CONFIG_NAME).then_some(FactKey::Config)
    }

    fn slim(&mut self) {
        self.status = None;
    }

    fn into_fact(self) -> Fact {
        Fact::Config(Arc::new(self))
    }
}

/// A User is looked up by e-mail address, which is not in its name.
impl Kept for User {
    const KIND: FactKind = FactKind::User;

    fn key_by_name(_: NsRef) -> Option<FactKey> {
        None
    }

    fn key(&self) -> Option<FactKey> {
        Some(FactKey::User(self.spec.email.to_lowercase()))
    }

    fn slim(&mut self) {
        self.status = None;
        self.spec.ssh_keys = Vec::new();
        self.spec.avatar = None;
    }

    fn into_fact(self) -> Fact {
        Fact::User(Arc::new(self))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_namespace_is_a_teams_only_if_butler_made_it_for_the_team() {
        let team = |labels: Value| {
            let namespace = json!({"metadata": {"name": "payments", "labels": labels}});
            let entry = serde_json::from_value::<Namespace>(namespace).expect("namespace").into_entry();
            assert_eq!(entry.key, Some(FactKey::Namespace("payments".to_owned())));
            match entry.fact {
                Fact::Namespace(namespace) => namespace.team,
                fact => panic!("{fact:?}"),
            }
        };
        let butlers =
            json!({"app.kubernetes.io/managed-by": "butler", "butler.butlerlabs.dev/team": "payments"});
        assert_eq!(team(butlers).as_deref(), Some("payments"));
        assert_eq!(team(json!({"butler.butlerlabs.dev/team": "payments"})), None);
        let helms = json!({"app.kubernetes.io/managed-by": "Helm", "butler.butlerlabs.dev/team": "payments"});
        assert_eq!(team(helms), None);
        let clusters = json!({
            "app.kubernetes.io/managed-by": "butler", "butler.butlerlabs.dev/team": "payments",
            "butler.butlerlabs.dev/tenant": "orders"
        });
        assert_eq!(team(clusters), None);
        assert_eq!(team(json!(null)), None);
    }
}
