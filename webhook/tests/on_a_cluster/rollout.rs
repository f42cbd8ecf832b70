//! Replicas are replaced, and fail, under load.

use crate::harness::{Gate, Setup};
use crate::load::{Load, Outcomes, WORKERS};
use crate::objects::eventually;

const REPLICAS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_fails_no_call_and_a_crash_only_those_on_their_way() {
    let mut gate = Gate::start(Setup { replicas: REPLICAS, drain_delay: 2, ..Setup::default() }).await;
    let load = Load::start(&gate).await;
    load.settle().await;

    // As a Deployment does it: one more, and once it is ready, one of the old less.
    for _ in 0..REPLICAS {
        gate.add_replica().await;
        load.settle().await;
        tokio::task::block_in_place(|| gate.stop_replica(0));
        load.settle().await;
    }
    let rollout = load.take();
    report("rolling restart of 3 replicas", &rollout);
    assert_eq!((rollout.wrong, rollout.failed), (Vec::new(), Vec::new()));

    // With a process die the calls that it was given: a POST is not sent twice by the API server.
    for left in (1..REPLICAS).rev() {
        gate.kill_replica(0);
        load.settle().await;
        let lost = load.take();
        load.settle().await;
        let after = load.take();
        report(&format!("one killed, {left} left"), &lost);
        assert!(lost.wrong.is_empty() && lost.failed.len() <= WORKERS, "{lost:?}");
        assert_eq!((after.wrong, after.failed), (Vec::new(), Vec::new()));
    }

    gate.kill_replica(0);
    load.settle().await;
    let shut = load.take();
    report("none left", &shut);
    assert!(shut.wrong.is_empty() && !shut.failed.is_empty(), "{shut:?}");

    gate.add_replica().await;
    let mut until_then = Outcomes::default();
    eventually("the gate is open again", async || {
        let outcomes = load.take();
        let is_open = outcomes.right > 0;
        until_then = std::mem::take(&mut until_then).and(outcomes);
        is_open
    })
    .await;
    assert_eq!(until_then.wrong, Vec::<String>::new());
    load.settle().await;
    drop(load.take());
    load.settle().await;
    let open = load.stop().await;
    report("one is back", &open);
    assert_eq!((open.wrong, open.failed), (Vec::new(), Vec::new()));
}

fn report(what: &str, outcomes: &Outcomes) {
    let Outcomes { right, wrong, failed } = outcomes;
    println!("{what}: {right} right, {} wrong, {} failed", wrong.len(), failed.len());
    if let Some(first) = failed.first() {
        println!("  the first of them: {first}");
    }
}
