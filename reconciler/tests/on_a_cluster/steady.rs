//! When nothing changes, nothing is written.

use std::time::{Duration, Instant};

use butler_api::Team;
use butler_bench::eventually;
use serde_json::{Value, json};

use crate::world::{World, team, until_ready};

const TEAMS: usize = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_teams_are_looked_at_again_without_a_write() {
    let mut world = World::audited().await;
    for number in 0..TEAMS {
        let users = json!([{ "name": "ana@example.org", "role": "admin" }, { "name": "bo@example.org" }]);
        world
            .apply(&team(
                &format!("team-{number}"),
                json!({ "description": "cards", "access": { "users": users } }),
            ))
            .await;
    }
    world.add_replica(&["--resync-seconds=10"]).await;
    until_ready(&world.all::<Team>(), TEAMS).await;
    // What the watches tell of our own writes is heard, and the last statuses are written.
    let is_quiet = async || {
        let before = world.writes().len();
        tokio::time::sleep(Duration::from_secs(3)).await;
        world.writes().len() == before
    };
    eventually("nothing is written any more", is_quiet).await;

    let replica = &world.replicas[0];
    let (looked, asked, started) =
        (replica.metric("butler_reconciler_reconciles_total").await, world.asked().len(), Instant::now());
    let written = world.writes().len();
    eventually("every team was looked at again", async || {
        replica.metric("butler_reconciler_reconciles_total").await >= looked + TEAMS as f64
    })
    .await;
    let more: Vec<Value> = world.writes().split_off(written);
    assert_eq!(more, Vec::<Value>::new());
    let minutes = started.elapsed().as_secs_f64() / 60.0;
    let events = world.asked().split_off(asked);
    let leases = events.iter().filter(|event| event["objectRef"]["resource"] == "leases").count();
    let reads = events.len() - leases;
    println!(
        "steady state with {TEAMS} teams, one full resync: writes per minute {:.0}, reads per minute {:.0}, requests for the lease per minute {:.0}",
        more.len() as f64 / minutes,
        reads as f64 / minutes,
        leases as f64 / minutes,
    );
}
