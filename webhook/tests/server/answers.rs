//! What a request gets over HTTP/1.1.

use butler_webhook::endpoint::ENDPOINTS;
use butler_webhook::server::Limits;

use crate::world::{PATH, World, judged, patient, post, request};

#[tokio::test]
async fn a_review_is_answered_at_every_endpoint() {
    let world = World::new(patient()).await;
    let mut caller = world.caller().await;
    for endpoint in ENDPOINTS {
        let path = endpoint.path;
        caller.send(&request("POST", path, "application/json; charset=utf-8", "{}")).await;
        let answer = caller.answer().await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("connection"), None);
        assert_eq!(answer.body, format!("{path} 2"));
    }
    assert_eq!(world.metric("butler_webhook_connections_open"), 1);
    drop(caller);
    world.metric_becomes("butler_webhook_connections_open", 0).await;
    assert_eq!(world.metric("butler_webhook_requests_in_flight"), 0);
    assert_eq!(world.metric("butler_webhook_body_bytes"), 0);
}

#[tokio::test]
async fn what_is_not_served_says_what_is() {
    let world = World::new(patient()).await;
    let no_path = "nothing is served at this path; reviews are sent to the paths of the webhook configurations, such as \
                   `/validate-butler-butlerlabs-dev-v1alpha1-tenantcluster`\n";
    let no_post = "only POST is served at this path, with an AdmissionReview\n";
    let no_json = "the content type must be `application/json`, and the body an AdmissionReview\n";
    let json = "application/json";
    for (request, status, text) in [
        (request("POST", "/", json, "{}"), 404, no_path),
        (request("POST", &format!("{PATH}/"), json, "{}"), 404, no_path),
        (request("POST", "/metrics", json, "{}"), 404, no_path),
        (request("GET", PATH, json, ""), 405, no_post),
        (request("PUT", PATH, json, "{}"), 405, no_post),
        (request("POST", PATH, "application/yaml", "{}"), 415, no_json),
        (request("POST", PATH, "", "{}"), 415, no_json),
        (post("nonsense"), 400, "the body is not an AdmissionReview\n"),
    ] {
        let before = world.metric(&format!("butler_webhook_http_errors_total{{code=\"{status}\"}}"));
        let answer = world.ask(&request).await;
        assert_eq!((answer.status, answer.body.as_str()), (status, text), "{request}");
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(answer.header("allow"), (status == 405).then_some("POST"));
        let after = world.metric(&format!("butler_webhook_http_errors_total{{code=\"{status}\"}}"));
        assert_eq!(after, before + 1);
    }
    assert_eq!(world.ask(&post("{}")).await.body, judged(2));
}

#[tokio::test]
async fn a_body_of_10_mib_is_refused_by_its_announced_length() {
    let world = World::new(patient()).await;
    let answer = world.ask(&post(&"x".repeat(10 << 20))).await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.body, "the body is larger than the 8388608 bytes that are read\n");
}

#[tokio::test]
async fn an_announced_length_is_refused_before_anything_of_it_is_sent() {
    let world = World::new(patient()).await;
    let mut caller = world.caller().await;
    let head = request("POST", PATH, "application/json", "")
        .replace("content-length: 0", "content-length: 8388609\r\nexpect: 100-continue");
    caller.send(&head).await;
    assert_eq!(caller.answer().await.status, 413);
    assert_eq!(caller.closed().await, "");
}

#[tokio::test]
async fn a_body_up_to_the_limit_is_read_whole() {
    let world = World::new(patient()).await;
    let answer = world.ask(&post(&"x".repeat(8 << 20))).await;
    assert_eq!(answer.body, judged(8 << 20));
}

fn chunked(sizes: &[usize]) -> String {
    let mut text = request("POST", PATH, "application/json", "")
        .replace("content-length: 0", "transfer-encoding: chunked");
    for size in sizes {
        text += &format!("{size:x}\r\n{}\r\n", "x".repeat(*size));
    }
    text + "0\r\n\r\n"
}

#[tokio::test]
async fn a_chunked_body_is_bounded_too() {
    let world = World::new(Limits { body_bytes: 100_000, ..patient() }).await;
    assert_eq!(world.ask(&chunked(&[1000; 100])).await.body, judged(100_000));
    let answer = world.ask(&chunked(&[1000; 101])).await;
    assert_eq!(answer.status, 413);
    assert_eq!(answer.body, "the body is larger than the 100000 bytes that are read\n");
    world.metric_becomes("butler_webhook_body_bytes", 0).await;
}

#[tokio::test]
async fn a_panic_costs_one_request_and_nothing_else() {
    let world = World::new(patient()).await;
    let mut caller = world.caller().await;
    caller.send(&post("panic")).await;
    let answer = caller.answer().await;
    assert_eq!(answer.status, 500);
    assert_eq!(
        answer.body,
        "the review failed inside the webhook, which is a defect of it; its log says where\n"
    );
    caller.send(&post("{}")).await;
    assert_eq!(caller.answer().await.body, judged(2));
    assert_eq!(world.metric("butler_webhook_panics_total"), 1);
    assert_eq!(world.metric("butler_webhook_requests_in_flight"), 0);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let world = World::new(patient()).await;
    let mut caller = world.caller().await;
    caller.send(&(post("1") + &post("22") + &request("POST", "/", "", "") + &post("4444"))).await;
    assert_eq!(caller.answer().await.body, judged(1));
    assert_eq!(caller.answer().await.body, judged(2));
    assert_eq!(caller.answer().await.status, 404);
    assert_eq!(caller.answer().await.body, judged(4));
}

#[tokio::test]
async fn one_request_too_many_is_told_to_come_again() {
    let world = World::new(Limits { in_flight: 2, ..patient() }).await;
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let mut caller = world.caller().await;
        caller.send(&post("wait")).await;
        waiting.push(caller);
    }
    world.metric_becomes("butler_webhook_requests_in_flight", 2).await;
    // Its body is never sent: nobody waits for it.
    let mut surplus = world.caller().await;
    surplus.send(post("{}").strip_suffix("{}").unwrap()).await;
    let answer = surplus.answer().await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(
        answer.body,
        "2 reviews are in progress, which is the most at a time; try again in a second\n"
    );
    assert_eq!(world.metric("butler_webhook_requests_throttled_total{reason=\"requests\"}"), 1);
    world.released.add_permits(2);
    for mut caller in waiting {
        assert_eq!(caller.answer().await.body, judged(4));
    }
    assert_eq!(world.ask(&post("{}")).await.status, 200);
}

#[tokio::test]
async fn bodies_past_the_memory_for_all_of_them_are_told_to_come_again() {
    let world = World::new(Limits { body_bytes_in_total: 100_000, ..patient() }).await;
    let mut half = world.caller().await;
    let large = post(&"x".repeat(90_000));
    // All but the last byte: the server keeps what it has.
    half.send(large.strip_suffix('x').unwrap()).await;
    world.metric_becomes("butler_webhook_body_bytes", 90_000).await;
    let answer = world.ask(&post(&"x".repeat(20_000))).await;
    assert_eq!(answer.status, 429);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(
        answer.body,
        "the reviews in progress hold as much memory as they may; try again in a second\n"
    );
    assert_eq!(world.metric("butler_webhook_requests_throttled_total{reason=\"bytes\"}"), 1);
    assert_eq!(world.ask(&post("{}")).await.status, 200);
    half.send("x").await;
    assert_eq!(half.answer().await.body, judged(90_000));
    assert_eq!(world.metric("butler_webhook_body_bytes"), 0);
}
