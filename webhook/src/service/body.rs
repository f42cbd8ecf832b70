//! What a request carries: JSON or YAML, not too long, and not too many at once.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use serde_json::Value;
use tokio::time::timeout;

use super::status::Refusal;
use super::{BODY, Shared};

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reads it. Its memory is taken from a budget before any of it is kept.
pub(super) async fn read(shared: &Shared, head: &Parts, body: Incoming) -> Result<Value, Refusal> {
    let is_yaml = match media_type(head) {
        // Who says nothing sends JSON, as to kube-apiserver.
        "" | "application/json" => false,
        "application/yaml" => true,
        _ => return Err(Refusal::unsupported_media_type()),
    };
    let announced =
        body.size_hint().exact().map_or(BODY, |length| usize::try_from(length).unwrap_or(usize::MAX));
    if announced > BODY {
        return Err(Refusal::too_large(BODY));
    }
    let _held = shared.bodies.take(announced).ok_or_else(Refusal::too_many_requests)?;
    let whole = match timeout(PATIENCE, Limited::new(body, BODY).collect()).await {
        Ok(Ok(whole)) => whole.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(Refusal::too_large(BODY)),
        Ok(Err(_)) => return Err(Refusal::bad_request("the body ended before its length")),
        Err(_) => return Err(Refusal::timeout()),
    };
    let unreadable = |why: String| Refusal::bad_request(format!("the body cannot be read: {why}"));
    if is_yaml {
        serde_saphyr::from_slice(&whole).map_err(|error| unreadable(error.to_string()))
    } else {
        serde_json::from_slice(&whole).map_err(|error| unreadable(error.to_string()))
    }
}

fn media_type(head: &Parts) -> &str {
    let value = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}
