//! The AdmissionReview that answers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::engine::general_purpose::PAD;
use base64::engine::simd::Simd;
use base64::prelude::Engine;
use serde::Serialize;

use super::Verdict;
use crate::defaults::patch::{Patch, quote};
use crate::policy::{Completed, Refusal, VALIDATION_FAILURE};
use crate::review::ReviewError;

/// How JSON carries the bytes of a patch.
static BASE64: LazyLock<Simd> = LazyLock::new(|| Simd::standard(PAD));

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Status<'a> {
    status: &'static str,
    message: String,
    reason: &'static str,
    code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details<'a>>,
}

#[derive(Serialize)]
struct Details<'a> {
    name: &'a str,
    group: &'static str,
    kind: &'static str,
    causes: Vec<Cause<'a>>,
}

#[derive(Serialize)]
struct Cause<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'static str,
    message: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    field: &'a str,
}

/// The answer of the validating stage.
pub fn answer_verdict(uid: &str, verdict: &Verdict) -> Vec<u8> {
    let status = (!verdict.allows()).then(|| Status {
        status: "Failure",
        message: verdict.message(),
        reason: verdict.reason(),
        code: verdict.code(),
        details: Some(Details {
            name: &verdict.name,
            group: butler_api::GROUP,
            kind: verdict.kind,
            causes: verdict
                .shown_denials()
                .map(|finding| Cause {
                    reason: finding.fault.cause(),
                    message: Cow::Borrowed(&finding.message),
                    field: &finding.path,
                })
                .chain(verdict.shown_policy_denials().map(|denial| Cause {
                    reason: "",
                    message: Cow::Owned(denial.message()),
                    field: "",
                }))
                .collect(),
        }),
    });
    let mut audit_annotations: BTreeMap<&'static str, String> =
        verdict.audit().map(|words| ("findings", words)).into_iter().collect();
    audit_annotations.extend(policy_annotations(verdict));
    let warnings = verdict.warnings().collect();
    write(Response { uid, allowed: status.is_none(), status, warnings, audit_annotations })
}

/// What policies give to the audit log. The API server puts the webhook's name and `/` before each key and takes none
/// with another `/`, so Kubernetes' own keys are inside of one value.
fn policy_annotations(verdict: &Verdict) -> impl Iterator<Item = (&'static str, String)> {
    let (failures, others): (Vec<_>, Vec<_>) =
        verdict.policies.annotations.iter().partition(|(key, _)| key == VALIDATION_FAILURE);
    let failure = failures.first().map(|(_, value)| ("validation_failure", value.clone()));
    let others: BTreeMap<&str, &str> =
        others.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let others = (!others.is_empty()).then(|| serde_json::to_string(&others).unwrap_or_default());
    failure.into_iter().chain(others.map(|others| ("policy_annotations", others)))
}

/// The answer of the mutating stage. It always allows: whether the completed object is acceptable is for the validating
/// stage to say.
///
/// Written by hand around the patch, most of the answer, which goes straight from its bytes to its place.
pub fn answer_patch(uid: &str, patch: &Patch) -> Vec<u8> {
    let operations = if patch.is_empty() { Vec::new() } else { patch.to_bytes() };
    with_patch(uid, &operations, &patch.paths())
}

/// The answer of the mutating stage when policies have a part in it: what they and the defaults make of the object, or
/// why they cannot.
pub fn answer_completed(uid: &str, completed: &Completed) -> Vec<u8> {
    let Some(first) = completed.refusals.first() else {
        return with_patch(uid, &completed.patch, &completed.filled);
    };
    let messages: Vec<String> =
        completed.refusals.iter().take(super::MOST_SHOWN).map(Refusal::message).collect();
    let hidden = completed.refusals.len() - messages.len();
    let message = super::listed(&messages, hidden);
    refused(
        uid,
        Status {
            status: "Failure",
            message,
            reason: first.reason().as_str(),
            code: first.code(),
            details: None,
        },
    )
}

/// The answer while nobody can say what the policies are.
pub fn answer_unavailable(uid: &str, message: &str) -> Vec<u8> {
    let (message, reason) = (message.to_owned(), "ServiceUnavailable");
    refused(uid, Status { status: "Failure", message, reason, code: 503, details: None })
}

fn with_patch(uid: &str, operations: &[u8], filled: &str) -> Vec<u8> {
    let mut answer = Vec::with_capacity(256 + uid.len() + filled.len() + operations.len() * 4 / 3);
    answer.extend_from_slice(
        br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"#,
    );
    quote(uid, &mut answer);
    answer.extend_from_slice(br#","allowed":true"#);
    if !operations.is_empty() {
        answer.extend_from_slice(br#","patchType":"JSONPatch","patch":""#);
        let start = answer.len();
        answer.resize(start + operations.len().div_ceil(3) * 4, 0);
        // The place is as large as what is put there.
        let _ = BASE64.encode_slice(operations, answer.get_mut(start..).unwrap_or_default());
        answer.push(b'"');
    }
    if !filled.is_empty() {
        answer.extend_from_slice(br#","auditAnnotations":{"filled-in":"#);
        quote(filled, &mut answer);
        answer.push(b'}');
    }
    answer.extend_from_slice(b"}}");
    answer
}

/// The answer to what could not be judged, if it has a uid to answer to.
pub fn answer_error(uid: &str, error: &ReviewError) -> Vec<u8> {
    let (code, reason) = if error.is_about_the_object { (422, "Invalid") } else { (400, "BadRequest") };
    refused(uid, Status { status: "Failure", message: error.message.clone(), reason, code, details: None })
}

fn refused(uid: &str, status: Status<'_>) -> Vec<u8> {
    write(Response {
        uid,
        allowed: false,
        status: Some(status),
        warnings: Vec::new(),
        audit_annotations: BTreeMap::new(),
    })
}

fn write(response: Response<'_>) -> Vec<u8> {
    let envelope = Envelope { api_version: "admission.k8s.io/v1", kind: "AdmissionReview", response };
    // Only a map with keys that are no text, or a type that refuses, could fail; there is neither.
    serde_json::to_vec(&envelope).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::fixtures::*;
    use crate::review::Review;

    #[test]
    fn an_answer_is_short_whatever_is_wrong() {
        let names: Vec<String> = (0..30_000).map(|at| format!("not a name {at}")).collect();
        let object = cluster_json(json!({"spec": {"controlPlane": {"certSANs": names}}}));
        let body = review_body("CREATE", "tenantclusters", &object, &Value::Null, "ana@example.org");
        let verdict = crate::judge(&Review::parse(body.as_bytes()).expect("review"), &facts());
        let bytes = answer_verdict("uid", &verdict);
        assert!(bytes.len() < 64 * 1024, "{}", bytes.len());
        let answer: Value = serde_json::from_slice(&bytes).expect("answer");
        let status = &answer["response"]["status"];
        assert_eq!(status["details"]["causes"].as_array().map(Vec::len), Some(50));
        let message = status["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("30000 problems\n- spec.controlPlane.certSANs[0]: "), "{message}");
        assert!(message.ends_with("\nand 29950 more problems"), "{message}");
        assert_eq!(answer["response"]["auditAnnotations"]["findings"], "control-plane/NotAName");
        assert_eq!(answer["response"]["allowed"], false);
    }

    #[test]
    fn warnings_are_counted_too() {
        let warning = crate::Finding::warn("Old", "spec.a", "old");
        let verdict = Verdict {
            policies: Default::default(),
            findings: vec![warning; 60],
            more_denials: 0,
            more_warnings: 7,
            kind: "Team",
            name: "payments".to_owned(),
        };
        let warnings: Vec<String> = verdict.warnings().collect();
        assert_eq!((warnings.len(), warnings.last().map(String::as_str)), (51, Some("and 17 more warnings")));
        assert!(verdict.allows());
    }
}
