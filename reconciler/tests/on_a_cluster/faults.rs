//! An API server that fails in every way: all teams come to the right state all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use butler_api::Team;
use butler_bench::proxy::{Asked, Fate};
use butler_bench::{Options, Proxy};
use http::StatusCode;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use serde_json::json;

use crate::world::{World, team, until_ready};

const TEAMS: usize = 200;

/// Every fifth request fails, each time in another way. The lease is left alone: what becomes of a leader that cannot renew
/// it is told elsewhere.
fn decide(number: u64, asked: &Asked) -> Fate {
    if asked.path().contains("/leases") {
        return Fate::Pass;
    }
    if asked.is_watch() {
        return match number % 3 {
            0 => Fate::Answer(StatusCode::GONE),
            1 => Fate::Cut(Duration::from_millis(700)),
            _ => Fate::Pass,
        };
    }
    // Seldom, because somebody has to give up waiting each time.
    if asked.is_write() && number.is_multiple_of(97) {
        return Fate::Hang;
    }
    match number % 25 {
        0 => Fate::Answer(StatusCode::TOO_MANY_REQUESTS),
        5 => Fate::Answer(StatusCode::INTERNAL_SERVER_ERROR),
        10 => Fate::Reset,
        15 => Fate::ResetAfter,
        20 => Fate::Delay(Duration::from_millis(300)),
        _ => Fate::Pass,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_teams_converge_on_a_faulty_api_server() {
    let mut world = World::without_replicas(Options::default()).await;
    let injected = Arc::new(Mutex::new(BTreeMap::<String, u64>::new()));
    let counted = injected.clone();
    let kubeconfig = world.plane.data_directory().join("faulty.kubeconfig");
    let proxy = Proxy::start(&world.account(), kubeconfig, move |asked| {
        let mut counted = counted.lock().unwrap();
        let fate = decide(counted.values().sum(), asked);
        *counted.entry(format!("{fate:?}")).or_default() += 1;
        fate
    })
    .await
    .unwrap();
    let path = proxy.kubeconfig().to_owned();
    world.add_replica_with(&path, &[]).await;
    for number in 0..TEAMS {
        let users =
            json!([{ "name": "ana@example.org", "role": "admin" }, { "name": format!("bo-{number}") }]);
        world.apply(&team(&format!("team-{number}"), json!({ "access": { "users": users } }))).await;
    }
    until_ready(&world.all::<Team>(), TEAMS).await;
    let ours = ListParams::default().labels("butler.butlerlabs.dev/team");
    let mut expected = BTreeSet::new();
    for number in 0..TEAMS {
        let name = format!("team-{number}");
        let (ana, bo) = ("User ana@example.org".to_owned(), format!("User bo-{number}"));
        expected.insert(format!("{name} Namespace"));
        expected.insert(format!("{name} RoleBinding ClusterRole butler-team-admin <- {ana}"));
        expected.insert(format!("{name} RoleBinding ClusterRole butler-team-viewer <- {bo}"));
        for (role, verbs, subjects) in
            [("member", "get", format!("{ana}, {bo}")), ("admin", "get, update, patch", ana.clone())]
        {
            let own = format!("butler:team:{name}:{role}");
            expected.insert(format!("{name} ClusterRole {own}: {verbs} teams {name}"));
            expected.insert(format!("{name} ClusterRoleBinding ClusterRole {own} <- {subjects}"));
        }
    }
    let mut found = Vec::new();
    let of = |metadata: &ObjectMeta| metadata.labels.as_ref().unwrap()["butler.butlerlabs.dev/team"].clone();
    for it in world.all::<Namespace>().list(&ours).await.unwrap().items {
        assert_eq!(it.metadata.name, Some(of(&it.metadata)));
        found.push(format!("{} Namespace", of(&it.metadata)));
    }
    for it in world.all::<RoleBinding>().list(&ours).await.unwrap().items {
        assert_eq!(it.metadata.namespace, Some(of(&it.metadata)));
        found.push(format!("{} RoleBinding {}", of(&it.metadata), bound(&it.role_ref, it.subjects)));
    }
    for it in world.all::<ClusterRole>().list(&ours).await.unwrap().items {
        let rules = it.rules.unwrap_or_default();
        let rules: Vec<String> = rules
            .iter()
            .map(|rule| {
                let words = |words: &Option<Vec<String>>| words.clone().unwrap_or_default().join(", ");
                format!(
                    "{} {} {}",
                    rule.verbs.join(", "),
                    words(&rule.resources),
                    words(&rule.resource_names)
                )
            })
            .collect();
        let name = it.metadata.name.clone().unwrap();
        found.push(format!("{} ClusterRole {name}: {}", of(&it.metadata), rules.join("; ")));
    }
    for it in world.all::<ClusterRoleBinding>().list(&ours).await.unwrap().items {
        found.push(format!("{} ClusterRoleBinding {}", of(&it.metadata), bound(&it.role_ref, it.subjects)));
    }
    let count = found.len();
    let found: BTreeSet<String> = found.into_iter().collect();
    let differences: Vec<&String> = found.symmetric_difference(&expected).collect();
    assert_eq!(differences, Vec::<&String>::new());
    assert_eq!(count, expected.len(), "something is there twice");
    let injected = injected.lock().unwrap().clone();
    for fate in ["Answer 410", "Answer 429", "Answer 500", "Cut", "Delay", "Hang", "Reset", "ResetAfter"] {
        assert!(injected.contains_key(fate), "{fate} is not among {injected:?}");
    }
    println!("{TEAMS} teams are right, although requests met {injected:?}");
}

/// A binding as `kind role <- subjects`.
fn bound(role: &RoleRef, subjects: Option<Vec<Subject>>) -> String {
    let subjects: Vec<String> =
        subjects.iter().flatten().map(|it| format!("{} {}", it.kind, it.name)).collect();
    format!("{} {} <- {}", role.kind, role.name, subjects.join(", "))
}
