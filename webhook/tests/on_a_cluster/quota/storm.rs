//! Everything at once: replicas that are killed, an API server that restarts, another webhook that denies, names that clash.
//! Whoever judges, ours or another, the storm is the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::platform::{clusters_of, make_team, named};
use super::usage::{ENVIRONMENT, OWNER, Usage};
use crate::harness::Gate;
use crate::objects::{eventually, objects_of};

const CLIENTS: usize = 64;
/// Few, so that they clash.
const NAMES: u64 = 10;
pub(crate) const REPLICAS: usize = 3;
/// Between two deaths.
const PEACE: Duration = Duration::from_secs(4);
pub(crate) const UNDECIDED: &str = "it could not be decided whether the team's limits allow this";
/// What keeps a cluster that is being deleted.
const KEPT: &str = "example.com/kept";

/// What the storm is about: teams, and a provider that all of them are on.
pub(crate) struct Field {
    pub(crate) teams: Vec<(String, Value)>,
    pub(crate) provider: Value,
}

impl Field {
    /// Teams with limits of every kind, which begin with something.
    pub(crate) async fn prepare(gate: &Gate, prefix: &str) -> Self {
        let environments = json!([
            { "name": "dev", "limits": { "maxClusters": 3, "maxClustersPerMember": 2 } }, { "name": "prod" }
        ]);
        let limits = [
            json!({ "resourceLimits": { "maxClusters": 4 } }),
            json!({ "resourceLimits": { "maxTotalNodes": 9 } }),
            json!({ "resourceLimits": { "maxCPUCores": "20", "maxMemory": "150Gi" } }),
            json!({ "resourceLimits": { "maxClusters": 6, "maxTotalNodes": 11, "maxStorage": "200Gi" } }),
            json!({ "environments": environments }),
        ];
        let teams: Vec<(String, Value)> = limits
            .into_iter()
            .enumerate()
            .map(|(number, spec)| (format!("{prefix}-{number}"), spec))
            .collect();
        let provider = json!({ "maxClustersPerTeam": 8, "maxNodesPerTeam": 13 });
        let patch = json!({ "spec": { "limits": provider } });
        let providers = objects_of(gate.client(), "ProviderConfig", "butler-system");
        providers.patch("harvester-prod", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
        let field = Self { teams, provider };
        for (team, spec) in &field.teams {
            make_team(gate, team, spec.clone()).await;
            for number in 0..2 {
                let object = field.cluster(team, &format!("first-{number}"), 2, &mut Dice(7 + number));
                eventually("there is something before the storm", async || {
                    clusters_of(gate.client(), team).create(&PostParams::default(), &object).await.is_ok()
                })
                .await;
            }
        }
        field
    }

    fn spec(&self, team: &str) -> &Value {
        &self.teams.iter().find(|(name, _)| name == team).unwrap().1
    }

    /// A cluster as the team's clusters have to be; some are kept when they are deleted.
    fn cluster(&self, team: &str, name: &str, replicas: i32, dice: &mut Dice) -> DynamicObject {
        let mut object = named(team, name, replicas);
        if self.spec(team).get("environments").is_some() {
            let environment = ["dev", "dev", "prod"][dice.roll(3) as usize];
            let owner = ["ana", "ben"][dice.roll(2) as usize];
            object["metadata"]["labels"] = json!({ ENVIRONMENT: environment });
            object["metadata"]["annotations"] =
                json!({ OWNER: owner, "butler.butlerlabs.dev/creator-email": owner });
        }
        if dice.roll(6) == 0 {
            object["metadata"]["finalizers"] = json!([KEPT]);
        }
        serde_json::from_value(object).unwrap()
    }

    pub(crate) fn beyond(&self, team: &str, usage: &Usage) -> Vec<String> {
        usage.beyond(self.spec(team), &self.provider)
    }
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

/// What came of it.
#[derive(Default)]
pub(crate) struct Tally {
    begun: AtomicUsize,
    is_restarting: AtomicBool,
    /// Successful answers after which more was stored than a limit allows.
    pub(crate) over_admissions: AtomicU64,
    pub(crate) outcomes: Mutex<BTreeMap<&'static str, u64>>,
    /// Why it could not be decided, each with how often.
    pub(crate) undecided: Mutex<BTreeMap<String, u64>>,
    pub(crate) beyond: Mutex<Vec<String>>,
    pub(crate) killed: AtomicUsize,
    pub(crate) has_restarted: AtomicBool,
}

impl Tally {
    fn count(&self, outcome: &'static str) {
        *self.outcomes.lock().unwrap().entry(outcome).or_default() += 1;
    }

    /// Who is told that it could not be decided is told why, and to try again.
    fn count_undecided(&self, message: &str) {
        let why = message
            .split_once(UNDECIDED)
            .and_then(|(_, why)| Some(why.strip_prefix(": ")?.split_once("; try again")?.0));
        let why = why.unwrap_or_else(|| panic!("{message}"));
        let when = if self.is_restarting.load(Ordering::Relaxed) { " while it restarts" } else { "" };
        *self.undecided.lock().unwrap().entry(format!("{why}{when}")).or_default() += 1;
        self.count("not decided");
    }

    pub(crate) async fn check(&self, client: &Client, field: &Field, team: &str) {
        // An API server that is away just now is asked again after the next success.
        let Ok(usage) = Usage::of(client, team).await else { return };
        let beyond = field.beyond(team, &usage);
        if !beyond.is_empty() {
            self.over_admissions.fetch_add(1, Ordering::Relaxed);
            self.beyond.lock().unwrap().push(format!("{team}: {}", beyond.join(", ")));
        }
    }
}

/// That many operations by many clients at once, while replicas are killed and the API server restarts.
pub(crate) async fn rage(gate: &mut Gate, field: &Arc<Field>, operations: usize) -> Arc<Tally> {
    let (tally, is_over) = (Arc::new(Tally::default()), Arc::new(AtomicBool::new(false)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (client, tally, field) = (gate.client().clone(), tally.clone(), field.clone());
            tokio::spawn(async move {
                let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1) << 32);
                while tally.begun.fetch_add(1, Ordering::Relaxed) < operations {
                    operate(&client, &field, &mut dice, &tally).await;
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
    while !is_over.load(Ordering::Relaxed) {
        sleep(PEACE).await;
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let has_restarted = tally.has_restarted.load(Ordering::Relaxed);
        if !has_restarted && tally.begun.load(Ordering::Relaxed) > operations / 2 {
            tally.is_restarting.store(true, Ordering::Relaxed);
            gate.plane().restart_api_server().await.unwrap();
            tally.has_restarted.store(true, Ordering::Relaxed);
            // Whoever was asked meanwhile has an answer by then.
            sleep(PEACE).await;
            tally.is_restarting.store(false, Ordering::Relaxed);
            continue;
        }
        gate.kill_replica(tally.killed.fetch_add(1, Ordering::Relaxed) % REPLICAS);
        gate.add_replica().await;
    }
    finished.await.unwrap();
    tally
}

/// One thing that a client does, and a look at what it led to.
async fn operate(client: &Client, field: &Field, dice: &mut Dice, tally: &Tally) {
    let (team, _) = &field.teams[dice.roll(field.teams.len() as u64) as usize];
    let name = match dice.roll(NAMES + 2) {
        number @ 0..NAMES => format!("c{number}"),
        number => format!("first-{}", number - NAMES),
    };
    let (api, replicas) = (clusters_of(client, team), 1 + dice.roll(4) as i32);
    let object = field.cluster(team, &name, replicas, dice);
    let patch = PatchParams::default();
    let change = async |change: Value| api.patch(&name, &patch, &Patch::Merge(change)).await.map(drop);
    let (kind, result) = match dice.roll(100) {
        0..36 => ("created", api.create(&PostParams::default(), &object).await.map(drop)),
        36..44 => {
            let dry = PostParams { dry_run: true, ..PostParams::default() };
            ("tried", api.create(&dry, &object).await.map(drop))
        }
        44..58 => ("deleted", api.delete(&name, &DeleteParams::default()).await.map(drop)),
        58..64 => ("freed", change(json!({ "metadata": { "finalizers": null } })).await),
        64..76 => ("edited", change(json!({ "spec": { "workers": { "replicas": replicas } } })).await),
        76..86 => {
            let template = json!({ "memory": format!("{}Gi", 8 * (1 + dice.roll(4))), "cpu": 1 + dice.roll(4),
                "diskSize": format!("{}Gi", 20 * (1 + dice.roll(3))) });
            ("resized", change(json!({ "spec": { "workers": { "machineTemplate": template } } })).await)
        }
        86..90 => {
            let owner = ["ana", "ben"][dice.roll(2) as usize];
            ("handed over", change(json!({ "metadata": { "annotations": { OWNER: owner } } })).await)
        }
        _ => {
            let change = json!({ "spec": { "replicas": replicas } });
            ("scaled", api.patch_scale(&name, &patch, &Patch::Merge(change)).await.map(drop))
        }
    };
    match result {
        Ok(()) => {
            tally.count(kind);
            tally.check(client, field, team).await;
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

/// Lets go of everything that is kept.
pub(crate) async fn free(gate: &Gate, field: &Field) {
    for (team, _) in &field.teams {
        let api = clusters_of(gate.client(), team);
        for cluster in api.list(&ListParams::default()).await.unwrap() {
            let (name, free) =
                (cluster.metadata.name.unwrap(), json!({ "metadata": { "finalizers": null } }));
            api.patch(&name, &PatchParams::default(), &Patch::Merge(free)).await.unwrap();
        }
    }
}
