//! The same over HTTP/2, where one connection carries many requests.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use butler_webhook::server::{Drain, Drained, Limits};
use bytes::Bytes;
use futures::StreamExt;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::world::{PATH, World, judged, patient, post, within};

type Sender = SendRequest<Full<Bytes>>;

async fn connect(world: &World) -> (Sender, JoinHandle<hyper::Result<()>>) {
    let stream = world.tls(b"h2").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    (sender, tokio::spawn(connection))
}

fn review(body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(format!("https://webhook.example.com{PATH}?timeout=5s"))
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .unwrap()
}

async fn ask(sender: &Sender, request: Request<Full<Bytes>>) -> (StatusCode, String) {
    let response = within(sender.clone().send_request(request)).await.unwrap();
    let status = response.status();
    let body = within(response.into_body().collect()).await.unwrap().to_bytes();
    (status, String::from_utf8(body.into()).unwrap())
}

#[tokio::test]
async fn a_review_is_answered() {
    let world = World::new(patient()).await;
    let (sender, _connection) = connect(&world).await;
    let response = within(sender.clone().send_request(review("{}"))).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["content-length"], judged(2).len().to_string());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, judged(2));
    assert_eq!(ask(&sender, review(vec![b'x'; 8 << 20])).await, (StatusCode::OK, judged(8 << 20)));
}

#[tokio::test]
async fn refusals_are_the_same() {
    let world = World::new(patient()).await;
    let (sender, _connection) = connect(&world).await;
    let mut request = review("{}");
    *request.uri_mut() = "https://webhook.example.com/".parse().unwrap();
    assert_eq!(ask(&sender, request).await.0, 404);
    let mut request = review("{}");
    *request.method_mut() = http::Method::PUT;
    assert_eq!(ask(&sender, request).await.0, 405);
    let mut request = review("{}");
    request.headers_mut().remove("content-type");
    assert_eq!(ask(&sender, request).await.0, 415);
    assert_eq!(ask(&sender, review("panic")).await.0, 500);
    let (status, text) = ask(&sender, review(vec![b'x'; 10 << 20])).await;
    assert_eq!(status, 413);
    assert_eq!(text, "the body is larger than the 8388608 bytes that are read\n");
    assert_eq!(ask(&sender, review("{}")).await, (StatusCode::OK, judged(2)));
}

/// A caller who is answered while they still send may see only that the stream has ended.
#[tokio::test]
async fn a_body_that_is_too_large_is_received_before_it_is_refused() {
    let world = World::new(patient()).await;
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let pieces = futures::stream::iter(0..160).map(move |_| {
        counted.fetch_add(64 << 10, Ordering::Relaxed);
        Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; 64 << 10])))
    });
    let stream = world.tls(b"h2").await;
    let (mut sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = within(sender.send_request(review("").map(|_| StreamBody::new(pieces)))).await.unwrap();
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(sent.load(Ordering::Relaxed), 10 << 20);
}

#[tokio::test]
async fn only_the_surplus_of_many_requests_is_told_to_come_again() {
    let world = World::new(Limits { in_flight: 10, ..patient() }).await;
    let (sender, _connection) = connect(&world).await;
    let asking: Vec<_> = (0..100)
        .map(|_| {
            let sender = sender.clone();
            tokio::spawn(async move { ask(&sender, review("wait")).await })
        })
        .collect();
    let throttled = "butler_webhook_requests_throttled_total{reason=\"requests\"}";
    world.metric_becomes(throttled, 90).await;
    assert_eq!(world.metric("butler_webhook_requests_in_flight"), 10);
    world.released.add_permits(10);
    let mut judged_count = 0;
    for asked in asking {
        let (status, text) = within(asked).await.unwrap();
        if status == StatusCode::OK {
            assert_eq!(text, judged(4));
            judged_count += 1;
        } else {
            assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(
                text,
                "10 reviews are in progress, which is the most at a time; try again in a second\n"
            );
        }
    }
    assert_eq!(judged_count, 10);
    assert_eq!(ask(&sender, review("{}")).await, (StatusCode::OK, judged(2)));
}

#[tokio::test]
async fn a_caller_of_more_streams_than_there_are_waits() {
    let world = World::new(Limits { streams: 4, ..patient() }).await;
    let (sender, _connection) = connect(&world).await;
    // The first answer comes after the server's settings.
    assert_eq!(ask(&sender, review("{}")).await.0, 200);
    let asking: Vec<_> = (0..8)
        .map(|_| {
            let sender = sender.clone();
            tokio::spawn(async move { ask(&sender, review("wait")).await })
        })
        .collect();
    world.metric_becomes("butler_webhook_requests_in_flight", 4).await;
    world.released.add_permits(8);
    for asked in asking {
        assert_eq!(within(asked).await.unwrap(), (StatusCode::OK, judged(4)));
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let world = World::new(patient()).await;
    let (sender, _connection) = connect(&world).await;
    let mut request = review("{}");
    request.headers_mut().insert("x-large", "x".repeat(17 << 10).parse().unwrap());
    assert_eq!(ask(&sender, request).await, (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, String::new()));
    assert_eq!(ask(&sender, review("{}")).await.0, 200);
}

#[tokio::test]
async fn a_drain_finishes_what_is_in_flight() {
    let drain = Drain { notice: Duration::ZERO, grace: Duration::from_secs(20) };
    let world = World::that_drains(patient(), drain).await;
    let mut silent = world.caller().await;
    silent.send(&post("{}")).await;
    assert_eq!(silent.answer().await.status, 200);
    let (sender, connection) = connect(&world).await;
    let asking = tokio::spawn({
        let sender = sender.clone();
        async move { ask(&sender, review("wait")).await }
    });
    world.metric_becomes("butler_webhook_requests_in_flight", 1).await;
    let (ending, server) = world.begin_to_end();
    // The silent one is closed only once the end has begun; trying to connect before that would be one more to finish.
    assert_eq!(silent.closed().await, "");
    assert!(TcpStream::connect(ending.address).await.is_err());
    ending.released.add_permits(1);
    assert_eq!(within(asking).await.unwrap(), (StatusCode::OK, judged(4)));
    // The caller would keep it: the server has said that it ends.
    within(connection).await.unwrap().unwrap();
    drop(sender);
    assert_eq!(within(server).await.unwrap(), Drained { finished: 2, cut: 0 });
}
