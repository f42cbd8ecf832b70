//! Everything at once: replicas that are killed, an API server that restarts, another webhook that denies, names that clash.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::denier::Denier;
use super::platform::{clusters_of, make_team, named, prepare};
use super::usage::Usage;
use crate::harness::{Gate, Setup};
use crate::objects::objects_of;

const CLIENTS: usize = 64;
/// Few, so that they clash.
const NAMES: u64 = 10;
const REPLICAS: usize = 3;
/// Long enough that ours has answered before the other webhook does.
const AFTER_OURS: Duration = Duration::from_millis(30);
/// Between two deaths.
const PEACE: Duration = Duration::from_secs(4);
/// How long everything may take to settle afterwards.
const SETTLING: Duration = Duration::from_secs(120);
const UNDECIDED: &str = "it could not be decided whether the team's limits allow this";

fn teams() -> Vec<(String, Value)> {
    let limits = [
        json!({ "maxClusters": 4 }),
        json!({ "maxTotalNodes": 9 }),
        json!({ "maxCPUCores": "20", "maxMemory": "150Gi" }),
        json!({ "maxClusters": 6, "maxTotalNodes": 11, "maxMemory": "160Gi" }),
    ];
    limits.into_iter().enumerate().map(|(number, limits)| (format!("storm-{number}"), limits)).collect()
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

#[derive(Default)]
struct Tally {
    begun: AtomicUsize,
    is_restarting: AtomicBool,
    over_admissions: AtomicU64,
    outcomes: Mutex<BTreeMap<&'static str, u64>>,
    /// Why it could not be decided, each with how often.
    undecided: Mutex<BTreeMap<String, u64>>,
    beyond: Mutex<Vec<String>>,
}

impl Tally {
    fn count(&self, outcome: &'static str) {
        *self.outcomes.lock().unwrap().entry(outcome).or_default() += 1;
    }

    /// Who is told that it could not be decided is told why, and to try again.
    fn count_undecided(&self, message: &str) {
        let why = message
            .split_once(UNDECIDED)
            .and_then(|(_, why)| why.strip_prefix(": ")?.strip_suffix("; try again"));
        let why = why.unwrap_or_else(|| panic!("{message}"));
        let when = if self.is_restarting.load(Ordering::Relaxed) { " while it restarts" } else { "" };
        *self.undecided.lock().unwrap().entry(format!("{why}{when}")).or_default() += 1;
        self.count("not decided");
    }

    async fn check(&self, client: &Client, team: &str, limits: &Value) {
        // An API server that is away just now is asked again after the next success.
        let Ok(usage) = Usage::of(client, team).await else { return };
        let beyond = usage.beyond(limits);
        if !beyond.is_empty() {
            self.over_admissions.fetch_add(1, Ordering::Relaxed);
            self.beyond.lock().unwrap().push(format!("{team}: {}", beyond.join(", ")));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_storm_nothing_is_over_admitted_and_no_slot_is_lost() {
    let operations = std::env::var("BUTLER_STORM").map_or(3000, |count| count.parse().unwrap());
    let setup = Setup { replicas: REPLICAS, request_timeout: Some(12), ..Setup::default() };
    let mut gate = Gate::start(setup).await;
    prepare(&gate).await;
    for (name, limits) in teams() {
        make_team(&gate, &name, json!({ "resourceLimits": limits })).await;
    }
    let asked = AtomicU64::new(0);
    let denier =
        Denier::start(&gate, AFTER_OURS, move |_| !asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(10))
            .await;

    let (tally, is_over, started) =
        (Arc::new(Tally::default()), Arc::new(AtomicBool::new(false)), Instant::now());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (client, tally) = (gate.client().clone(), tally.clone());
            tokio::spawn(async move {
                let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1) << 32);
                while tally.begun.fetch_add(1, Ordering::Relaxed) < operations {
                    operate(&client, &mut dice, &tally).await;
                }
            })
        })
        .collect();
    let finished = {
        let is_over = is_over.clone();
        tokio::spawn(async move {
            for client in clients {
                client.await.unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
        })
    };
    let (mut killed, mut has_restarted) = (0, false);
    while !is_over.load(Ordering::Relaxed) {
        sleep(PEACE).await;
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        if !has_restarted && tally.begun.load(Ordering::Relaxed) > operations / 2 {
            tally.is_restarting.store(true, Ordering::Relaxed);
            gate.plane().restart_api_server().await.unwrap();
            has_restarted = true;
            // Whoever was asked meanwhile has an answer by then.
            sleep(PEACE).await;
            tally.is_restarting.store(false, Ordering::Relaxed);
            continue;
        }
        gate.kill_replica(killed % REPLICAS);
        killed += 1;
        gate.add_replica().await;
    }
    finished.await.unwrap();
    let took = started.elapsed();
    denier.stop(&gate).await;

    let settled = settle(&gate).await;
    for (name, limits) in teams() {
        tally.check(gate.client(), &name, &limits).await;
        fill_up(&gate, &name, &limits).await;
        tally.check(gate.client(), &name, &limits).await;
    }
    let outcomes = tally.outcomes.lock().unwrap().clone();
    println!("{operations} operations in {:.0} s: {outcomes:?}", took.as_secs_f64());
    println!(
        "{killed} replicas killed, API server restarted: {has_restarted}; settled after {:.0} s",
        settled.as_secs_f64()
    );
    println!("not decided, because: {:?}", tally.undecided.lock().unwrap());
    println!("over-admissions: {}", tally.over_admissions.load(Ordering::Relaxed));
    assert_eq!(*tally.beyond.lock().unwrap(), [""; 0]);
    assert!(outcomes.get("created").is_some_and(|count| *count > 0), "{outcomes:?}");
    assert!(outcomes.get("over quota").is_some_and(|count| *count > 0), "{outcomes:?}");
    assert!(killed > 0 && has_restarted);
}

/// One thing that a client does, and a look at what it led to.
async fn operate(client: &Client, dice: &mut Dice, tally: &Tally) {
    let teams = teams();
    let (team, limits) = &teams[dice.roll(teams.len() as u64) as usize];
    let name = format!("c{}", dice.roll(NAMES));
    let (api, replicas) = (clusters_of(client, team), 1 + dice.roll(4) as i32);
    let object = serde_json::from_value(named(team, &name, replicas)).unwrap();
    let patch = PatchParams::default();
    let (kind, result) = match dice.roll(100) {
        0..40 => ("created", api.create(&PostParams::default(), &object).await.map(drop)),
        40..50 => {
            let dry = PostParams { dry_run: true, ..PostParams::default() };
            ("tried", api.create(&dry, &object).await.map(drop))
        }
        50..65 => ("deleted", api.delete(&name, &DeleteParams::default()).await.map(drop)),
        65..80 => {
            let change = json!({ "spec": { "workers": { "replicas": replicas } } });
            ("edited", api.patch(&name, &patch, &Patch::Merge(change)).await.map(drop))
        }
        80..90 => {
            let memory = format!("{}Gi", 8 * (1 + dice.roll(4)));
            let change = json!({ "spec": { "workers": { "machineTemplate": { "memory": memory } } } });
            ("resized", api.patch(&name, &patch, &Patch::Merge(change)).await.map(drop))
        }
        _ => {
            let change = json!({ "spec": { "replicas": replicas } });
            ("scaled", api.patch_scale(&name, &patch, &Patch::Merge(change)).await.map(drop))
        }
    };
    match result {
        Ok(()) => {
            tally.count(kind);
            tally.check(client, team, limits).await;
        }
        Err(kube::Error::Api(status)) if status.message.contains(UNDECIDED) => {
            tally.count_undecided(&status.message);
        }
        Err(kube::Error::Api(status)) => tally.count(match status.code {
            404 => "not there",
            409 => "clashed",
            403 if status.message.contains("would fit") => "over quota",
            _ if status.message.contains("denier") => "denied by the other",
            _ if status.message.contains("failed calling webhook") => "gate not reached",
            504 | 500 | 429 => "failed",
            _ => "other",
        }),
        Err(_) => {
            // Nobody was asked, so it is none of those that are counted.
            tally.begun.fetch_sub(1, Ordering::Relaxed);
            tally.count("no API server");
            sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Waits until no ledger has anything open, and each has exactly what is stored.
async fn settle(gate: &Gate) -> Duration {
    let ledgers = objects_of(gate.client(), "QuotaLedger", "butler-system");
    let started = Instant::now();
    loop {
        let mut open = Vec::new();
        for (team, _) in teams() {
            let ledger = ledgers.get(&team).await.unwrap();
            let count = |list: &str| ledger.data["spec"][list].as_array().map_or(0, Vec::len);
            let stored =
                clusters_of(gate.client(), &team).list(&ListParams::default()).await.unwrap().items.len();
            if count("open") > 0 || count("held") != stored {
                open.push(format!("{team}: {} open, {} held, {stored} stored", count("open"), count("held")));
            }
        }
        if open.is_empty() {
            return started.elapsed();
        }
        assert!(started.elapsed() < SETTLING, "{open:?}");
        sleep(Duration::from_millis(500)).await;
    }
}

/// Uses up what is left to the last bit, and is then denied the next.
async fn fill_up(gate: &Gate, team: &str, limits: &Value) {
    let api = clusters_of(gate.client(), team);
    for cluster in api.list(&ListParams::default()).await.unwrap() {
        api.delete(&cluster.metadata.name.unwrap(), &DeleteParams::default()).await.unwrap();
    }
    let mut number = 0;
    loop {
        let object = named(team, &format!("full-{number}"), 1);
        let created = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await;
        let one_more = Usage {
            clusters: number + 1,
            nodes: number + 1,
            cpu: 2 * (number + 1),
            memory: 16 * (number + 1),
        };
        if one_more.beyond(limits).is_empty() {
            created.unwrap();
            number += 1;
            continue;
        }
        let denied = created.unwrap_err().to_string();
        assert!(denied.contains("0 would fit") || denied.contains("would fit"), "{denied}");
        println!("{team} is full with {number} clusters");
        return;
    }
}
