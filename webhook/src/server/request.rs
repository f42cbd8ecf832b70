//! One request and its answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use butler_program::connection::Activity;
use bytes::Bytes;
use futures::FutureExt;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, Version};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use tokio::time::{Instant, timeout, timeout_at};

use super::Gate;
use super::admission_port::Shared;
use super::body;
use super::refusal::Refusal;
use crate::admission::Reply;
use crate::endpoint::Endpoint;

/// Answers, whatever comes.
pub(super) async fn answer<G: Gate>(
    shared: &Shared<G>,
    activity: &Arc<Activity>,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let _asking = activity.ask();
    let version = request.version();
    let (head, mut body) = request.into_parts();
    let mut response = match review(shared, &head, &mut body).await {
        Ok(answer) => json(answer),
        Err(refusal) => {
            activity.refuse();
            note(shared, &refusal);
            if version == Version::HTTP_2 && !refusal.is_about_sending() {
                // An answer ends the stream, and a caller who still sends may then see only that it ended. HTTP/1.1
                // does the same for the whole connection, after the answer.
                let _ = timeout(shared.limits.body, body::discard(&mut body, shared.limits.body_bytes)).await;
            }
            refusal.into_response()
        }
    };
    if version < Version::HTTP_2 && shared.readiness.is_draining() {
        // HTTP/1.1 cannot refuse a request that is already on its way when we close, so busy connections are asked
        // to end while there is still time. HTTP/2 has GOAWAY for that.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn review<G: Gate>(shared: &Shared<G>, head: &Parts, body: &mut Incoming) -> Result<Vec<u8>, Refusal> {
    let limits = &shared.limits;
    let endpoint = route(head)?;
    if body::is_over(body.size_hint().lower(), limits.body_bytes) {
        return Err(Refusal::BodyTooLarge { limit: limits.body_bytes });
    }
    let too_many = Refusal::TooManyRequests { limit: limits.in_flight };
    let _slot = shared.in_flight.take(1).ok_or(too_many)?;
    let mut held = shared.body_bytes.take(0).ok_or(Refusal::TooManyBytes)?;

    // Neither of the two timers is registered when nothing has to be waited for.
    let now = Instant::now();
    let reading = body::read(body, limits.body_bytes, &mut held);
    let too_slow = Refusal::BodyTooSlow { limit: limits.body };
    let body = timeout_at(now + limits.body, reading).await.map_err(|_| too_slow)??;

    // A panic can leave nothing of ours half-changed: the gate is given nothing of ours but the body.
    let judging = AssertUnwindSafe(async { shared.gate.review(endpoint, body).await }).catch_unwind();
    match timeout_at(now + limits.request, judging).await {
        Ok(Ok(Reply::Answer(answer))) => Ok(answer),
        Ok(Ok(Reply::NotAReview(why))) => Err(Refusal::NotAReview(why)),
        Ok(Err(_)) => Err(Refusal::ReviewPanicked),
        Err(_) => Err(Refusal::ReviewTooSlow { limit: limits.request }),
    }
}

/// Where a request belongs. kube-apiserver adds its timeout as a query, which says nothing that we do not know.
fn route(head: &Parts) -> Result<Endpoint, Refusal> {
    let endpoint = Endpoint::at(head.uri.path()).ok_or(Refusal::NoSuchPath)?;
    if head.method != Method::POST {
        return Err(Refusal::NotAPost);
    }
    if !is_json(&head.headers) {
        return Err(Refusal::NotJson);
    }
    Ok(endpoint)
}

/// `application/json`, with any parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return false };
    let media_type = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    media_type.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

fn json(answer: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(answer));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn note<G>(shared: &Shared<G>, refusal: &Refusal) {
    let metrics = &shared.metrics;
    metrics.answered(refusal.status());
    match refusal {
        Refusal::TooManyRequests { .. } => metrics.throttled("requests"),
        Refusal::TooManyBytes => metrics.throttled("bytes"),
        Refusal::ReviewPanicked => metrics.panicked(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_recognised_with_its_parameters_and_nothing_else_is() {
        for (value, expected) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            ("Application/JSON ;charset=utf-8", true),
            ("application/jsonp", false),
            ("text/json", false),
            ("application/yaml; application/json", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))]);
            assert_eq!(is_json(&headers), expected, "{value}");
        }
        assert!(!is_json(&HeaderMap::new()));
    }
}
