//! What is known around a case: what it says, and nothing else.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::cel::Tree;
use crate::facts::Lookup;
use crate::policy::params::{ParamKind, ParamScope};
use crate::policy::request::{Document, Request};
use crate::policy::surroundings::{Extra, Surroundings};

/// What a case says of the cluster.
#[derive(Debug)]
pub(super) struct Told {
    /// The Namespace of the object, by name.
    pub(super) namespace: (String, Document),
    pub(super) params: Arc<Vec<Param>>,
    /// In the order of [`Extra::ALL`].
    pub(super) extras: [Option<Document>; Extra::ALL.len()],
}

/// An object that bindings may give to policies.
#[derive(Debug)]
pub(super) struct Param {
    pub(super) kind: ParamKind,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) object: Document,
}

/// A value as expressions see it.
pub(super) fn document(value: &Json) -> Result<Document, String> {
    let text = value.to_string();
    Ok(Arc::new(Tree::parse(&text).map_err(|error| error.message.to_string())?.into_owned()))
}

impl Told {
    fn params_of<'t>(&'t self, kind: &ParamKind, namespace: &str) -> impl Iterator<Item = &'t Param> {
        self.params.iter().filter(move |param| param.kind == *kind && param.namespace == namespace)
    }
}

impl Surroundings for Told {
    fn namespace(&self, name: &str) -> Lookup<Document> {
        let (own, namespace) = &self.namespace;
        if own == name { Lookup::Found(Arc::clone(namespace)) } else { Lookup::Absent }
    }

    fn param_scope(&self, kind: &ParamKind) -> Option<ParamScope> {
        let first = self.params.iter().find(|param| param.kind == *kind)?;
        Some(if first.namespace.is_empty() { ParamScope::Cluster } else { ParamScope::Namespaced })
    }

    fn param(&self, kind: &ParamKind, namespace: &str, name: &str) -> Lookup<Document> {
        let found = self.params_of(kind, namespace).find(|param| param.name == name);
        found.map_or(Lookup::Absent, |param| Lookup::Found(Arc::clone(&param.object)))
    }

    fn params(&self, kind: &ParamKind, namespace: &str) -> Lookup<Vec<(String, Document)>> {
        let found = self.params_of(kind, namespace);
        Lookup::Found(found.map(|param| (param.name.clone(), Arc::clone(&param.object))).collect())
    }

    fn extra(&self, extra: Extra, _: &Request<'_>) -> Lookup<Document> {
        let told = self.extras.get(extra as usize).and_then(Option::as_ref);
        told.map_or(Lookup::Absent, |document| Lookup::Found(Arc::clone(document)))
    }
}
