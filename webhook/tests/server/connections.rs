//! Too many of them, and what is not HTTP over TLS.

use butler_webhook::server::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{World, judged, patient, post, within};

#[tokio::test]
async fn a_connection_too_many_is_closed_at_once() {
    let world = World::new(Limits { connections: 1, ..patient() }).await;
    let mut first = world.caller().await;
    let mut second = TcpStream::connect(world.address).await.unwrap();
    assert_eq!(within(second.read(&mut [0; 1])).await.unwrap(), 0);
    assert_eq!(world.metric("butler_webhook_connections_refused_total{reason=\"too-many\"}"), 1);
    first.send(&post("{}")).await;
    assert_eq!(first.answer().await.body, judged(2));
    drop(first);
    world.metric_becomes("butler_webhook_connections_open", 0).await;
    assert_eq!(world.ask(&post("{}")).await.body, judged(2));
}

#[tokio::test]
async fn what_is_not_tls_is_closed_and_counted() {
    let world = World::new(patient()).await;
    let mut failures = 0;
    for bytes in [post("{}").into_bytes(), vec![0; 100], vec![0x16, 3, 1, 0xff, 0xff, 1, 2, 3]] {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut reply = Vec::new();
        let _ = within(stream.read_to_end(&mut reply)).await;
        assert!(!String::from_utf8_lossy(&reply).contains("200"), "{reply:?}");
        failures += 1;
        let name = "butler_webhook_tls_handshake_failures_total{reason=\"failed\"}";
        world.metric_becomes(name, failures).await;
    }
    assert_eq!(world.ask(&post("{}")).await.body, judged(2));
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let world = World::new(patient()).await;
    let large = format!("x-large: {}\r\n", "x".repeat(17 << 10));
    let many = "x-many: x\r\n".repeat(101);
    let endless = "x-endless: x\r\n".repeat(1_000_000);
    for headers in [large, many, endless] {
        let mut stream = world.tls(b"http/1.1").await;
        let text = post("{}").replace("content-type", &format!("{headers}content-type"));
        // All of it before anything is read: a caller who cannot finish sending may never look at the answer.
        within(stream.write_all(text.as_bytes())).await.unwrap();
        within(stream.flush()).await.unwrap();
        let mut answer = Vec::new();
        let _ = within(stream.read_to_end(&mut answer)).await;
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{answer}");
    }
    world.metric_becomes("butler_webhook_connections_ended_total{reason=\"malformed\"}", 3).await;
}

#[tokio::test]
async fn what_is_not_http_is_refused() {
    let world = World::new(patient()).await;
    let mut caller = world.caller().await;
    caller.send("\0\0\0 not http\r\n\r\n").await;
    let answer = caller.closed().await;
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    world.metric_becomes("butler_webhook_connections_ended_total{reason=\"malformed\"}", 1).await;
}

#[tokio::test]
async fn a_caller_who_goes_away_gives_everything_back() {
    let world = World::new(patient()).await;
    for body in ["hang", "half"] {
        let mut caller = world.caller().await;
        let text = post(body);
        caller.send(if body == "half" { text.strip_suffix("lf").unwrap() } else { &text }).await;
        world.metric_becomes("butler_webhook_requests_in_flight", 1).await;
        drop(caller);
        world.metric_becomes("butler_webhook_requests_in_flight", 0).await;
        world.metric_becomes("butler_webhook_connections_open", 0).await;
        assert_eq!(world.metric("butler_webhook_body_bytes"), 0);
    }
}
