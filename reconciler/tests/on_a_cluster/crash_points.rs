//! Killed at every write, before and after it: the end is the same, and nothing is doubled or left behind.
//!
//! The writes are those that a run without a death makes. Every day two runs meet all of them: in one, each life of the
//! program ends before its second write, in the other, its first write is done and it never hears of that. One run for each
//! write, with a single death before or after it: `BUTLER_CRASH_POINTS=all`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use butler_api::{ButlerConfig, ProviderConfig, Team, TenantAddon, TenantCluster};
use butler_bench::patience::PATIENCE;
use butler_bench::proxy::{Asked, Fate};
use butler_bench::{Options, Proxy};
use futures::future::join_all;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::world::{Group, World, by_name, cluster, delete, team};

/// How many control planes share the work of `all`.
const WORLDS: usize = 3;

/// When the program dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Death {
    Never,
    /// Before this write: the API server never hears of it.
    Before(usize),
    /// After this write: the API server has done it, and the program never hears of that.
    After(usize),
    /// Before the second write of every life.
    BeforeEach,
    /// After the first write of every life.
    AfterEach,
}

/// Counts writes besides the lease and events, and kills the program at some of them.
struct Trap {
    death: Death,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    writes: Vec<String>,
    /// How many there were when the present life began.
    before: usize,
    deaths: usize,
    victim: Option<Group>,
}

impl Trap {
    fn new(death: Death) -> Arc<Self> {
        Arc::new(Self { death, state: Mutex::default() })
    }

    fn decide(self: &Arc<Self>, asked: &Asked) -> Fate {
        if !asked.is_write() || asked.path().contains("/leases") || asked.path().contains("/events") {
            return Fate::Pass;
        }
        let mut state = self.state.lock().unwrap();
        let number = state.writes.len();
        let of_life = number - state.before;
        state.writes.push(format!("{} {}", asked.method, asked.path()));
        let (is_before, is_after) = match self.death {
            Death::Never => (false, false),
            Death::Before(at) => (at == number, false),
            Death::After(at) => (false, at == number),
            Death::BeforeEach => (of_life == 1, false),
            Death::AfterEach => (false, of_life == 0),
        };
        drop(state);
        if is_before {
            self.kill();
            Fate::Hang
        } else if is_after {
            let trap = self.clone();
            Fate::HangAfter(Box::new(move || trap.kill()))
        } else {
            Fate::Pass
        }
    }

    fn kill(&self) {
        let mut state = self.state.lock().unwrap();
        if let Some(victim) = state.victim.take() {
            state.deaths += 1;
            victim.kill();
        }
    }

    /// Somebody lives whom it may concern.
    fn arm(&self, victim: Group) {
        let mut state = self.state.lock().unwrap();
        (state.victim, state.before) = (Some(victim), state.writes.len());
    }
}

/// The names of one run. Runs follow each other on one control plane.
struct Names(String);

impl Names {
    fn staying(&self) -> String {
        format!("staying-{}", self.0)
    }

    fn leaving(&self) -> String {
        format!("leaving-{}", self.0)
    }
}

/// A whole life of every kind: created, changed, and one of each deleted.
async fn story(world: &World, names: &Names) {
    let (staying, leaving) = (names.staying(), names.leaving());
    let spec = |users: Value| {
        json!({ "description": "cards", "access": { "users": users },
        "environments": [{ "name": "dev", "access": { "users": [{ "name": "bo@example.org", "role": "operator" }] } }] })
    };
    let two = json!([{ "name": "ana@example.org", "role": "admin" }, { "name": "bo@example.org" }]);
    world
        .apply(&json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ButlerConfig",
        "metadata": { "name": "butler" }, "spec": { "multiTenancy": { "mode": "Optional" } } }))
        .await;
    for name in [&staying, &leaving] {
        world
            .apply(&json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": { "name": name, "namespace": "butler-system" }, "spec": { "provider": "local" } }))
            .await;
        world.apply(&team(name, spec(two.clone()))).await;
    }
    settled(world, &[&staying, &leaving], 2, 0).await;
    // bo may do more with the clusters of one environment, of which there is one now, and then one with an addon.
    let labelled = json!({ "metadata": { "labels": { "butler.butlerlabs.dev/environment": "dev" } },
        "spec": { "teamRef": { "name": staying } } });
    world.apply(&cluster(&staying, "orders", labelled)).await;
    raised(world, &staying, 2).await;
    world
        .apply(&json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
            "metadata": { "name": "backup", "namespace": staying },
            "spec": { "clusterRef": { "name": "orders" }, "addon": "velero" } }))
        .await;
    raised(world, &staying, 3).await;
    // bo gets another role, so the binding is replaced, and ana goes.
    world.apply(&team(&staying, spec(json!([{ "name": "bo@example.org", "role": "operator" }])))).await;
    settled(world, &[&staying], 1, 1).await;
    // In the team now, so the environment gives nothing more.
    at_last("what the environment gave is gone", async || {
        let roles = world.within::<Role>(&staying).list(&ListParams::default()).await.unwrap();
        let bindings = world.within::<RoleBinding>(&staying).list(&ListParams::default()).await.unwrap();
        roles.items.is_empty() && bindings.items.len() == 1
    })
    .await;
    delete(&world.all::<Team>(), &leaving).await;
    delete(&world.within::<ProviderConfig>("butler-system"), &leaving).await;
    gone(world, &leaving).await;
}

/// Waits until bo has that many rules in the environment, and until they are bound.
async fn raised(world: &World, name: &str, rules: usize) {
    at_last("the environment has its role", async || {
        let role = world.within::<Role>(name).get_opt("butler-environment-dev").await.unwrap();
        let bound = world.within::<RoleBinding>(name).get_opt("butler-environment-dev").await.unwrap();
        bound.is_some() && role.is_some_and(|role| role.rules.is_some_and(|it| it.len() == rules))
    })
    .await;
}

async fn settled(world: &World, names: &[&str], members: i32, clusters: i32) {
    at_last("the teams are settled", async || {
        for name in names {
            let team = world.all::<Team>().get(name).await.unwrap();
            let status = team.status.clone().unwrap_or_default();
            let is_new = status.observed_generation == team.metadata.generation;
            let counts = (status.member_count, status.cluster_count);
            if counts != (Some(members), Some(clusters)) || status.namespace.is_none() || !is_new {
                return false;
            }
        }
        true
    })
    .await;
}

async fn gone(world: &World, name: &str) {
    at_last("what leaves is gone", async || {
        world.all::<Team>().get_opt(name).await.unwrap().is_none()
            && world.all::<Namespace>().get_opt(name).await.unwrap().is_none()
            && world.within::<ProviderConfig>("butler-system").get_opt(name).await.unwrap().is_none()
    })
    .await;
}

/// Many lives take their time.
async fn at_last(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_so().await {
        assert!(started.elapsed() < 10 * PATIENCE, "in vain: {what}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Everything of ours that there is, without what differs between two runs.
async fn found(world: &World, names: &Names) -> BTreeMap<String, Value> {
    let ours = ListParams::default().labels("app.kubernetes.io/managed-by=butler");
    let any = ListParams::default();
    let mut all = BTreeMap::new();
    let mut add = |kind: &str, objects: BTreeMap<String, Value>| {
        for (name, mut object) in objects {
            strip_times(&mut object);
            let text = object.to_string().replace(&names.0, "N");
            all.insert(
                format!("{kind} {}", name.replace(&names.0, "N")),
                serde_json::from_str(&text).unwrap(),
            );
        }
    };
    add("Namespace", by_name(&world.all::<Namespace>().list(&ours).await.unwrap().items));
    add("Role", by_name(&world.all::<Role>().list(&ours).await.unwrap().items));
    add("RoleBinding", by_name(&world.all::<RoleBinding>().list(&ours).await.unwrap().items));
    add("ClusterRole", by_name(&world.all::<ClusterRole>().list(&ours).await.unwrap().items));
    add("ClusterRoleBinding", by_name(&world.all::<ClusterRoleBinding>().list(&ours).await.unwrap().items));
    add("Team", by_name(&world.all::<Team>().list(&any).await.unwrap().items));
    add("ProviderConfig", by_name(&world.all::<ProviderConfig>().list(&any).await.unwrap().items));
    all
}

fn strip_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for field in ["lastTransitionTime", "lastValidationTime", "lastProbeTime", "observedGeneration"] {
                fields.remove(field);
            }
            fields.values_mut().for_each(strip_times);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_times),
        _ => {}
    }
}

/// Tells the story, and lets it end as expected, if anything is; then everything goes.
async fn tell(
    world: &World,
    names: &Names,
    expected: Option<&BTreeMap<String, Value>>,
) -> BTreeMap<String, Value> {
    story(world, names).await;
    let mut end = found(world, names).await;
    let started = Instant::now();
    while expected.is_some_and(|expected| *expected != end) && started.elapsed() < PATIENCE {
        sleep(Duration::from_millis(50)).await;
        end = found(world, names).await;
    }
    let staying = names.staying();
    delete(&world.within::<TenantAddon>(&staying), "backup").await;
    delete(&world.within::<TenantCluster>(&staying), "orders").await;
    delete(&world.all::<Team>(), &staying).await;
    delete(&world.within::<ProviderConfig>("butler-system"), &staying).await;
    delete(&world.all::<ButlerConfig>(), "butler").await;
    gone(world, &staying).await;
    let left: Vec<String> = found(world, names).await.into_keys().collect();
    assert_eq!(left, ["Namespace butler-tenants"], "left behind");
    end
}

/// One life after the other.
async fn live(world: &World, kubeconfig: &Path, trap: &Trap) -> Infallible {
    loop {
        let mut replica = world.start_replica(kubeconfig, &["--workers=1"]);
        trap.arm(replica.group());
        while !replica.has_ended() {
            sleep(Duration::from_millis(20)).await;
        }
        // Nobody else is there who could hold it, and waiting for it to run out proves nothing here.
        let _ = world
            .within::<Lease>("butler-system")
            .delete("butler-reconciler", &DeleteParams::default())
            .await;
    }
}

/// A run: its writes, how often the program died, and what was there in the end.
async fn run(
    world: &World,
    number: usize,
    death: Death,
    expected: Option<&BTreeMap<String, Value>>,
) -> (Vec<String>, usize, BTreeMap<String, Value>) {
    let (names, trap) = (Names(format!("x{number}x")), Trap::new(death));
    let decide = {
        let trap = trap.clone();
        move |asked: &Asked| trap.decide(asked)
    };
    let kubeconfig = world.plane.data_directory().join(format!("trapped-{number}.kubeconfig"));
    let proxy = Proxy::start(&world.account(), kubeconfig, decide).await.unwrap();
    let end = tokio::select! {
        end = tell(world, &names, expected) => end,
        never = live(world, proxy.kubeconfig(), &trap) => match never {},
    };
    // The next run waits for nobody who is dead.
    let _ =
        world.within::<Lease>("butler-system").delete("butler-reconciler", &DeleteParams::default()).await;
    let mut state = trap.state.lock().unwrap();
    (std::mem::take(&mut state.writes), state.deaths, end)
}

/// A run with each of these deaths, as many at the same time as there are worlds: each waits most of its time for others.
/// How often the program died.
async fn runs(
    worlds: &[World],
    deaths: &[Death],
    writes: usize,
    expected: &BTreeMap<String, Value>,
) -> usize {
    let (next, died) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let in_one = async |world: &World| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(death) = deaths.get(number) else { return };
            let (made, times, end) = run(world, number + 1, *death, Some(expected)).await;
            let least = match death {
                // What is told together in one run is told one by one in another, so a run may end before that write.
                Death::Before(at) | Death::After(at) => usize::from(made.len() > *at),
                _ => writes / 2,
            };
            assert!(times >= least, "it died only {times} times: {death:?}");
            assert_eq!(&end, expected, "after {death:?}");
            died.fetch_add(times, Ordering::Relaxed);
            println!("{death:?}: the same end");
        }
    };
    join_all(worlds.iter().map(in_one)).await;
    died.into_inner()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_any_write_changes_nothing_in_the_end() {
    let is_all = std::env::var("BUTLER_CRASH_POINTS").is_ok_and(|it| it == "all");
    let count = if is_all { WORLDS } else { 1 };
    let worlds = join_all((0..count).map(|_| World::without_replicas(Options::default()))).await;
    let (writes, _, expected) = run(&worlds[0], 0, Death::Never, None).await;
    assert!(writes.len() > 30, "{writes:#?}");
    let deaths: Vec<Death> = if is_all {
        (0..writes.len()).flat_map(|at| [Death::Before(at), Death::After(at)]).collect()
    } else {
        vec![Death::BeforeEach, Death::AfterEach]
    };
    let died = runs(&worlds, &deaths, writes.len(), &expected).await;
    assert!(died > deaths.len() / 2, "only {died} deaths");
    println!("{} writes, {died} deaths: 0 different ends, 0 leaked, 0 doubled", writes.len());
}
