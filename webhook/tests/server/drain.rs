//! The end: readiness first, then nobody new, then what is in flight.

use std::time::Duration;

use butler_webhook::server::{Drain, Drained, Limits};
use tokio::net::TcpStream;

use crate::world::{World, eventually, judged, patient, post, within};

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn while_others_hear_of_it_reviews_are_still_taken() {
    let drain = Drain { notice: Duration::from_secs(1), grace: LONG };
    let world = World::that_drains(patient(), drain).await;
    assert!(world.readiness.is_ready());
    let mut known = world.caller().await;
    known.send(&post("{}")).await;
    assert_eq!(known.answer().await.header("connection"), None);

    let (ending, server) = world.begin_to_end();
    eventually("readiness is false", || !ending.readiness.is_ready()).await;
    // Both are answered, and both are told not to come back.
    let mut new = ending.caller().await;
    for caller in [&mut known, &mut new] {
        caller.send(&post("{}")).await;
        let answer = caller.answer().await;
        assert_eq!(answer.body, judged(2));
        assert_eq!(answer.header("connection"), Some("close"));
        assert_eq!(caller.closed().await, "");
    }
    assert_eq!(within(server).await.unwrap(), Drained { finished: 0, cut: 0 });
}

#[tokio::test]
async fn what_is_in_flight_is_finished_and_nobody_new_is_taken() {
    let world = World::new(patient()).await;
    let mut silent = world.caller().await;
    silent.send(&post("{}")).await;
    assert_eq!(silent.answer().await.status, 200);
    let mut busy = world.caller().await;
    busy.send(&post("wait")).await;
    world.metric_becomes("butler_webhook_requests_in_flight", 1).await;

    let (ending, server) = world.begin_to_end();
    assert_eq!(silent.closed().await, "");
    assert!(TcpStream::connect(ending.address).await.is_err());
    ending.released.add_permits(1);
    let answer = busy.answer().await;
    assert_eq!(answer.body, judged(4));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(within(server).await.unwrap(), Drained { finished: 2, cut: 0 });
}

#[tokio::test]
async fn who_has_just_connected_may_still_ask_once() {
    let world = World::new(patient()).await;
    let mut other = world.caller().await;
    other.send(&post("{}")).await;
    assert_eq!(other.answer().await.status, 200);
    let mut new = world.caller().await;
    world.metric_becomes("butler_webhook_connections_open", 2).await;
    let server = world.end();
    // The other connection closes only once the end has begun.
    assert_eq!(other.closed().await, "");
    new.send(&post("{}")).await;
    let answer = new.answer().await;
    assert_eq!(answer.body, judged(2));
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(within(server).await.unwrap(), Drained { finished: 2, cut: 0 });
}

#[tokio::test]
async fn what_does_not_finish_is_cut() {
    let drain = Drain { notice: Duration::ZERO, grace: Duration::from_millis(300) };
    let limits = Limits { request: LONG, ..patient() };
    let world = World::that_drains(limits, drain).await;
    let mut caller = world.caller().await;
    caller.send(&post("hang")).await;
    world.metric_becomes("butler_webhook_requests_in_flight", 1).await;
    assert_eq!(within(world.end()).await.unwrap(), Drained { finished: 0, cut: 1 });
    assert_eq!(caller.closed().await, "");
}
