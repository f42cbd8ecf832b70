//! What exact quotas cost, and what a plain count from a cache lets through.
//!
//! Everything is measured on one real API server in one run, so figures are ratios; this machine's speed is in none of them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    reason = "a benchmark ends by panicking, and uses part of what tests use"
)]

#[path = "../tests/on_a_cluster"]
mod on_a_cluster {
    pub(crate) mod harness;
    pub(crate) mod objects;
    pub(crate) mod quota {
        pub(crate) mod denier;
        pub(crate) mod platform;
        pub(crate) mod storm;
        pub(crate) mod usage;
    }
}

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use butler_api::TenantCluster;
use futures::StreamExt;
use futures::future::join_all;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::store::Writer;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use serde_json::{Value, json};

use self::harness::{Gate, Setup};
use self::objects::eventually;
use self::on_a_cluster::quota::denier::Denier;
use self::on_a_cluster::quota::platform::{clusters_of, make_team, named, prepare};
use self::on_a_cluster::quota::storm::{Field, Tally, rage};
use self::on_a_cluster::quota::usage::Usage;
use self::on_a_cluster::{harness, objects};

const AT_ONCE: usize = 64;
const ROUNDS: usize = 7;
const TEAMS: usize = 8;
const NO_TEAM: &str = "butler-tenants";
/// Of each storm.
const OPERATIONS: usize = 3000;
/// Long enough that ours has answered before the other webhook does.
const AFTER_OURS: Duration = Duration::from_millis(30);

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut gate = Gate::start(Setup { replicas: 3, ..Setup::default() }).await;
    prepare(&gate).await;
    lift_provider(&gate).await;
    let limits = json!({ "resourceLimits": { "maxClusters": 100_000, "maxTotalNodes": 1_000_000, "maxMemory": "1Ei" } });
    for number in 0..TEAMS {
        make_team(&gate, &format!("team-{number}"), limits.clone()).await;
    }
    // In pieces, for a machine that is not one's own for long.
    let piece = std::env::var("BUTLER_PIECE").ok();
    let is_wanted = |name: &str| piece.as_deref().is_none_or(|piece| piece == name);
    if is_wanted("calls") {
        calls(&gate).await;
    }
    if is_wanted("cost") {
        cost(&gate).await;
    }
    if is_wanted("storm") {
        over_admissions(&mut gate).await;
    }
}

/// How many calls an increase waits for when nobody else is about, as the replicas count them, and how many the API server
/// sees for ledgers altogether, with what replicas do by themselves when the cluster is stored.
async fn calls(gate: &Gate) {
    const COUNT: usize = 20;
    let waited_for = async || {
        let (mut calls, mut answers) = (0.0, 0.0);
        for replica in gate.replicas() {
            let text = replica.metrics().await;
            let value = |name: &str| {
                let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
                found.unwrap_or(0.0)
            };
            calls += value("butler_quota_calls_per_answer_sum");
            answers += value("butler_quota_calls_per_answer_count");
        }
        (calls, answers)
    };
    let ledgers = objects::objects_of(gate.client(), "QuotaLedger", "butler-system");
    create_all(gate, &["team-0".to_owned()], 1, "warm").await;
    for is_settled in [true, false] {
        let (before, seen) = (waited_for().await, seen_calls(gate).await);
        for number in 0..COUNT {
            if is_settled {
                // Nothing of the one before is under way.
                eventually("the ledger is settled", async || {
                    ledgers.get("team-0").await.is_ok_and(|it| it.data["spec"].get("open").is_none())
                })
                .await;
            }
            create(gate, "team-0", &format!("alone-{is_settled}-{number}")).await;
        }
        let (after, still_seen) = (waited_for().await, seen_calls(gate).await);
        println!(
            "calls beyond the review per increase, {}: {:.2} waited for, {:.2} writes of ledgers and reads of teams seen by \
             the API server ({COUNT} creates, three replicas)",
            if is_settled { "uncontended" } else { "one right after the other" },
            (after.0 - before.0) / (after.1 - before.1),
            (still_seen - seen) / COUNT as f64,
        );
    }
    clear(gate, "team-0").await;
}

/// The calls for ledgers that the API server itself has counted: each but the watches, and what this program asks.
async fn seen_calls(gate: &Gate) -> f64 {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let text = gate.client().request_text(request).await.unwrap();
    let counts = text.lines().filter(|line| {
        let is_ours = line.starts_with("apiserver_request_total{") && line.contains("butler.butlerlabs.dev");
        let is_write = line.contains("resource=\"quotaledgers\"") && line.contains("verb=\"PUT\"");
        let is_read = line.contains("resource=\"teams\"") && line.contains("verb=\"GET\"");
        is_ours && (is_write || is_read)
    });
    counts.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// How long the same creates take without a ledger, into one team, and into several.
///
/// Teams that create at the same time share a machine, whether they have limits or not. What limits add to that is how much
/// longer they make the creates of all teams at once, compared with how much longer they make those of one team alone.
async fn cost(gate: &Gate) {
    let teams = |count: usize| (0..count).map(|number| format!("team-{number}")).collect::<Vec<_>>();
    let (none, one, several) = (vec![NO_TEAM.to_owned()], teams(1), teams(TEAMS));
    let share = AT_ONCE / TEAMS;
    let rows = [(&none, AT_ONCE), (&one, AT_ONCE), (&several, AT_ONCE), (&none, share), (&one, share)];
    let mut times = rows.map(|_| Vec::new());
    for round in 0..=ROUNDS {
        for ((teams, count), times) in rows.iter().zip(&mut times) {
            let took = create_all(gate, teams, *count, &format!("round-{round}")).await;
            // The first time warms up.
            if round > 0 {
                times.push(took.as_secs_f64());
            }
            for team in *teams {
                clear(gate, team).await;
            }
            settle(gate).await;
        }
    }
    let [without, into_one, into_several, share_without, share_into_one] = times.map(median);
    println!(
        "{AT_ONCE} simultaneous creates, median of {ROUNDS}: {:.0} ms without a team, {:.0} ms into one team, {:.0} ms into {TEAMS} teams",
        without * 1e3,
        into_one * 1e3,
        into_several * 1e3
    );
    println!(
        "{share} simultaneous creates: {:.0} ms without a team, {:.0} ms into one team",
        share_without * 1e3,
        share_into_one * 1e3
    );
    println!("one team with limits to none: {:.2}", into_one / without);
    println!("{TEAMS} teams in parallel to one team: {:.2}", into_several / into_one);
    let (together, alone) = (into_several / without, share_into_one / share_without);
    println!(
        "{TEAMS} teams in parallel: limits take {together:.2} times as long, of a team alone {alone:.2} times; ratio {:.2}",
        together / alone
    );
}

/// Waits until no replica writes any more: what is deleted is taken out of the ledgers a moment later.
async fn settle(gate: &Gate) {
    let ledgers = objects::objects_of(gate.client(), "QuotaLedger", "butler-system");
    eventually("the ledgers are empty", async || {
        let all = ledgers.list(&ListParams::default()).await.unwrap().items;
        all.iter().all(|ledger| ledger.data["spec"].get("held").is_none())
    })
    .await;
    // Teams are told after that.
    tokio::time::sleep(Duration::from_secs(2)).await;
}

/// The sample's provider has limits of its own, which are not what is measured here.
async fn lift_provider(gate: &Gate) {
    let none = json!({ "spec": { "limits": null } });
    let providers = objects::objects_of(gate.client(), "ProviderConfig", "butler-system");
    providers.patch("harvester-prod", &PatchParams::default(), &Patch::Merge(none)).await.unwrap();
}

/// The same storm against ours, and against a count over a cache, which is how it is done elsewhere.
async fn over_admissions(gate: &mut Gate) {
    let operations = std::env::var("BUTLER_STORM").map_or(OPERATIONS, |count| count.parse().unwrap());
    let field = Arc::new(Field::prepare(gate, "exact").await);
    let asked = AtomicU64::new(0);
    let every_tenth = move || asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(10);
    let denier = Denier::start(gate, AFTER_OURS, move |_| !every_tenth()).await;
    let exact = rage(gate, &field, operations).await;
    denier.stop(gate).await;
    tell("ours", operations, &exact);

    let plain = Arc::new(Field::prepare(gate, "plain").await);
    let registrations: Api<ValidatingWebhookConfiguration> = Api::all(gate.client().clone());
    registrations.delete("butler-webhook", &DeleteParams::default()).await.unwrap();
    let kind = ApiResource::erase::<TenantCluster>(&());
    let clusters: Api<DynamicObject> = Api::all_with(gate.client().clone(), &kind);
    let writer = Writer::new(kind);
    let reader = writer.as_reader();
    let cache = tokio::spawn(async move {
        let mut events =
            pin!(reflector(writer, watcher(clusters, watcher::Config::default())).default_backoff());
        while events.next().await.is_some() {}
    });
    reader.wait_until_ready().await.unwrap();
    let asked = AtomicU64::new(0);
    let counted = plain.clone();
    let count = move |request: &Value| {
        !asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(10) && fits(&counted, &reader.state(), request)
    };
    let counting = Denier::start(gate, Duration::ZERO, count).await;
    let plain = rage(gate, &plain, operations).await;
    counting.stop(gate).await;
    cache.abort();
    tell("a count from a cache", operations, &plain);
}

fn tell(who: &str, operations: usize, tally: &Tally) {
    let outcomes = tally.outcomes.lock().unwrap().clone();
    println!("a storm of {operations} operations against {who}: {outcomes:?}");
    println!(
        "a storm of {operations} operations against {who}: over-admissions {}",
        tally.over_admissions.load(Ordering::Relaxed)
    );
}

/// Whether a change is within the limits of its team, as far as the cache knows.
fn fits(field: &Field, cache: &[Arc<DynamicObject>], request: &Value) -> bool {
    let (Some(team), Some(name)) = (request["namespace"].as_str(), request["name"].as_str()) else {
        return true;
    };
    let own = |it: &&Arc<DynamicObject>| it.metadata.namespace.as_deref() == Some(team);
    let (mut before, mut after) = (Usage::default(), Usage::default());
    for cluster in cache.iter().filter(own) {
        before.add(cluster);
        if cluster.metadata.name.as_deref() != Some(name) {
            after.add(cluster);
        } else if request["subResource"] == "scale" {
            let mut scaled = DynamicObject::clone(cluster);
            scaled.data["spec"]["workers"]["replicas"] = request["object"]["spec"]["replicas"].clone();
            after.add(&scaled);
        }
    }
    if request["subResource"] != "scale" {
        after.add(&serde_json::from_value(request["object"].clone()).unwrap());
    }
    let raises = before.held().iter().zip(after.held()).any(|(before, after)| after > *before);
    !raises || field.beyond(team, &after).is_empty()
}

async fn create(gate: &Gate, team: &str, name: &str) {
    let mut object = named(team, name, 1);
    if team == NO_TEAM {
        object["spec"].as_object_mut().unwrap().remove("teamRef");
    }
    let object = serde_json::from_value(object).unwrap();
    clusters_of(gate.client(), team).create(&PostParams::default(), &object).await.unwrap();
}

/// Creates that many, all at once, spread over these teams.
async fn create_all(gate: &Gate, teams: &[String], count: usize, name: &str) -> Duration {
    let started = Instant::now();
    join_all((0..count).map(|number| {
        let team = &teams[number % teams.len()];
        let name = format!("{name}-{number}");
        async move { create(gate, team, &name).await }
    }))
    .await;
    started.elapsed()
}

async fn clear(gate: &Gate, team: &str) {
    let api = clusters_of(gate.client(), team);
    api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    eventually("the clusters are gone", async || {
        api.list(&ListParams::default()).await.unwrap().items.is_empty()
    })
    .await;
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
