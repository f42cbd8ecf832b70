//! A request as the API server would send it, made of what a case says.

use serde_json::{Map, Value as Json, json};

use super::Case;
use super::merge::{merge, merged};
use super::told::{Told, document};
use crate::policy::asked::Asked;
use crate::policy::mutation::{Schema, fill_defaults};
use crate::policy::request::{complete, complete_namespace};
use crate::policy::surroundings::Extra;

/// What a case asks, and what is known around it.
pub(super) struct Question {
    /// An AdmissionRequest.
    pub(super) request: String,
    pub(super) told: Told,
    /// The object that is sent, for what mutations make of it.
    pub(super) sent: Json,
}

impl Case {
    pub(super) fn question(&self) -> Result<Question, String> {
        let operation = self.operation();
        let (common, own) = (&*self.common, &self.own);
        let base = || own.object.as_ref().or(common.object.as_ref()).cloned().unwrap_or_default();
        let old = |base: Json| merged(base, [common.old.as_ref(), own.old.as_ref()]);
        let changed = |base: Json| merged(base, [Some(&self.change)]);
        let (object, old_object) = match operation {
            Asked::Create => (self.filled(changed(base())), Json::Null),
            Asked::Update => (self.filled(changed(base())), self.filled(old(base()))),
            // What is stored is all there is to change.
            Asked::Delete => (Json::Null, self.filled(changed(old(base())))),
            Asked::Scale => {
                let stored = self.filled(changed(old(base())));
                let before = stored.pointer("/spec/workers/replicas").and_then(Json::as_i64).unwrap_or(0);
                (scale(&stored, self.replicas.unwrap_or(before)), scale(&stored, before))
            }
        };
        let mut request = operation.request(self.kind, object.clone(), old_object);
        for patch in [&common.request, &own.request].into_iter().flatten() {
            merge(&mut request, patch);
        }
        complete(&mut request);
        let namespace = request.get("namespace").and_then(Json::as_str).unwrap_or_default().to_owned();
        Ok(Question { request: request.to_string(), told: self.told(namespace)?, sent: object })
    }

    /// The object with the defaults of its definition, which the API server fills in before anybody is asked.
    fn filled(&self, mut object: Json) -> Json {
        if let Some(schema) = Schema::of(butler_api::GROUP, butler_api::VERSION, self.kind.as_str()) {
            fill_defaults(schema, &mut object);
        }
        object
    }

    fn operation(&self) -> Asked {
        self.own.operation.or(self.common.operation).unwrap_or(Asked::Create)
    }

    fn told(&self, namespace: String) -> Result<Told, String> {
        let (common, own) = (&*self.common, &self.own);
        let mut space = json!({
            "metadata": {"name": namespace, "labels": {"kubernetes.io/metadata.name": namespace}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        for patch in [&common.namespace, &own.namespace].into_iter().flatten() {
            merge(&mut space, patch);
        }
        complete_namespace(&mut space);
        let facts = merged(Json::Object(Map::new()), [common.facts.as_ref(), own.facts.as_ref()]);
        let mut extras = [const { None }; Extra::ALL.len()];
        for (slot, extra) in extras.iter_mut().zip(Extra::ALL) {
            *slot = facts.get(extra.as_str()).map(document).transpose()?;
        }
        let params = own.params.as_ref().or(common.params.as_ref()).cloned().unwrap_or_default();
        Ok(Told { namespace: (namespace, document(&space)?), params, extras })
    }
}

/// The scale of a cluster.
fn scale(cluster: &Json, replicas: i64) -> Json {
    let metadata = cluster.get("metadata");
    let kept = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let kept = kept.into_iter().filter_map(|name| Some((name.to_owned(), metadata?.get(name)?.clone())));
    json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": Json::Object(kept.collect()),
        "spec": {"replicas": replicas},
        "status": {"replicas": cluster.pointer("/status/workerNodesReady").cloned().unwrap_or_else(|| json!(0))},
    })
}
