//! How long it takes until everything is as it should be, as a ratio to the time that the same client needs for the same
//! writes without any logic, in the same run. Whatever else the machine does is in both.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a benchmark fails by panicking, like a test"
)]

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use butler_api::Team;
use butler_api::condition::{self, READY};
use butler_bench::control_plane::free_port;
use butler_bench::{ControlPlane, User, eventually};
use butler_program::ProgramOptions;
use butler_reconciler::Options;
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::api::{Api, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::oneshot;

const TEAMS: usize = 1000;
/// The ratio that is promised.
const MOST: f64 = 2.0;
/// For one team: its finalizer, its namespace, a binding for each of two members there, two roles in the cluster, a binding
/// for each of them, its status, and an event.
const WRITES: usize = 10;
/// As many as the reconciler has workers.
const AT_ONCE: usize = 8;
const ACCOUNT: &str = "system:serviceaccount:butler-system:butler-reconciler";
const GROUPS: [&str; 2] = ["system:serviceaccounts", "system:serviceaccounts:butler-system"];
const MANAGER: &str = "butler-reconciler/team";

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let bare = bare_writes().await;
        println!("bare writes of {TEAMS} teams: {:.1} s", bare.as_secs_f64());
        let (converged, written) = converge().await;
        println!("{TEAMS} teams from nothing to Ready: {:.1} s", converged.as_secs_f64());
        println!("writes: {} without logic, {written} by the reconciler", TEAMS * WRITES);
        let ratio = converged.as_secs_f64() / bare.as_secs_f64();
        println!("ratio teams={ratio:.2}");
        if ratio > MOST {
            println!("ABOVE {MOST:.2}: the logic takes more time than the writes themselves");
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    })
}

async fn plane() -> (ControlPlane, User) {
    let plane = ControlPlane::start(butler_bench::Options::default()).await.unwrap();
    plane.install_crds(&butler_api::crd::all()).await.unwrap();
    for manifest in [
        include_str!("../../manifests/webhook/namespace.yaml"),
        include_str!("../../manifests/reconciler/rbac.yaml"),
        include_str!("../../manifests/reconciler/team-roles.yaml"),
    ] {
        plane.apply(manifest).await.unwrap();
    }
    let user = plane.user(ACCOUNT, &GROUPS).unwrap();
    (plane, user)
}

fn team(number: usize) -> Team {
    let users = json!([{ "name": "ana@example.org", "role": "admin" }, { "name": "bo@example.org" }]);
    let mut team = Team::new(
        &format!("team-{number}"),
        serde_json::from_value(json!({ "description": "cards", "access": { "users": users } })).unwrap(),
    );
    team.metadata.labels = Some([("bench".to_owned(), "converge".to_owned())].into());
    team
}

/// What people do in both cases.
async fn make_teams(client: &Client, made: impl AsyncFn(Team)) {
    let teams: Api<Team> = Api::all(client.clone());
    let make = async |number| made(teams.create(&PostParams::default(), &team(number)).await.unwrap()).await;
    stream::iter(0..TEAMS).map(make).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

/// The writes of the reconciler, one after the other for each team, and as many teams at once.
async fn bare_writes() -> Duration {
    let (plane, user) = plane().await;
    let (people, client) = (plane.client().await.unwrap(), user.client().await.unwrap());
    let started = Instant::now();
    let (to_write, written) = tokio::sync::mpsc::unbounded_channel();
    let making = make_teams(&people, async |team| to_write.send(team).unwrap());
    let writing = async {
        let teams =
            stream::unfold(written, |mut written| async { written.recv().await.map(|it| (it, written)) });
        teams
            .take(TEAMS)
            .map(|team| writes(client.clone(), team))
            .buffer_unordered(AT_ONCE)
            .collect::<Vec<()>>()
            .await;
    };
    tokio::join!(making, writing);
    started.elapsed()
}

async fn writes(client: Client, team: Team) {
    let name = team.name_any();
    let rbac = "rbac.authorization.k8s.io";
    let labels = json!({ "app.kubernetes.io/managed-by": "butler", "butler.butlerlabs.dev/team": name });
    let owner = json!([{ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "name": name,
        "uid": team.metadata.uid, "controller": true }]);
    let meta = |own: &str| json!({ "name": own, "labels": labels, "ownerReferences": owner });
    let teams: Api<Team> = Api::all(client.clone());
    let own = |more: Value| {
        let mut body = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "metadata": { "name": name } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let params = PatchParams::apply(MANAGER).force();
    let held = own(json!({ "metadata": { "name": name, "finalizers": ["butler.butlerlabs.dev/team"] } }));
    teams.patch(&name, &params, &Patch::Apply(&held)).await.unwrap();
    apply::<Namespace>(
        Api::all(client.clone()),
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": name, "labels": labels, "annotations": { "butler.butlerlabs.dev/description": "cards" } } }),
    )
    .await;
    for (user, role) in [("ana", "admin"), ("bo", "viewer")] {
        let mut metadata = meta(&format!("butler-team-user-{user}-example-org.0123456789"));
        metadata["namespace"] = json!(name);
        apply::<RoleBinding>(
            Api::namespaced(client.clone(), &name),
            json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": format!("butler-team-{role}") },
            "subjects": [{ "apiGroup": rbac, "kind": "User", "name": format!("{user}@example.org") }] }),
        )
        .await;
    }
    for (role, verbs) in [("member", json!(["get"])), ("admin", json!(["get", "update", "patch"]))] {
        let wide = format!("butler:team:{name}:{role}");
        apply::<ClusterRole>(Api::all(client.clone()), json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": meta(&wide),
            "rules": [{ "apiGroups": ["butler.butlerlabs.dev"], "resources": ["teams"], "resourceNames": [name], "verbs": verbs }] })).await;
        apply::<ClusterRoleBinding>(
            Api::all(client.clone()),
            json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": meta(&wide),
            "roleRef": { "apiGroup": rbac, "kind": "ClusterRole", "name": wide },
            "subjects": [{ "apiGroup": rbac, "kind": "User", "name": "ana@example.org" }] }),
        )
        .await;
    }
    let now = "2026-01-02T03:04:05Z";
    let condition = |kind: &str| {
        json!({ "type": kind, "status": "True", "reason": "Ready", "message": "",
        "lastTransitionTime": now, "observedGeneration": 1 })
    };
    let conditions = ["NamespaceReady", "QuotaExceeded", "RBACReady", "Ready"].map(condition);
    let status = own(
        json!({ "status": { "phase": "Ready", "namespace": name, "observedGeneration": 1, "memberCount": 2,
        "clusterCount": 0, "conditions": conditions } }),
    );
    teams.patch_status(&name, &params, &Patch::Apply(&status)).await.unwrap();
    let event = json!({ "metadata": { "name": format!("{name}.1"), "namespace": "default" }, "eventTime": "2026-01-02T03:04:05.000000Z",
        "action": "Reconcile", "reason": "Ready", "type": "Normal", "note": "all is as it should be",
        "reportingController": "butler-reconciler", "reportingInstance": "bench", "regarding": team.object_ref(&()) });
    let events: Api<Event> = Api::namespaced(client, "default");
    events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
}

async fn apply<K>(api: Api<K>, body: Value)
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned,
{
    let name = body["metadata"]["name"].as_str().unwrap().to_owned();
    api.patch(&name, &PatchParams::apply(MANAGER), &Patch::Apply(&body)).await.unwrap();
}

/// The same by the reconciler, which waits for work when the first team is made.
async fn converge() -> (Duration, usize) {
    let (plane, user) = plane().await;
    let people = plane.client().await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let port = free_port().unwrap();
    let options = Options {
        program: ProgramOptions {
            metrics_listen: (Ipv4Addr::LOCALHOST, port).into(),
            kubeconfig: Some(user.kubeconfig().to_owned()),
        },
        namespace: "butler-system".to_owned(),
        lease: "butler-reconciler".to_owned(),
        identity: "bench".to_owned(),
        lease_seconds: 10,
        workers: u16::try_from(AT_ONCE).unwrap(),
        resync_seconds: 3600,
    };
    let running = tokio::spawn(butler_reconciler::run(options, async {
        let _ = stopped.await;
    }));
    // A first team shows that it works.
    let teams: Api<Team> = Api::all(people.clone());
    let first = Team::new("first", serde_json::from_value(json!({})).unwrap());
    teams.create(&PostParams::default(), &first).await.unwrap();
    until_ready(&people, 1, None).await;
    let before = written(port).await;

    let started = Instant::now();
    let watching = until_ready(&people, TEAMS, Some("bench=converge"));
    let making = make_teams(&people, async |_| {});
    tokio::join!(watching, making);
    let took = started.elapsed();
    // With fewer, it would be compared with more than it does. Events of the last ones may still be on their way.
    eventually("everything is written", async || written(port).await - before >= TEAMS * WRITES).await;
    let written = written(port).await - before;
    let _ = stop.send(());
    running.await.unwrap().unwrap();
    (took, written)
}

/// How much the reconciler has written so far besides its lease.
async fn written(port: u16) -> usize {
    let (_, text) = butler_bench::plain::get(port, "/metrics").await.unwrap();
    let samples = text.lines().filter(|line| line.starts_with("butler_reconciler_writes_total{"));
    samples.map(|line| line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()).sum()
}

/// Watches until that many teams are ready.
async fn until_ready(client: &Client, wanted: usize, labels: Option<&str>) {
    let teams: Api<Team> = Api::all(client.clone());
    let mut params = WatchParams::default().timeout(290);
    params.label_selector = labels.map(str::to_owned);
    let mut ready = std::collections::BTreeSet::new();
    while ready.len() < wanted {
        let mut events = std::pin::pin!(teams.watch(&params, "0").await.unwrap());
        while let Some(event) = events.next().await {
            if let Ok(WatchEvent::Added(team) | WatchEvent::Modified(team)) = event
                && condition::is_true(&team.status.clone().unwrap_or_default().conditions, READY)
            {
                ready.insert(team.name_any());
                if ready.len() >= wanted {
                    return;
                }
            }
        }
    }
}
