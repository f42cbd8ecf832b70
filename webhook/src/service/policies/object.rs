//! A Policy, as clients see it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::service::{API_VERSION, GROUP};

/// Something that objects are judged by at admission: a built-in rule, or a policy of a file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.Policy")]
#[serde(rename_all = "camelCase")]
pub(in crate::service) struct Policy {
    /// The version of the schema.
    pub(super) api_version: &'static str,
    /// The kind of the object.
    pub(super) kind: &'static str,
    /// The object's metadata. Its name begins with `rule.`, `validating.` or `mutating.`.
    pub(super) metadata: ObjectMeta,
    /// What it is.
    pub(super) spec: PolicySpec,
    /// What there is to say about it.
    pub(super) status: PolicyStatus,
}

/// What a policy is.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.PolicySpec")]
#[serde(rename_all = "camelCase")]
pub(in crate::service) struct PolicySpec {
    /// `Rule`, `ValidatingAdmissionPolicy` or `MutatingAdmissionPolicy`.
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    /// What it checks, in one sentence: of a policy the annotation `kubernetes.io/description`, else the messages of its
    /// validations, else their expressions.
    pub(super) summary: String,
    /// The kinds whose objects it is about.
    pub(super) kinds: Vec<String>,
    /// What is done to an object when it is asked: `CREATE`, `UPDATE`, `DELETE`.
    pub(super) operations: Vec<String>,
    /// What it does: `Deny`, `Warn`, `Audit` or `Mutate`. None if no binding puts it in force.
    pub(super) actions: Vec<String>,
    /// Where it is written.
    pub(super) source: Source,
    /// Whether kube-apiserver would judge by the same file as we do.
    pub(super) portable: bool,
    /// Why it is not portable.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) ours_only: String,
    /// What puts it in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) bindings: Vec<Binding>,
    /// The policy as it is written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) text: String,
}

/// Where a policy is written.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.PolicySource")]
#[serde(rename_all = "camelCase")]
pub(in crate::service) struct Source {
    /// The program and the version that it is built into.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) built_in: String,
    /// The file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) file: String,
    /// The line that it begins at, counted from 1.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) line: i64,
    /// What tells all loaded files together from others: replicas that show the same judge by the same.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) hash: String,
}

/// What puts a policy in force.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.PolicyBinding")]
pub(in crate::service) struct Binding {
    /// The binding's name.
    pub(super) name: String,
    /// What happens when a validation does not hold.
    pub(super) actions: Vec<String>,
    /// The file that it is in.
    pub(super) file: String,
    /// The line that it begins at, counted from 1.
    pub(super) line: i64,
}

/// What there is to say about a policy.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.PolicyStatus")]
pub(in crate::service) struct PolicyStatus {
    /// Warnings and notes about its file. A file with errors is not loaded.
    pub(super) problems: Vec<Problem>,
}

/// Something to say about a file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "dev.butlerlabs.butler.policy.v1alpha1.PolicyProblem")]
pub(in crate::service) struct Problem {
    /// `warning` or `note`.
    pub(super) severity: String,
    /// What kind of problem it is: one of few.
    pub(super) code: String,
    /// The line, counted from 1.
    pub(super) line: i64,
    /// The column, counted from 1.
    pub(super) column: i64,
    /// What it is.
    pub(super) message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) help: String,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl Policy {
    pub(super) fn new(name: String, spec: PolicySpec, status: PolicyStatus) -> Self {
        let labels = BTreeMap::from([(format!("{GROUP}/type"), spec.kind.to_owned())]);
        let metadata = ObjectMeta {
            uid: Some(uid(&name)),
            name: Some(name),
            labels: Some(labels),
            ..ObjectMeta::default()
        };
        Self { api_version: API_VERSION, kind: super::RESOURCE.kind, metadata, spec, status }
    }

    pub(super) fn into_value(self) -> Value {
        // Every part of it is written as it is, so this cannot fail; nobody is shown half of an object.
        serde_json::to_value(self).unwrap_or_else(|_| json!({}))
    }
}

/// The same for the same name, whoever answers.
fn uid(name: &str) -> String {
    let digest = Sha256::digest(format!("{GROUP}/policies/{name}").as_bytes());
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    // Version 8 is for those who make theirs by a way of their own.
    format!("{}-{}-8{}-8{}-{}", part(0..8), part(8..12), part(13..16), part(17..20), part(20..32))
}
