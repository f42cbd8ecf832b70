//! What exact quotas cost, and what a plain count from a cache lets through.
//!
//! Everything is measured on one real API server in one run, so figures are ratios; this machine's speed is in none of them.

#![expect(
    clippy::unwrap_used,
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
        pub(crate) mod usage;
    }
}

use std::pin::pin;
use std::time::{Duration, Instant};

use butler_api::TenantCluster;
use futures::StreamExt;
use futures::future::join_all;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use serde_json::{Value, json};

use self::harness::{Gate, Setup};
use self::objects::eventually;
use self::on_a_cluster::quota::denier::Denier;
use self::on_a_cluster::quota::platform::{clusters_of, make_team, named, prepare};
use self::on_a_cluster::quota::usage::Usage;
use self::on_a_cluster::{harness, objects};

const AT_ONCE: usize = 64;
const ROUNDS: usize = 7;
const TEAMS: usize = 8;
const NO_TEAM: &str = "butler-tenants";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let gate = Gate::start(Setup { replicas: 3, ..Setup::default() }).await;
    prepare(&gate).await;
    lift_provider(&gate).await;
    let limits = json!({ "resourceLimits": { "maxClusters": 100_000, "maxTotalNodes": 1_000_000, "maxMemory": "1Ei" } });
    for number in 0..TEAMS {
        make_team(&gate, &format!("team-{number}"), limits.clone()).await;
    }
    calls(&gate).await;
    cost(&gate).await;
    over_admissions(&gate).await;
}

/// How many calls an increase waits for when nobody else is about.
async fn calls(gate: &Gate) {
    const COUNT: usize = 20;
    let sums = async || {
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
    create_all(gate, &["team-0".to_owned()], 1, "warm").await;
    let before = sums().await;
    for number in 0..COUNT {
        create(gate, "team-0", &format!("alone-{number}")).await;
        // So that what one replica wrote has been told to the others.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let after = sums().await;
    println!(
        "calls beyond the review per uncontended increase: {:.2} ({COUNT} creates, three replicas)",
        (after.0 - before.0) / (after.1 - before.1)
    );
    clear(gate, "team-0").await;
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

/// The same burst against ours, and against a count over a cache, which is how it is done elsewhere.
async fn over_admissions(gate: &Gate) {
    const MOST: i64 = 5;
    let limits = json!({ "maxClusters": MOST });
    let burst = async |team: &str| {
        let tries = (0..AT_ONCE).map(|number| async move {
            let object = serde_json::from_value(named(team, &format!("burst-{number}"), 1)).unwrap();
            clusters_of(gate.client(), team).create(&PostParams::default(), &object).await.is_ok()
        });
        join_all(tries).await;
        Usage::of(gate.client(), team).await.unwrap().clusters
    };
    make_team(gate, "exact", json!({ "resourceLimits": limits.clone() })).await;
    make_team(gate, "counted", json!({})).await;
    let exact = burst("exact").await;

    let registrations: Api<ValidatingWebhookConfiguration> = Api::all(gate.client().clone());
    registrations.delete("butler-webhook", &DeleteParams::default()).await.unwrap();
    let (reader, writer) = reflector::store::<TenantCluster>();
    let clusters: Api<TenantCluster> = Api::all(gate.client().clone());
    let cache = tokio::spawn(async move {
        let mut events =
            pin!(reflector(writer, watcher(clusters, watcher::Config::default())).default_backoff());
        while events.next().await.is_some() {}
    });
    reader.wait_until_ready().await.unwrap();
    let count = move |request: &Value| {
        let there = reader
            .state()
            .into_iter()
            .filter(|it| it.metadata.namespace.as_deref() == request["namespace"].as_str());
        request["operation"] != "CREATE" || (there.count() as i64) < MOST
    };
    let counting = Denier::start(gate, Duration::ZERO, count).await;
    eventually("the count is in force", async || {
        let mut object = named("exact", "one-more", 1);
        object["metadata"]["namespace"] = json!("exact");
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        clusters_of(gate.client(), "exact")
            .create(&dry, &serde_json::from_value(object).unwrap())
            .await
            .is_err()
    })
    .await;
    let counted = burst("counted").await;
    counting.stop(gate).await;
    cache.abort();
    println!(
        "{AT_ONCE} creates at once into a limit of {MOST}: ours admits {exact}, over-admissions {}",
        exact - MOST
    );
    println!(
        "{AT_ONCE} creates at once into a limit of {MOST}: a count from a cache admits {counted}, over-admissions {}",
        counted - MOST
    );
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
