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
use kube::api::{Api, DeleteParams, ListParams, PostParams};
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
async fn cost(gate: &Gate) {
    let one = ["team-1".to_owned()];
    let several: Vec<String> = (0..TEAMS).map(|number| format!("team-{number}")).collect();
    let none = [NO_TEAM.to_owned()];
    let (mut without, mut into_one, mut into_several) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for (teams, times) in
            [(&none[..], &mut without), (&one[..], &mut into_one), (&several[..], &mut into_several)]
        {
            let took = create_all(gate, teams, AT_ONCE, &format!("round-{round}")).await;
            // The first time warms up.
            if round > 0 {
                times.push(took.as_secs_f64());
            }
            for team in teams {
                clear(gate, team).await;
            }
        }
    }
    let (without, into_one, into_several) = (median(without), median(into_one), median(into_several));
    println!(
        "{AT_ONCE} simultaneous creates, median of {ROUNDS}: {:.0} ms without a team, {:.0} ms into one team, {:.0} ms into {TEAMS} teams",
        without * 1e3,
        into_one * 1e3,
        into_several * 1e3
    );
    println!("one team with limits to none: {:.2}", into_one / without);
    println!("{TEAMS} teams in parallel to one team: {:.2}", into_several / into_one);
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
