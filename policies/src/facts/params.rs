//! The params of policies that are in the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use butler_api::reference::NsRef;

use super::Lookup;
use super::shared_map::SharedMap;
use crate::policy::{Document, ParamKind, ParamScope};

/// Params by kind. Copying it costs as much as there are kinds.
#[derive(Clone, Debug, Default)]
pub struct LiveParams {
    kinds: BTreeMap<ParamKind, Kind>,
}

#[derive(Clone, Debug)]
struct Kind {
    scope: ParamScope,
    is_known: bool,
    objects: SharedMap<NsRef, Document>,
}

impl LiveParams {
    /// A kind is watched from now on. Nobody can say what there is of it until [`LiveParams::regain`].
    pub fn watch(&mut self, kind: ParamKind, scope: ParamScope) {
        let objects = SharedMap::default();
        self.kinds.insert(kind, Kind { scope, is_known: false, objects });
    }

    /// A kind is not watched any more.
    pub fn forget(&mut self, kind: &ParamKind) {
        self.kinds.remove(kind);
    }

    /// All of a kind that there is has been learned.
    pub fn regain(&mut self, kind: &ParamKind) {
        if let Some(kind) = self.kinds.get_mut(kind) {
            kind.is_known = true;
        }
    }

    /// Nothing of a kind can be read at the moment.
    pub fn lose(&mut self, kind: &ParamKind) {
        if let Some(kind) = self.kinds.get_mut(kind) {
            kind.is_known = false;
        }
    }

    /// Takes in an object, or its absence.
    pub fn learn(&mut self, kind: &ParamKind, at: NsRef, object: Option<Document>) {
        let Some(kind) = self.kinds.get_mut(kind) else { return };
        match object {
            Some(object) => drop(kind.objects.insert(Arc::new(at), object)),
            None => drop(kind.objects.remove(&at)),
        }
    }

    /// Whether objects of a kind are in namespaces.
    pub fn scope(&self, kind: &ParamKind) -> Option<ParamScope> {
        self.kinds.get(kind).map(|kind| kind.scope)
    }

    /// One by name.
    pub fn find(&self, kind: &ParamKind, namespace: &str, name: &str) -> Lookup<Document> {
        let Some(kind) = self.kinds.get(kind).filter(|kind| kind.is_known) else { return Lookup::Unknown };
        let at = NsRef { namespace: namespace.to_owned(), name: name.to_owned() };
        kind.objects.get(&at).map_or(Lookup::Absent, |object| Lookup::Found(Arc::clone(object)))
    }

    /// All of a namespace.
    pub fn in_namespace(&self, kind: &ParamKind, namespace: &str) -> Lookup<Vec<(String, Document)>> {
        let Some(kind) = self.kinds.get(kind).filter(|kind| kind.is_known) else { return Lookup::Unknown };
        let found = kind.objects.iter().filter(|(at, _)| at.namespace == namespace);
        Lookup::Found(found.map(|(at, object)| (at.name.clone(), Arc::clone(object))).collect())
    }
}
