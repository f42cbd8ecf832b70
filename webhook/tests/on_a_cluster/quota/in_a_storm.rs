//! What a storm leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kube::api::PostParams;
use serde_json::json;
use tokio::time::sleep;

use super::denier::Denier;
use super::platform::{clusters_of, named, prepare};
use super::storm::{Field, REPLICAS, UNDECIDED, free, rage};
use super::usage::{ENVIRONMENT, OWNER, Usage};
use crate::harness::{Gate, Setup};
use crate::objects::objects_of;

/// Long enough that ours has answered before the other webhook does.
const AFTER_OURS: Duration = Duration::from_millis(30);
/// How long everything may take to settle afterwards.
const SETTLING: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_over_admitted_and_no_slot_is_lost() {
    let operations = std::env::var("BUTLER_STORM").map_or(3000, |count| count.parse().unwrap());
    let setup = Setup { replicas: REPLICAS, request_timeout: Some(12), ..Setup::default() };
    let mut gate = Gate::start(setup).await;
    prepare(&gate).await;
    let field = Arc::new(Field::prepare(&gate, "storm").await);
    let asked = AtomicU64::new(0);
    let denier =
        Denier::start(&gate, AFTER_OURS, move |_| !asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(10))
            .await;
    let started = Instant::now();
    let tally = rage(&mut gate, &field, operations).await;
    let took = started.elapsed();
    denier.stop(&gate).await;

    free(&gate, &field).await;
    let settled = settle(&gate, &field).await;
    for (team, _) in &field.teams {
        tally.check(gate.client(), &field, team).await;
        fill_up(&gate, &field, team).await;
        tally.check(gate.client(), &field, team).await;
    }
    let outcomes = tally.outcomes.lock().unwrap().clone();
    let (killed, has_restarted) =
        (tally.killed.load(Ordering::Relaxed), tally.has_restarted.load(Ordering::Relaxed));
    println!("{operations} operations in {:.0} s: {outcomes:?}", took.as_secs_f64());
    println!(
        "{killed} replicas killed, API server restarted: {has_restarted}; settled after {:.0} s",
        settled.as_secs_f64()
    );
    println!("not decided, because: {:?}", tally.undecided.lock().unwrap());
    println!("over-admissions: {}", tally.over_admissions.load(Ordering::Relaxed));
    assert_eq!(*tally.beyond.lock().unwrap(), [""; 0]);
    for outcome in ["created", "over quota", "deleted", "freed", "edited", "resized", "scaled"] {
        assert!(outcomes.get(outcome).is_some_and(|count| *count > 0), "{outcome}: {outcomes:?}");
    }
    assert!(killed > 0 && has_restarted);
}

/// Waits until no ledger has anything open, and each has exactly what is stored, of everything that is counted.
async fn settle(gate: &Gate, field: &Field) -> Duration {
    let ledgers = objects_of(gate.client(), "QuotaLedger", "butler-system");
    let started = Instant::now();
    loop {
        let mut differ = Vec::new();
        for (team, _) in &field.teams {
            let ledger = ledgers.get(team).await.unwrap();
            let open = ledger.data["spec"]["open"].as_array().map_or(0, Vec::len);
            let (held, stored) =
                (Usage::held_in(&ledger.data["spec"]), Usage::of(gate.client(), team).await.unwrap().held());
            if open > 0 || held != stored {
                differ.push(format!("{team}: {open} open, {held:?} held, {stored:?} stored"));
            }
        }
        if differ.is_empty() {
            return started.elapsed();
        }
        assert!(started.elapsed() < SETTLING, "{differ:?}");
        sleep(Duration::from_millis(500)).await;
    }
}

/// The answer of the first try that is decided: a busy machine may take longer than a review may.
async fn decided<T>(attempt: impl AsyncFn() -> kube::Result<T>) -> kube::Result<T> {
    let started = Instant::now();
    loop {
        match attempt().await {
            Err(error) if error.to_string().contains(UNDECIDED) && started.elapsed() < SETTLING => {
                sleep(Duration::from_millis(500)).await;
            }
            answer => return answer,
        }
    }
}

/// Uses up what the storm has left, to the last bit, and is then denied the next.
async fn fill_up(gate: &Gate, field: &Field, team: &str) {
    let api = clusters_of(gate.client(), team);
    let has_environments =
        field.teams.iter().any(|(name, spec)| name == team && spec.get("environments").is_some());
    let before = Usage::of(gate.client(), team).await.unwrap();
    let mut after = before.clone();
    for number in 0.. {
        let mut object = named(team, &format!("full-{number}"), 1);
        if has_environments {
            let owner = format!("somebody-{number}");
            object["metadata"]["labels"] = json!({ ENVIRONMENT: "dev" });
            object["metadata"]["annotations"] =
                json!({ OWNER: owner, "butler.butlerlabs.dev/creator-email": owner });
        }
        let object = serde_json::from_value(object).unwrap();
        let created = decided(async || api.create(&PostParams::default(), &object).await).await;
        after.add(&object);
        if field.beyond(team, &after).is_empty() {
            created.unwrap();
            continue;
        }
        let denied = created.unwrap_err().to_string();
        assert!(denied.contains("would fit"), "{denied}");
        println!("{team} had {:?} and is full with {number} clusters more", before.held());
        return;
    }
}
