//! What every answer has to be, whatever was asked.

use std::fmt;

use butler_webhook::admission::Reply;
use butler_webhook::endpoint::{Endpoint, Stage};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What an answer may have beyond a part of its question: a denial repeats values, shortened, with a sentence each.
const SENTENCES: usize = 64 << 10;

/// Checks an answer. If it changes the object, returns the review of the changed object.
pub(crate) fn check(endpoint: Endpoint, body: &[u8], reply: &Reply) -> Option<Vec<u8>> {
    let uid = uid_in(body);
    let Reply::Answer(bytes) = reply else {
        assert_eq!(uid, None, "there was a uid to answer to:\n{}\n{reply:?}", crate::text(body));
        return None;
    };
    let answer: Value = serde_json::from_slice(bytes).expect("an answer is JSON");
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(answer["kind"], "AdmissionReview");
    let response = &answer["response"];
    assert!(response["uid"].is_string());
    if let Some(uid) = uid {
        assert_eq!(response["uid"], uid);
    }
    assert!(bytes.len() <= 2 * body.len() + SENTENCES, "{} bytes to answer {}", bytes.len(), body.len());
    let allowed = response["allowed"].as_bool().expect("yes or no");
    if allowed {
        assert!(response["status"].is_null(), "{answer}");
    } else {
        check_denial(&response["status"]);
    }
    for warning in response["warnings"].as_array().into_iter().flatten() {
        assert!(warning.as_str().is_some_and(|text| !text.is_empty()), "{answer}");
    }
    if response["patch"].is_null() {
        assert!(response["patchType"].is_null(), "{answer}");
        return None;
    }
    assert!(allowed && endpoint.stage == Stage::Mutating, "{answer}");
    assert_eq!(response["patchType"], "JSONPatch");
    patched(body, response["patch"].as_str().expect("base64"))
}

fn check_denial(status: &Value) {
    assert_eq!(status["status"], "Failure");
    assert!(status["message"].as_str().is_some_and(|text| !text.trim().is_empty()), "{status}");
    let code = (status["code"].as_u64(), status["reason"].as_str());
    let known =
        [(Some(400), Some("BadRequest")), (Some(403), Some("Forbidden")), (Some(422), Some("Invalid"))];
    assert!(known.contains(&code), "{status}");
    for cause in status["details"]["causes"].as_array().into_iter().flatten() {
        for part in ["reason", "message", "field"] {
            assert!(cause[part].as_str().is_some_and(|text| !text.is_empty()), "{status}");
        }
    }
}

/// The review of the object as the patch leaves it. None where the body has what the handler skips and others cannot
/// read, such as a number that is too large for anybody, or too deep a nest.
fn patched(body: &[u8], patch: &str) -> Option<Vec<u8>> {
    let patch: json_patch::Patch = serde_json::from_slice(&from_base64(patch)).expect("a JSON Patch");
    assert!(!patch.0.is_empty(), "a patch of nothing");
    let mut review: Value = serde_json::from_slice(body).ok()?;
    let object = &mut review["request"]["object"];
    let before = object.clone();
    json_patch::patch(object, &patch).unwrap_or_else(|error| panic!("{error}: {patch:?} on {before}"));
    Some(serde_json::to_vec(&review).unwrap())
}

fn from_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert_eq!(text.len() % 4, 0, "padded");
    let letters = text.trim_end_matches('=').bytes();
    let bits = letters.map(|letter| ALPHABET.iter().position(|it| *it == letter).expect("in the alphabet"));
    let mut bytes = Vec::new();
    let (mut held, mut count) = (0_usize, 0);
    for six in bits {
        held = held << 6 | six;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((held >> count & 0xff) as u8);
        }
    }
    bytes
}

/// The uid of the request, if the body is JSON and says unambiguously which it is. Written without the types of the
/// handler, which are what is on trial.
fn uid_in(body: &[u8]) -> Option<String> {
    struct Fields(Vec<(String, Box<serde_json::value::RawValue>)>);
    impl<'de> Deserialize<'de> for Fields {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Each;
            impl<'de> Visitor<'de> for Each {
                type Value = Fields;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                    let mut fields = Vec::new();
                    while let Some(field) = map.next_entry()? {
                        fields.push(field);
                    }
                    Ok(Fields(fields))
                }
            }
            deserializer.deserialize_map(Each)
        }
    }
    fn only<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
        let mut named = fields.0.iter().filter(|(key, _)| key == name);
        let (_, value) = named.next()?;
        named.next().is_none().then(|| value.get())
    }
    std::str::from_utf8(body).ok()?;
    let _: IgnoredAny = serde_json::from_slice(body).ok()?;
    let review: Fields = serde_json::from_slice(body).ok()?;
    let request: Fields = serde_json::from_str(only(&review, "request")?).ok()?;
    serde_json::from_str(only(&request, "uid")?).ok()
}
