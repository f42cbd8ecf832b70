//! Two replicas: one writes, and never two.

use std::time::{Duration, Instant};

use butler_api::Team;
use butler_bench::eventually;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::json;

use crate::world::{World, delete, is_ready, team, until};

/// Two replicas, each with a name of its own, so that the audit log tells who wrote.
async fn two_replicas() -> World {
    let mut world = World::audited().await;
    for number in [1, 2] {
        let name = format!("replica-{number}");
        let user = world
            .plane
            .user(&name, &["system:serviceaccounts", "system:serviceaccounts:butler-system"])
            .unwrap();
        for (kind, namespace, role) in
            [("ClusterRoleBinding", None, "ClusterRole"), ("RoleBinding", Some("butler-system"), "Role")]
        {
            let mut metadata = json!({ "name": name });
            if let Some(namespace) = namespace {
                metadata["namespace"] = json!(namespace);
            }
            world.apply(&json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata,
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": "butler-reconciler" },
                "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name }] })).await;
        }
        world.add_replica_with(user.kubeconfig(), &["--resync-seconds=1"]).await;
        if number == 1 {
            eventually("the first leads", async || world.replicas[0].is_leading().await).await;
        }
    }
    world
}

/// Who wrote, in order, one entry for each change of hands.
fn writers(world: &World) -> Vec<String> {
    let mut names: Vec<String> =
        world.writes().iter().map(|event| event["user"]["username"].as_str().unwrap().to_owned()).collect();
    names.dedup();
    names
}

/// Makes work: teams come one after the other, and somebody undoes what was done for them.
async fn work(world: &World, name: &str) {
    world.apply(&team(name, json!({ "access": { "users": [{ "name": "bo@example.org" }] } }))).await;
    until(&world.all::<Team>(), name, "it is ready", is_ready).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_dies_is_replaced_within_five_seconds() {
    let mut world = two_replicas().await;
    work(&world, "before").await;
    let killed = Instant::now();
    world.replicas[0].group().kill();
    eventually("the second leads", async || world.replicas[1].is_leading().await).await;
    let took = killed.elapsed();
    work(&world, "after").await;
    assert_eq!(writers(&world), ["replica-1", "replica-2"]);
    println!("hand-over after a kill: {:.1} s", took.as_secs_f64());

    // Asked to stop, it hands over at once.
    let first = world.replicas.remove(0);
    drop(first);
    let user = world
        .plane
        .user("replica-1", &["system:serviceaccounts", "system:serviceaccounts:butler-system"])
        .unwrap();
    world.add_replica_with(user.kubeconfig(), &[]).await;
    let asked = Instant::now();
    world.replicas[0].stop();
    eventually("the third leads", async || world.replicas[1].is_leading().await).await;
    println!("hand-over after a stop: {:.1} s", asked.elapsed().as_secs_f64());
    assert!(world.replicas[0].log().contains("the lease is released"));
    work(&world, "at-last").await;
    assert_eq!(writers(&world), ["replica-1", "replica-2", "replica-1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_freezes_writes_nothing_when_it_wakes() {
    let world = two_replicas().await;
    let namespaces = world.all::<Namespace>();
    work(&world, "payments").await;
    // Frozen with work at hand: what somebody deletes now is to be made again.
    let first = world.replicas[0].group();
    let frozen = Instant::now();
    first.freeze();
    delete(&namespaces, "payments").await;
    eventually("the second leads", async || world.replicas[1].is_leading().await).await;
    println!("hand-over after a freeze: {:.1} s", frozen.elapsed().as_secs_f64());
    first.thaw();
    work(&world, "orders").await;
    until(&namespaces, "payments", "it is there again", |it| it.metadata.deletion_timestamp.is_none()).await;
    eventually("the first knows", async || !world.replicas[0].is_leading().await).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(writers(&world), ["replica-1", "replica-2"], "{:#?}", world.replicas[0].log());
}
