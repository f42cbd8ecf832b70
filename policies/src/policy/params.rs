//! The objects that a policy is given by its binding.

use std::collections::BTreeMap;
use std::fmt;

use super::request::{Document, Request};
use super::selector::Selector;
use super::surroundings::Surroundings;
use crate::facts::{FactKey, Lookup};
use butler_api::reference::NsRef;

/// The kind of a policy's params.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParamKind {
    /// Group and version, such as `v1` or `example.com/v1`.
    pub api_version: String,
    /// Such as `ConfigMap`.
    pub kind: String,
}

impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.api_version, self.kind)
    }
}

/// Params that have to be watched in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WantedParams {
    /// Of this kind.
    pub kind: ParamKind,
    /// Only those of this namespace, so that no right is needed for others; nothing means all.
    pub namespace: Option<String>,
}

/// Whether objects of a kind are in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamScope {
    /// They are in none.
    Cluster,
    /// Each is in one.
    Namespaced,
}

impl ParamKind {
    /// The scope of kinds that everybody knows.
    pub(crate) fn known_scope(&self) -> Option<ParamScope> {
        match (self.api_version.as_str(), self.kind.as_str()) {
            ("v1", "ConfigMap" | "Secret" | "ResourceQuota" | "LimitRange" | "ServiceAccount") => {
                Some(ParamScope::Namespaced)
            }
            ("v1", "Namespace") => Some(ParamScope::Cluster),
            (group, "Team" | "ButlerConfig" | "AddonDefinition" | "ClusterCreationPolicy" | "User")
                if is_ours(group) =>
            {
                Some(ParamScope::Cluster)
            }
            (group, _) if is_ours(group) => Some(ParamScope::Namespaced),
            _ => None,
        }
    }
}

fn is_ours(api_version: &str) -> bool {
    api_version.split_once('/').is_some_and(|(group, _)| group == butler_api::GROUP)
}

/// Which params a binding gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamRef {
    pub(crate) which: Which,
    pub(crate) namespace: Option<String>,
    pub(crate) denies_when_missing: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Name(String),
    Selected(Selector),
}

/// The params that are in the files.
#[derive(Debug, Default)]
pub(crate) struct Params {
    /// By kind, namespace and name.
    objects: BTreeMap<ParamKind, BTreeMap<(String, String), Document>>,
}

impl Params {
    /// Adds one; says no if there is one of its name.
    pub(crate) fn add(&mut self, kind: ParamKind, namespace: String, name: String, object: Document) -> bool {
        self.objects.entry(kind).or_default().insert((namespace, name), object).is_none()
    }

    pub(crate) fn has(&self, kind: &ParamKind, namespace: Option<&str>, name: &str) -> bool {
        let found = self.objects.get(kind).into_iter().flat_map(BTreeMap::keys);
        found
            .into_iter()
            .any(|(space, own)| own == name && namespace.is_none_or(|namespace| namespace == space))
    }

    /// The scope of a kind, as far as the files show it.
    fn scope(&self, kind: &ParamKind) -> Option<ParamScope> {
        let objects = self.objects.get(kind)?;
        let is_namespaced = objects.keys().any(|(namespace, _)| !namespace.is_empty());
        Some(if is_namespaced { ParamScope::Namespaced } else { ParamScope::Cluster })
    }

    fn find(&self, kind: &ParamKind, namespace: &str, name: &str) -> Option<&Document> {
        self.objects.get(kind)?.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// The param that a binding names for a request, if it has to be in the cluster.
    pub(crate) fn rests_on(
        &self,
        kind: Option<&ParamKind>,
        reference: Option<&ParamRef>,
        request: &Request<'_>,
        surroundings: &dyn Surroundings,
    ) -> Option<FactKey> {
        let (kind, reference) = (kind?, reference?);
        let Which::Name(name) = &reference.which else { return None };
        let scope = kind.known_scope().or_else(|| surroundings.param_scope(kind))?;
        let namespace = match scope {
            ParamScope::Cluster => "",
            ParamScope::Namespaced => reference.namespace.as_deref().unwrap_or(request.namespace()),
        };
        let at = || NsRef { name: name.clone(), namespace: namespace.to_owned() };
        self.find(kind, namespace, name).is_none().then(|| FactKey::Param(kind.clone(), at()))
    }

    /// The params that a binding gives for a request: those in the files, then those in the cluster. Nothing stands for
    /// a policy that takes none.
    pub(crate) fn collect(
        &self,
        kind: Option<&ParamKind>,
        reference: Option<&ParamRef>,
        request: &Request<'_>,
        surroundings: &dyn Surroundings,
    ) -> Result<Vec<Option<Document>>, String> {
        let (Some(kind), Some(reference)) = (kind, reference) else { return Ok(vec![None]) };
        let scope =
            kind.known_scope().or_else(|| surroundings.param_scope(kind)).or_else(|| self.scope(kind));
        let Some(scope) = scope else {
            return Err(format!("failed to find resource referenced by paramKind: '{kind}'"));
        };
        let namespace = match (scope, &reference.namespace) {
            (ParamScope::Cluster, Some(_)) => {
                return Err(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned()
                );
            }
            (ParamScope::Cluster, None) => "",
            (ParamScope::Namespaced, Some(namespace)) => namespace,
            (ParamScope::Namespaced, None) if request.namespace().is_empty() => {
                return Err(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                        .to_owned(),
                );
            }
            (ParamScope::Namespaced, None) => request.namespace(),
        };
        let unknown = || format!("paramKind kind `{kind}` not yet synced to use for admission");
        let found: Vec<Option<Document>> = match &reference.which {
            Which::Name(name) => match self.find(kind, namespace, name) {
                Some(object) => vec![Some(Document::clone(object))],
                None => match surroundings.param(kind, namespace, name) {
                    Lookup::Found(object) => vec![Some(object)],
                    Lookup::Absent => Vec::new(),
                    Lookup::Unknown => return Err(unknown()),
                },
            },
            Which::Selected(selector) => {
                let Lookup::Found(live) = surroundings.params(kind, namespace) else { return Err(unknown()) };
                let mut all: BTreeMap<String, Document> = live.into_iter().collect();
                let own = self.objects.get(kind).into_iter().flatten();
                let own = own.filter(|((space, _), _)| space == namespace);
                all.extend(own.map(|((_, name), object)| (name.clone(), Document::clone(object))));
                all.into_values().filter(|object| selector.matches_object(object)).map(Some).collect()
            }
        };
        if found.is_empty() && reference.denies_when_missing {
            return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
        }
        Ok(found)
    }
}
