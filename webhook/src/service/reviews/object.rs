//! A Review, as clients send and see it.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::service::API_VERSION;
use crate::service::resources::Resource;
use crate::service::status::Refusal;
use crate::service::table::at;

/// Whether an object would be admitted, and why. Nothing is stored.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.Review")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct Review {
    /// The version of the schema.
    #[serde(default)]
    pub(super) api_version: String,
    /// The kind of the object.
    #[serde(default)]
    pub(super) kind: String,
    /// The object's metadata. It needs none.
    #[serde(default)]
    pub(super) metadata: ObjectMeta,
    /// What is asked.
    pub(super) spec: ReviewSpec,
    /// The answer.
    #[serde(default)]
    #[schemars(with = "ReviewStatus")]
    pub(super) status: Option<ReviewStatus>,
}

/// A Review of an object of its own namespace. It is read and written as a Review, which it equals but for its name.
#[derive(Debug)]
pub(in crate::service) struct LocalReview;

impl JsonSchema for LocalReview {
    fn schema_name() -> Cow<'static, str> {
        "dev.butlerlabs.butler.policy.v1alpha1.LocalReview".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Review::json_schema(generator)
    }
}

/// What is asked.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.ReviewSpec")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::service) struct ReviewSpec {
    /// What is to be done: `CREATE`, `UPDATE` or `DELETE`. By default `CREATE`.
    #[serde(default = "create")]
    pub(super) operation: String,
    /// The object as it is to be. Not for `DELETE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub(super) object: Option<Value>,
    /// The object as it is. For `UPDATE` and `DELETE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub(super) old_object: Option<Value>,
    /// Who does it, if not who asks. Needs the right to impersonate them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) user: String,
    /// The groups of `user`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) groups: Vec<String>,
}

/// The answer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.ReviewStatus")]
#[serde(default, rename_all = "camelCase")]
pub(in crate::service) struct ReviewStatus {
    /// Whether it would be admitted, as far as who asks may do it at all, and the gate has nothing against it. What the API
    /// server itself refuses, because the object does not fit its schema, is not known here.
    pub(super) allowed: bool,
    /// The code that the request would end with, if it is not admitted.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) code: i64,
    /// The reason that goes with the code.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) reason: String,
    /// Why it is not admitted, word for word as it would be told.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
    /// Everything that was found, one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) findings: Vec<Finding>,
    /// What would be told besides, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
    /// What would be filled in or changed, as a JSON Patch of the object with the defaults of its definition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "any_objects")]
    pub(super) patch: Vec<Value>,
    /// The object as it would be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub(super) object: Option<Value>,
    /// Every policy of a file that was about it, and what it came to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) policies: Vec<Outcome>,
    /// What all their expressions cost together, in CEL's units.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) cost: i64,
}

/// Something that was found.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.ReviewFinding")]
#[serde(default)]
pub(in crate::service) struct Finding {
    /// What comes of it: `Deny` or `Warn`.
    pub(super) action: String,
    /// The field, from the root of the object on; none if it is about all of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) field: String,
    /// Why, in one word.
    pub(super) reason: String,
    /// What is wrong, what is allowed, and what to do.
    pub(super) message: String,
    /// What found it, by its name among `policies`.
    pub(super) policy: String,
    /// The file that it is written in; none if it is built in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) file: String,
    /// The line that it begins at there.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) line: i64,
}

/// What a policy came to.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.ReviewOutcome")]
#[serde(default)]
pub(in crate::service) struct Outcome {
    /// Its name among `policies`.
    pub(super) policy: String,
    /// The binding.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) binding: String,
    /// What it came to, such as `allowed` or `denied`.
    pub(super) result: String,
    /// What its expressions cost, in CEL's units.
    pub(super) cost: i64,
}

fn create() -> String {
    "CREATE".to_owned()
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

fn any_objects(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": any_object(generator) })
}

impl Review {
    /// Reads one, strictly: a field that nobody knows would be ignored, and the answer would be to another question.
    pub(super) fn read(resource: &Resource, mut body: Value) -> Result<Self, Refusal> {
        let (api_version, kind) = (at(&body, "/apiVersion").clone(), at(&body, "/kind").clone());
        if api_version != API_VERSION || kind != resource.kind {
            let shown = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let message = format!(
                "the API version in the data ({}, Kind={}) does not match the expected API version ({API_VERSION}, \
                 Kind={})",
                shown(&api_version),
                shown(&kind),
                resource.kind
            );
            return Err(Refusal::bad_request(message));
        }
        if let Some(fields) = body.as_object_mut() {
            // What the answer was before says nothing.
            fields.remove("status");
        }
        serde_json::from_value(body).map_err(|error| {
            let kind = resource.kind;
            let message = format!("{kind} in version \"v1alpha1\" cannot be handled as a {kind}: {error}");
            Refusal::bad_request(message)
        })
    }

    pub(super) fn into_value(mut self, resource: &Resource, namespace: &str) -> Value {
        if resource.is_namespaced {
            self.metadata.namespace = Some(namespace.to_owned());
        }
        serde_json::to_value(self).unwrap_or_else(|_| json!({}))
    }
}

impl ReviewStatus {
    /// They may not even ask the gate.
    pub(super) fn forbidden(denial: &Refusal) -> Self {
        let status = denial.status();
        let text = |place: &str| at(&status, place).as_str().unwrap_or_default().to_owned();
        Self {
            allowed: false,
            code: at(&status, "/code").as_i64().unwrap_or_default(),
            reason: text("/reason"),
            message: text("/message"),
            ..Self::default()
        }
    }
}
