//! What the webhook knows, as policies see it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use butler_api::quantity::Amount;
use butler_api::quota::Holding;
use butler_api::reference::NsRef;
use butler_api::{Team, TenantCluster};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde_json::json;

use super::params::{ParamKind, ParamScope};
use super::request::{Document, Request};
use super::surroundings::{Extra, Surroundings};
use crate::cel::Tree;
use crate::facts::{FactKey, Facts, Lookup};
use crate::quota::holding;
use crate::review::{Change, Review, Subject};

/// The facts around a review.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    facts: &'a Facts,
    review: &'a Review<'a>,
    shown: &'a Shown,
}

/// Objects in the form in which policies see them, kept while they do not change.
#[derive(Debug, Default)]
pub struct Shown {
    /// With the uid and the version that tell whether an object is still the same.
    documents: Mutex<HashMap<FactKey, (String, Document)>>,
}

/// Objects that are kept. A platform has a few that are looked at again and again.
const MOST_SHOWN: usize = 4_096;

impl Shown {
    fn document<T: Serialize>(&self, key: FactKey, metadata: &ObjectMeta, object: &T) -> Lookup<Document> {
        let version = match (&metadata.uid, &metadata.resource_version) {
            (Some(uid), Some(version)) => format!("{uid}/{version}"),
            // Nothing tells what it is, so it is shown anew.
            _ => return document(object),
        };
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, document)) = documents.get(&key).filter(|(kept, _)| *kept == version) {
            return Lookup::Found(Arc::clone(document));
        }
        let made = document(object);
        if let Lookup::Found(document) = &made {
            if documents.len() >= MOST_SHOWN {
                documents.clear();
            }
            documents.insert(key, (version, Arc::clone(document)));
        }
        made
    }
}

fn document(object: &impl Serialize) -> Lookup<Document> {
    let text = serde_json::to_string(object).ok();
    let tree = text.as_deref().and_then(|text| Tree::parse(text).ok());
    tree.map_or(Lookup::Unknown, |tree| Lookup::Found(Arc::new(tree.into_owned())))
}

impl<'a> Known<'a> {
    /// What these facts say around that review.
    #[must_use]
    pub fn new(facts: &'a Facts, review: &'a Review<'a>, shown: &'a Shown) -> Self {
        Self { facts, review, shown }
    }

    /// The TenantCluster that the review is about: the object itself, the one of an addon, or the one that is scaled.
    fn cluster_key(&self) -> Option<NsRef> {
        let namespace = self.review.namespace.to_string();
        match &self.review.subject {
            Subject::TenantAddon(change) => {
                let name = subject_of(change).spec.cluster_ref.name.clone();
                Some(NsRef { name, namespace }).filter(|at| !at.name.is_empty())
            }
            Subject::Scale { .. } => Some(NsRef { name: self.review.name.to_string(), namespace }),
            _ => None,
        }
    }

    fn cluster(&self) -> Lookup<&'a TenantCluster> {
        self.cluster_key().map_or(Lookup::Absent, |at| self.facts.cluster(&at))
    }

    /// The cluster whose provider and team count.
    fn own_cluster(&self) -> Lookup<&'a TenantCluster> {
        match &self.review.subject {
            Subject::TenantCluster(change) => Lookup::Found(subject_of(change)),
            _ => self.cluster(),
        }
    }

    /// The Team that the cluster names, else the one that the namespace belongs to.
    fn team(&self) -> Lookup<&'a Team> {
        let named = match self.own_cluster() {
            Lookup::Found(cluster) => cluster.spec.team_ref.as_ref().map(|team| team.name.as_str()),
            Lookup::Absent => None,
            Lookup::Unknown => return Lookup::Unknown,
        };
        match named.filter(|name| !name.is_empty()) {
            Some(name) => self.facts.team(name),
            None if self.review.namespace.is_empty() => Lookup::Absent,
            None => self.facts.team_of_namespace(&self.review.namespace),
        }
    }

    fn provider_key(&self) -> Lookup<NsRef> {
        let cluster = match self.own_cluster() {
            Lookup::Found(cluster) => cluster,
            Lookup::Absent => return Lookup::Absent,
            Lookup::Unknown => return Lookup::Unknown,
        };
        if cluster.spec.provider_config_ref.is_none()
            && (matches!(self.team(), Lookup::Unknown) || matches!(self.facts.config(), Lookup::Unknown))
        {
            return Lookup::Unknown;
        }
        let team = self.team().found().map(|team| &team.spec);
        cluster.spec.provider(team, self.facts.config_spec()).map_or(Lookup::Absent, Lookup::Found)
    }

    /// What the team has before this request.
    fn usage(&self) -> Lookup<Document> {
        let team = match self.team() {
            Lookup::Found(team) => team.metadata.name.as_deref().unwrap_or_default(),
            Lookup::Absent => return Lookup::Absent,
            Lookup::Unknown => return Lookup::Unknown,
        };
        if !self.facts.knows_all(crate::facts::FactKind::Cluster) {
            return Lookup::Unknown;
        }
        let (mut clusters, mut sums) = (0_i64, [0_u128; 4]);
        for cluster in self.facts.clusters_of_team(team) {
            let Holding { nodes, cpu, memory, storage, .. } = holding(cluster, self.facts);
            clusters += 1;
            let own = [nodes.into(), cpu.into(), memory, storage];
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        let [nodes, cpu, memory, storage] = sums;
        let number = |sum: u128| i64::try_from(sum).unwrap_or(i64::MAX);
        let bytes = |sum: u128| Amount::from_whole(sum).bytes().to_string();
        document(&json!({
            "clusters": clusters,
            "nodes": number(nodes),
            "cpu": number(cpu),
            "memory": bytes(memory),
            "storage": bytes(storage),
        }))
    }
}

/// The object as it is to be, or as it was if it goes.
fn subject_of<T>(change: &Change<T>) -> &T {
    match change {
        Change::Create(new) | Change::Update { new, .. } => new,
        Change::Delete(old) => old,
    }
}

impl Surroundings for Known<'_> {
    fn namespace(&self, name: &str) -> Lookup<Document> {
        match self.facts.namespace(name) {
            Lookup::Found(namespace) => match &namespace.object {
                Some(object) => Lookup::Found(Arc::clone(object)),
                None => Lookup::Unknown,
            },
            Lookup::Absent => Lookup::Absent,
            Lookup::Unknown => Lookup::Unknown,
        }
    }

    fn param_scope(&self, kind: &ParamKind) -> Option<ParamScope> {
        self.facts.params.scope(kind)
    }

    fn param(&self, kind: &ParamKind, namespace: &str, name: &str) -> Lookup<Document> {
        self.facts.params.find(kind, namespace, name)
    }

    fn params(&self, kind: &ParamKind, namespace: &str) -> Lookup<Vec<(String, Document)>> {
        self.facts.params.in_namespace(kind, namespace)
    }

    fn extra(&self, extra: Extra, _: &Request<'_>) -> Lookup<Document> {
        let name_of = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
        match extra {
            Extra::Config => match self.facts.config() {
                Lookup::Found(config) => self.shown.document(FactKey::Config, &config.metadata, config),
                Lookup::Absent => Lookup::Absent,
                Lookup::Unknown => Lookup::Unknown,
            },
            Extra::Team => match self.team() {
                Lookup::Found(team) => {
                    self.shown.document(FactKey::Team(name_of(&team.metadata)), &team.metadata, team)
                }
                Lookup::Absent => Lookup::Absent,
                Lookup::Unknown => Lookup::Unknown,
            },
            Extra::Cluster => match (self.cluster_key(), self.cluster()) {
                (Some(at), Lookup::Found(cluster)) => {
                    self.shown.document(FactKey::Cluster(at), &cluster.metadata, cluster)
                }
                (_, Lookup::Unknown) => Lookup::Unknown,
                _ => Lookup::Absent,
            },
            Extra::Provider => match self.provider_key() {
                Lookup::Found(at) => match self.facts.provider(&at) {
                    Lookup::Found(provider) => {
                        self.shown.document(FactKey::Provider(at), &provider.metadata, provider)
                    }
                    Lookup::Absent => Lookup::Absent,
                    Lookup::Unknown => Lookup::Unknown,
                },
                Lookup::Absent => Lookup::Absent,
                Lookup::Unknown => Lookup::Unknown,
            },
            Extra::Usage => self.usage(),
        }
    }

    fn rests_on(&self, extra: Extra, _: &Request<'_>) -> Vec<FactKey> {
        let cluster = || self.cluster_key().map(FactKey::Cluster);
        let team = || {
            let team = self.team().found().and_then(|team| team.metadata.name.clone());
            team.or_else(|| Some(self.review.namespace.to_string()).filter(|name| !name.is_empty()))
                .map(FactKey::Team)
        };
        let keys = match extra {
            Extra::Config => vec![Some(FactKey::Config)],
            Extra::Team | Extra::Usage => vec![cluster(), team()],
            Extra::Cluster => vec![cluster()],
            Extra::Provider => {
                vec![
                    cluster(),
                    team(),
                    Some(FactKey::Config),
                    self.provider_key().found().map(FactKey::Provider),
                ]
            }
        };
        keys.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests;
