//! What the API server answers, and what of it is the policies' own.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::corpus::Operation;
use crate::planned::{FOLDER, Planned, merged};

/// The key under which the audit log has validations that did not hold.
const VALIDATION_FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";

/// An answer as it came.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
    /// What the audit log has of the request.
    pub(crate) audit: BTreeMap<String, String>,
}

/// An answer without what tells one side from the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) is_allowed: bool,
    pub(crate) code: u16,
    pub(crate) reason: Value,
    /// Everything that denies, as far as it is shown.
    pub(crate) denials: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) audit: BTreeMap<String, Value>,
    pub(crate) object: Value,
}

impl Answer {
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// What the policies say, in the names that are written in the case.
    pub(crate) fn said(&self, planned: &Planned) -> Said {
        let is_allowed = (200..300).contains(&self.code);
        let denials = if is_allowed { Vec::new() } else { unwrapped(&self.body) };
        let warnings = self.warnings.iter().map(|warning| planned.as_written(&unquoted(warning)));
        let mut warnings: Vec<String> = warnings.collect();
        if !planned.is_ordered {
            warnings.sort();
        }
        Said {
            is_allowed,
            code: self.code,
            reason: self.body["reason"].clone(),
            denials: denials.iter().map(|denial| planned.as_written(denial)).collect(),
            warnings,
            audit: noted(planned, &self.audit),
            object: if is_allowed { result(planned, &self.body) } else { Value::Null },
        }
    }
}

impl Said {
    /// Whether the gate says the same. The API server shows one denial and the gate all of them: the one is the gate's
    /// first, or any where the API server asks policies, bindings or params in no certain order.
    pub(crate) fn is_repeated_by(&self, gate: &Self, planned: &Planned) -> bool {
        // Where a rule denies, too, the gate's answer begins with that, and its code and reason are of both.
        let mut by_policies = gate.denials.iter().filter(|denial| is_of_policy(denial));
        let is_denied_alike = match self.denials.first() {
            None => gate.denials.is_empty(),
            Some(denial) if planned.is_ordered && is_of_policy(denial) => by_policies.next() == Some(denial),
            Some(denial) => gate.denials.contains(denial),
        };
        let is_ruled = gate.denials.iter().any(|denial| !is_of_policy(denial));
        let answer = if is_ruled { self } else { gate };
        let Self { code, reason, .. } = answer.clone();
        is_denied_alike && *self == Self { denials: self.denials.clone(), code, reason, ..gate.clone() }
    }
}

fn is_of_policy(denial: &str) -> bool {
    denial.starts_with("ValidatingAdmissionPolicy '") || denial.starts_with("policy '")
}

/// The text of a warning, which is quoted in its header.
fn unquoted(warning: &str) -> String {
    let quoted = warning.trim_start_matches("299 - ");
    let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(quoted);
    inner.replace("\\\"", "\"").replace("\\\\", "\\")
}

/// The denials. This is all that the two sides word differently: the API server says that the object is forbidden, or
/// which webhook denied the request; the gate lists all denials and has each among the causes.
fn unwrapped(status: &Value) -> Vec<String> {
    let message = status["message"].as_str().unwrap_or_default();
    let inner = ["\" is forbidden: ", "\" denied the request: "]
        .into_iter()
        .filter_map(|wrapper| message.split_once(wrapper))
        .min_by_key(|(before, _)| before.len());
    let message = inner.map_or(message, |(_, inner)| inner);
    let is_list = message.split_once(" problems\n- ").is_some_and(|(count, _)| count.parse::<u32>().is_ok());
    let causes = status["details"]["causes"].as_array().filter(|_| is_list);
    let causes: Vec<String> = causes
        .into_iter()
        .flatten()
        .filter_map(|cause| Some(cause["message"].as_str()?.to_owned()))
        .collect();
    if causes.is_empty() { vec![message.to_owned()] } else { causes }
}

/// What the policies noted. A webhook's keys are the API server's own, within its name; those of audit annotations are
/// together in one value, since a key cannot have two slashes.
fn noted(planned: &Planned, annotations: &BTreeMap<String, String>) -> BTreeMap<String, Value> {
    let mut noted = BTreeMap::new();
    let mut note = |key: &str, value: &str| {
        let text = planned.as_written(value);
        let value =
            if key == VALIDATION_FAILURE { serde_json::from_str(&text).unwrap() } else { json!(text) };
        noted.insert(key.to_owned(), value);
    };
    for (key, value) in annotations {
        match key.split_once('/') {
            _ if key == VALIDATION_FAILURE => note(key, value),
            Some((webhook, "validation_failure")) if webhook.ends_with(".kb.io") => {
                note(VALIDATION_FAILURE, value);
            }
            Some((webhook, "policy_annotations")) if webhook.ends_with(".kb.io") => {
                let all: BTreeMap<String, String> = serde_json::from_str(value).unwrap();
                all.iter().for_each(|(key, value)| note(key, value));
            }
            Some((policy, _)) if planned.policies.iter().any(|name| name == policy) => note(key, value),
            _ => {}
        }
    }
    noted
}

/// The object that results, without what is another each time.
fn result(planned: &Planned, body: &Value) -> Value {
    if planned.operation == Operation::Delete {
        return Value::Null;
    }
    let text = planned.as_written(&body.to_string());
    // Nothing that is judged writes a status; the ledger of a team is in it, once there is one.
    let always_new = json!({"status": null, "metadata": {"uid": null, "resourceVersion": null, "creationTimestamp": null,
        "managedFields": null, "generation": null, "labels": {FOLDER: null}}});
    let has_labels = body["metadata"]["labels"].is_object();
    let mut object = merged(serde_json::from_str(&text).unwrap(), &always_new);
    if !has_labels && let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("labels");
    }
    object
}
