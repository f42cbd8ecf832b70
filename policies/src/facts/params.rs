//! The params of policies that are in the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use butler_api::reference::NsRef;

use super::Lookup;
use super::shared_map::SharedMap;
use crate::policy::{Document, ParamKind, ParamScope, WantedParams};

/// Params by kind. Copying it costs as much as there are kinds.
#[derive(Clone, Debug, Default)]
pub struct LiveParams {
    kinds: BTreeMap<ParamKind, Kind>,
}

#[derive(Clone, Debug)]
struct Kind {
    scope: ParamScope,
    /// Where all of it is known; nothing means everywhere.
    known: BTreeSet<Option<String>>,
    objects: SharedMap<NsRef, Document>,
    /// What was learned where not all is known, and is therefore of today.
    learned_since: BTreeSet<NsRef>,
}

impl Kind {
    fn is_known_in(&self, namespace: &str) -> bool {
        self.known.iter().any(|place| place.as_deref().is_none_or(|place| place == namespace))
    }
}

impl LiveParams {
    /// A kind is watched from now on. Nobody can say what there is of it until [`LiveParams::regain`].
    pub fn watch(&mut self, kind: ParamKind, scope: ParamScope) {
        let kept = self.kinds.entry(kind).or_insert_with(|| Kind {
            scope,
            known: BTreeSet::new(),
            objects: SharedMap::default(),
            learned_since: BTreeSet::new(),
        });
        kept.scope = scope;
    }

    /// A kind is not watched any more.
    pub fn forget(&mut self, kind: &ParamKind) {
        self.kinds.remove(kind);
    }

    /// All of a kind that there is has been learned.
    pub fn regain(&mut self, kind: &ParamKind) {
        self.regain_in(&WantedParams { kind: kind.clone(), namespace: None });
    }

    /// All that there is of these has been learned.
    pub fn regain_in(&mut self, wanted: &WantedParams) {
        if let Some(kind) = self.kinds.get_mut(&wanted.kind) {
            kind.known.insert(wanted.namespace.clone());
            let known: BTreeSet<NsRef> =
                kind.learned_since.iter().filter(|at| kind.is_known_in(&at.namespace)).cloned().collect();
            kind.learned_since.retain(|at| !known.contains(at));
        }
    }

    /// Nothing of these can be read at the moment.
    pub fn lose(&mut self, wanted: &WantedParams) {
        if let Some(kind) = self.kinds.get_mut(&wanted.kind) {
            kind.known.remove(&wanted.namespace);
        }
    }

    /// Whether all of these are known.
    pub fn knows(&self, wanted: &WantedParams) -> bool {
        self.kinds
            .get(&wanted.kind)
            .is_some_and(|kind| kind.known.contains(&None) || kind.known.contains(&wanted.namespace))
    }

    /// Takes in an object, or its absence.
    pub fn learn(&mut self, kind: &ParamKind, at: NsRef, object: Option<Document>) {
        let Some(kind) = self.kinds.get_mut(kind) else { return };
        if !kind.is_known_in(&at.namespace) {
            kind.learned_since.insert(at.clone());
        }
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
        let Some(kind) = self.kinds.get(kind) else { return Lookup::Unknown };
        let at = NsRef { namespace: namespace.to_owned(), name: name.to_owned() };
        if !kind.is_known_in(namespace) && !kind.learned_since.contains(&at) {
            return Lookup::Unknown;
        }
        kind.objects.get(&at).map_or(Lookup::Absent, |object| Lookup::Found(Arc::clone(object)))
    }

    /// All of a namespace.
    pub fn in_namespace(&self, kind: &ParamKind, namespace: &str) -> Lookup<Vec<(String, Document)>> {
        let Some(kind) = self.kinds.get(kind).filter(|kind| kind.is_known_in(namespace)) else {
            return Lookup::Unknown;
        };
        let found = kind.objects.iter().filter(|(at, _)| at.namespace == namespace);
        Lookup::Found(found.map(|(at, object)| (at.name.clone(), Arc::clone(object))).collect())
    }
}
