//! The AdmissionReview that answers.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::Verdict;
use crate::defaults::patch::Patch;
use crate::review::ReviewError;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Base64>,
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
    reason: &'static str,
    message: &'a str,
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
                .denials()
                .map(|finding| Cause {
                    reason: finding.fault.cause(),
                    message: &finding.message,
                    field: &finding.path,
                })
                .collect(),
        }),
    });
    let audit_annotations = verdict.audit().map(|words| ("findings", words)).into_iter().collect();
    let warnings = verdict.warnings().collect();
    write(Response {
        uid,
        allowed: status.is_none(),
        status,
        patch_type: None,
        patch: None,
        warnings,
        audit_annotations,
    })
}

/// The answer of the mutating stage. It always allows: whether the completed object is acceptable is for the validating
/// stage to say.
pub fn answer_patch(uid: &str, patch: &Patch) -> Vec<u8> {
    let bytes = (!patch.is_empty()).then(|| Base64(patch.to_bytes()));
    let filled = patch.paths().join(",");
    let audit_annotations = (!filled.is_empty()).then_some(("filled-in", filled)).into_iter().collect();
    write(Response {
        uid,
        allowed: true,
        status: None,
        patch_type: bytes.as_ref().map(|_| "JSONPatch"),
        patch: bytes,
        warnings: Vec::new(),
        audit_annotations,
    })
}

/// The answer to what could not be judged, if it has a uid to answer to.
pub fn answer_error(uid: &str, error: &ReviewError) -> Vec<u8> {
    let (code, reason) = if error.is_about_the_object { (422, "Invalid") } else { (400, "BadRequest") };
    let status = Status { status: "Failure", message: error.message.clone(), reason, code, details: None };
    write(Response {
        uid,
        allowed: false,
        status: Some(status),
        patch_type: None,
        patch: None,
        warnings: Vec::new(),
        audit_annotations: BTreeMap::new(),
    })
}

fn write(response: Response<'_>) -> Vec<u8> {
    let envelope = Envelope { api_version: "admission.k8s.io/v1", kind: "AdmissionReview", response };
    // Only a map with keys that are no text, or a type that refuses, could fail; there is neither.
    serde_json::to_vec(&envelope).unwrap_or_default()
}

/// Bytes as base64 text, which is how JSON carries them.
struct Base64(Vec<u8>);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64(&self.0))
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: [u8; 64] = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| chunk.get(place).copied().map_or(0, u32::from);
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = ALPHABET.get((group >> shift & 63) as usize).filter(|_| place <= chunk.len());
            text.push(char::from(*letter.unwrap_or(&b'=')));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        let table = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, encoded) in table {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
