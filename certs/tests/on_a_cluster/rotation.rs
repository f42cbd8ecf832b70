//! Rotation under load: the real API server calls two replicas, and nobody notices.

use butler_bench::ControlPlane;

use crate::replica::{Load, Replica};
use crate::world::{World, eventually};

const ROTATIONS: usize = 100;
/// Every so many rotations the authority changes too.
const AUTHORITY_EVERY: usize = 20;

async fn two_replicas<'plane>(plane: &'plane ControlPlane) -> (World<'plane>, Vec<Replica>) {
    let world = World::new(plane).await;
    let replicas = Replica::start_together(&world.client, 2, |ports| {
        ports
            .iter()
            .fold(world.settings(), |settings, port| settings.url(format!("https://127.0.0.1:{port}")))
    })
    .await;
    world.register(&replicas.iter().map(|replica| replica.port).collect::<Vec<_>>()).await;
    world.rest().await;
    for replica in &replicas {
        replica.serving.ready().await;
    }
    (world, replicas)
}

/// A moment after the bundle is stored, the API server calls with it.
async fn until_called(load: &Load) {
    let calls = load.calls();
    eventually("a few calls", async || load.calls() >= calls + 8).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_rotations_with_five_authorities_fail_no_call() {
    let (world, replicas) = two_replicas(ControlPlane::shared().await.unwrap()).await;
    // The first calls may come before the API server has noticed the first bundle.
    let warm = Load::start(&world.client, &world.namespace);
    until_called(&warm).await;
    warm.stop().await;

    let loaded = |replica: &Replica| replica.metric("butler_certificate_reloads_total{result=\"loaded\"}");
    let load = Load::start(&world.client, &world.namespace);
    let mut authorities = 0;
    for rotation in 1..=ROTATIONS {
        let before: Vec<u64> = replicas.iter().map(loaded).collect();
        if rotation % AUTHORITY_EVERY == 0 {
            // Without its key an authority cannot go on: announced, seen, settled, promoted.
            world.damage(&[("ca.key", None)]).await;
            authorities += 1;
        } else {
            world.damage(&[("tls.crt", None), ("tls.key", None)]).await;
        }
        eventually("both serve with another certificate", async || {
            replicas.iter().zip(&before).all(|(replica, before)| loaded(replica) > *before)
        })
        .await;
        if rotation % AUTHORITY_EVERY == 0 {
            world.rest().await;
            until_called(&load).await;
        }
    }
    let (calls, failures) = load.stop().await;
    println!(
        "{ROTATIONS} rotations, {authorities} of the authority: {calls} calls, {} failed; loaded {:?}",
        failures.len(),
        replicas.iter().map(loaded).collect::<Vec<_>>()
    );
    assert_eq!(failures, Vec::<String>::new());
    assert_eq!(authorities, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_deleted_by_hand_fails_no_call() {
    let (world, replicas) = two_replicas(ControlPlane::shared().await.unwrap()).await;
    let warm = Load::start(&world.client, &world.namespace);
    until_called(&warm).await;
    warm.stop().await;

    let load = Load::start(&world.client, &world.namespace);
    let before = world.entry("ca.crt").await.unwrap();
    world.secrets().delete("webhook-certificates", &Default::default()).await.unwrap();
    world.rest().await;
    let after = world.entry("ca.crt").await.unwrap();
    // The old authority is trusted for as long as a replica may serve by it.
    assert!(after.starts_with(&before) && after != before);
    for replica in &replicas {
        eventually("the new certificate is served", async || {
            replica.metric("butler_certificate_reloads_total{result=\"loaded\"}") >= 2
        })
        .await;
    }
    until_called(&load).await;
    let (calls, failures) = load.stop().await;
    println!("{calls} calls, {} failed", failures.len());
    assert_eq!(failures, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_killed_in_the_middle_of_a_rotation_is_replaced_by_the_other() {
    let (world, mut replicas) = two_replicas(ControlPlane::shared().await.unwrap()).await;
    let before = world.entry("tls.crt").await.unwrap();
    world.damage(&[("ca.key", None)]).await;
    replicas.remove(0);
    world.rest().await;
    assert_ne!(world.entry("tls.crt").await.unwrap(), before);
    let trusted = world.entry("ca.crt").await.unwrap();
    eventually("the other one serves the new certificate", async || {
        replicas[0].metric("butler_certificate_reloads_total{result=\"loaded\"}") >= 2
    })
    .await;
    replicas[0].call(&trusted, &format!("webhook.{}.svc", world.namespace)).await.unwrap();
}
