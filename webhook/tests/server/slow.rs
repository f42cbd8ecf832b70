//! Callers that take their time.

use std::time::Duration;

use butler_webhook::server::Limits;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::world::{World, judged, patient, post, within};

const SHORT: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let world = World::new(Limits { body: SHORT, ..patient() }).await;
    let mut caller = world.caller().await;
    caller.send(post("{}").strip_suffix('}').unwrap()).await;
    let answer = caller.answer().await;
    assert_eq!(answer.status, 408);
    assert_eq!(answer.body, "the body did not arrive within 200ms\n");
    assert_eq!(caller.closed().await, "");
    world.metric_becomes("butler_webhook_requests_in_flight", 0).await;
    world.metric_becomes("butler_webhook_body_bytes", 0).await;
    assert_eq!(world.metric("butler_webhook_http_errors_total{code=\"408\"}"), 1);
}

#[tokio::test]
async fn a_body_that_comes_in_drops_is_given_up() {
    let world = World::new(Limits { body: SHORT, ..patient() }).await;
    let (mut reads, mut writes) = tokio::io::split(world.tls(b"http/1.1").await);
    let drops = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        let text = post(&"x".repeat(100_000));
        let (head, body) = text.split_at(text.find("\r\n\r\n").unwrap() + 4);
        writes.write_all(head.as_bytes()).await?;
        for byte in body.as_bytes() {
            writes.write_all(&[*byte]).await?;
            writes.flush().await?;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        std::io::Result::Ok(())
    });
    let mut answer = Vec::new();
    let _ = within(reads.read_to_end(&mut answer)).await;
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{answer}");
    assert!(within(drops).await.unwrap().is_err(), "all of the body was taken");
}

#[tokio::test]
async fn a_head_that_does_not_end_is_cut() {
    let world = World::new(Limits { first_request: SHORT, ..patient() }).await;
    let mut caller = world.caller().await;
    caller.send("POST / HTTP/1.1\r\nhost: ").await;
    assert_eq!(caller.closed().await, "");
    world.metric_becomes("butler_webhook_connections_ended_total{reason=\"nothing-asked\"}", 1).await;
    world.metric_becomes("butler_webhook_connections_open", 0).await;
}

#[tokio::test]
async fn a_caller_that_asks_nothing_is_cut() {
    for protocol in [b"http/1.1".as_slice(), b"h2"] {
        let world = World::new(Limits { first_request: SHORT, ..patient() }).await;
        let mut stream = world.tls(protocol).await;
        let _ = within(stream.read_to_end(&mut Vec::new())).await;
        world.metric_becomes("butler_webhook_connections_ended_total{reason=\"nothing-asked\"}", 1).await;
        world.metric_becomes("butler_webhook_connections_open", 0).await;
    }
}

#[tokio::test]
async fn a_connection_without_requests_is_closed() {
    let world = World::new(Limits { first_request: SHORT, idle: SHORT, ..patient() }).await;
    let mut caller = world.caller().await;
    caller.send(&post("{}")).await;
    assert_eq!(caller.answer().await.body, judged(2));
    assert_eq!(caller.closed().await, "");
    world.metric_becomes("butler_webhook_connections_ended_total{reason=\"idle\"}", 1).await;
}

#[tokio::test]
async fn a_later_head_that_does_not_end_is_cut_as_well() {
    let world = World::new(Limits { first_request: SHORT, idle: SHORT, ..patient() }).await;
    let mut caller = world.caller().await;
    caller.send(&post("{}")).await;
    assert_eq!(caller.answer().await.status, 200);
    caller.send("POST / HTTP/1.1\r\nhost: ").await;
    assert_eq!(caller.closed().await, "");
}

#[tokio::test]
async fn a_review_in_progress_is_not_taken_for_silence() {
    let world = World::new(Limits { first_request: SHORT, idle: SHORT, ..patient() }).await;
    let mut caller = world.caller().await;
    caller.send(&post("wait")).await;
    // Longer than two looks at the connection and the second that it would have to close.
    tokio::time::sleep(10 * SHORT).await;
    world.released.add_permits(1);
    assert_eq!(caller.answer().await.body, judged(4));
}

#[tokio::test]
async fn a_handshake_that_does_not_come_is_cut() {
    let world = World::new(Limits { handshake: SHORT, ..patient() }).await;
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    assert_eq!(within(stream.read(&mut [0; 1])).await.unwrap(), 0);
    world.metric_becomes("butler_webhook_tls_handshake_failures_total{reason=\"timeout\"}", 1).await;
    world.metric_becomes("butler_webhook_connections_open", 0).await;
}

#[tokio::test]
async fn a_review_that_hangs_is_given_up_and_the_connection_goes_on() {
    let world = World::new(Limits { request: SHORT, ..patient() }).await;
    let mut caller = world.caller().await;
    caller.send(&post("hang")).await;
    let answer = caller.answer().await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.body, "the review took longer than 200ms and was given up\n");
    caller.send(&post("{}")).await;
    assert_eq!(caller.answer().await.body, judged(2));
}
