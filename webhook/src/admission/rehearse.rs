//! What both stages would say, asked beforehand: nothing is written, reserved, counted or logged.
//!
//! The same functions answer as in earnest, on the same snapshot, by the same policies, and the answers are made by the same
//! code; only the request is made here. What the API server does before, between and after the stages is done as it does
//! it: defaults of the definition, what it fills into metadata, what it does not send at all. What it refuses by itself,
//! because of the definition's schema or somebody else's webhook, is not known here.

use std::sync::Arc;
use std::time::Instant;

use butler_policies::policy::{Evaluation, Refusal, fill_definition_defaults, patched};
use butler_policies::review::{Kind, Operation};
use butler_policies::verdict::{answer_error, answer_verdict};
use butler_policies::{Review, Verdict};
use serde_json::{Value, json};

use super::Admission;
use crate::facts::Look;
use crate::policy_files::InForce;

/// What there was no uid for yet. It is that of no object.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// What is to be done to which object, and by whom.
#[derive(Clone, Debug)]
pub struct Question {
    /// The kind of the object.
    pub kind: Kind,
    /// What is to be done to it.
    pub operation: Operation,
    /// Where it is; empty if it is in no namespace.
    pub namespace: String,
    /// `userInfo` of the request.
    pub user: Value,
    /// The object as it is to be, if it is not to go.
    pub object: Option<Value>,
    /// The object as it is, if there is one.
    pub old_object: Option<Value>,
    /// The time, in RFC 3339, at which an object would be made.
    pub now: String,
}

/// What both stages would say.
#[derive(Debug)]
pub struct Rehearsed {
    /// Whether the change may happen.
    pub allowed: bool,
    /// The `response` of the answer that decides, as the API server would get it.
    pub response: Value,
    /// The object as the API server would store it, if there is one to store.
    pub object: Option<Value>,
    /// What the mutating stage writes into the object.
    pub patch: Vec<Value>,
    /// What stops the change at the mutating stage.
    pub refusals: Vec<Refusal>,
    /// What mutating policies came to.
    pub mutating: Vec<Evaluation>,
    /// What the validating stage says; nothing if it was not asked, or could not read the object.
    pub verdict: Option<Verdict>,
    /// The policies that both judged by.
    pub policies: Arc<InForce>,
}

/// Why nobody can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRehearsed {
    /// The gate turns every review away.
    #[error("the policies of the platform cannot be loaded, so nothing can be judged")]
    NotLoaded,
}

impl<L: Look> Admission<L> {
    /// What both stages would say of a request.
    ///
    /// # Errors
    /// When there are no policies to judge by.
    pub async fn rehearse(&self, mut question: Question) -> Result<Rehearsed, NotRehearsed> {
        let policies = self.policies.current().ok_or(NotRehearsed::NotLoaded)?;
        question.prepare();
        let mut rehearsed = Rehearsed {
            allowed: true,
            response: json!({}),
            object: question.object.clone(),
            patch: Vec::new(),
            refusals: Vec::new(),
            mutating: Vec::new(),
            verdict: None,
            policies: policies.clone(),
        };
        if question.operation != Operation::Delete && question.is_sent() {
            self.mutate(&mut question, &policies, &mut rehearsed).await;
        }
        if rehearsed.allowed && question.is_sent() {
            self.validate(&question, &policies, &mut rehearsed).await;
        }
        Ok(rehearsed)
    }

    async fn mutate(&self, question: &mut Question, policies: &InForce, rehearsed: &mut Rehearsed) {
        let body = question.body();
        // One that cannot be read passes as it is, as in earnest; the next stage says what is wrong with it.
        let Ok(review) = Review::parse(body.as_bytes()) else { return };
        let completed = self.complete(&review, policies).await;
        rehearsed.allowed = completed.allows();
        rehearsed.response = response(&completed.answer(&review.uid));
        rehearsed.mutating = completed.evaluations().to_vec();
        rehearsed.refusals = completed.refusals().to_vec();
        let patch = completed.patch();
        rehearsed.patch = serde_json::from_slice(&patch).unwrap_or_default();
        if let Some(object) = question.object.take() {
            question.object = patched(question.kind, object, &patch);
            rehearsed.object = question.object.clone();
        }
    }

    async fn validate(&self, question: &Question, policies: &InForce, rehearsed: &mut Rehearsed) {
        let body = question.body();
        match Review::parse(body.as_bytes()) {
            Ok(review) => {
                let verdict = self.judge(&review, policies, Instant::now()).await;
                rehearsed.allowed = verdict.allows();
                rehearsed.response = response(&answer_verdict(&review.uid, &verdict));
                rehearsed.verdict = Some(verdict);
            }
            Err(error) => {
                rehearsed.allowed = false;
                rehearsed.response = response(&answer_error(NO_UID, &error));
            }
        }
    }
}

fn response(answer: &[u8]) -> Value {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    answer.get("response").cloned().unwrap_or_default()
}

impl Question {
    /// Does to the objects what the API server does before it asks anybody.
    fn prepare(&mut self) {
        let Self { kind, operation, namespace, object, old_object, now, .. } = self;
        let old_metadata = old_object.as_ref().and_then(|old| old.get("metadata")).cloned();
        for object in [&mut *object, &mut *old_object].into_iter().flatten() {
            fill_definition_defaults(*kind, object);
            let Some(fields) = object.as_object_mut() else { continue };
            fields.insert(
                "apiVersion".to_owned(),
                format!("{}/{}", butler_api::GROUP, butler_api::VERSION).into(),
            );
            fields.insert("kind".to_owned(), kind.as_str().into());
            let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
            if let (Some(metadata), false) = (metadata.as_object_mut(), namespace.is_empty()) {
                metadata.insert("namespace".to_owned(), namespace.as_str().into());
            }
        }
        let metadata =
            object.as_mut().and_then(|object| object.get_mut("metadata")).and_then(Value::as_object_mut);
        let Some(metadata) = metadata else { return };
        if *operation == Operation::Create {
            metadata.insert("uid".to_owned(), NO_UID.into());
            metadata.insert("creationTimestamp".to_owned(), now.as_str().into());
            metadata.insert("generation".to_owned(), 1.into());
            return;
        }
        // A file says nothing of these, and the API server keeps them.
        for field in ["uid", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp"] {
            if let Some(old) = old_metadata.as_ref().and_then(|old| old.get(field)) {
                metadata.entry(field).or_insert_with(|| old.clone());
            }
        }
    }

    /// Whether the API server sends it to us at all: the conditions of our registration.
    fn is_sent(&self) -> bool {
        let Some(old) = &self.old_object else { return true };
        let is_leaving = old.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
        let is_judged = |new: &Value| {
            let differs = |place: &str| new.pointer(place) != old.pointer(place);
            ["/spec", "/metadata/labels", "/metadata/annotations"].into_iter().any(differs)
        };
        !is_leaving && self.object.as_ref().is_none_or(is_judged)
    }

    /// As the API server would send it.
    fn body(&self) -> String {
        let (group, version) = (butler_api::GROUP, butler_api::VERSION);
        let kind = json!({ "group": group, "version": version, "kind": self.kind.as_str() });
        let resource = json!({ "group": group, "version": version, "resource": self.kind.resource() });
        let named = self.object.as_ref().or(self.old_object.as_ref());
        let name =
            named.and_then(|object| object.pointer("/metadata/name")).cloned().unwrap_or_else(|| "".into());
        let options = match self.operation {
            Operation::Delete => "DeleteOptions",
            Operation::Update => "UpdateOptions",
            _ => "CreateOptions",
        };
        let mut request = json!({
            "uid": NO_UID,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": name,
            "operation": self.operation.as_str(),
            "userInfo": self.user,
            "object": self.object,
            "oldObject": self.old_object,
            // Weighed, and not taken up.
            "dryRun": true,
            "options": { "kind": options, "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"] },
        });
        if let (Some(fields), false) = (request.as_object_mut(), self.namespace.is_empty()) {
            fields.insert("namespace".to_owned(), self.namespace.as_str().into());
        }
        json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request })
            .to_string()
    }
}
