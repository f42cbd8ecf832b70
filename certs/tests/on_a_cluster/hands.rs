//! What hands do to the Secret and to registrations, and how it is put right.

use butler_bench::ControlPlane;
use k8s_openapi::ByteString;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::replica::Replica;
use crate::world::{World, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_damaged_in_the_secret_is_made_anew_while_the_old_goes_on() {
    let world = World::new(ControlPlane::shared().await.unwrap()).await;
    let replica = Replica::start(&world.client, world.settings()).await;
    world.register(&[replica.port]).await;
    world.rest().await;
    let host = format!("webhook.{}.svc", world.namespace);
    let foreign = world.plane.pki().cluster().server("foreign", &[], &["foreign"]).unwrap();
    type Damage<'a> = (&'a str, Option<&'a str>);
    let damages: [(&str, &[Damage<'_>]); 6] = [
        ("garbage for a certificate", &[("tls.crt", Some("garbage"))]),
        ("garbage for a key", &[("tls.key", Some("garbage"))]),
        ("another's key", &[("tls.key", Some(&foreign.key))]),
        (
            "another's certificate and key",
            &[("tls.crt", Some(&foreign.certificate)), ("tls.key", Some(&foreign.key))],
        ),
        ("garbage for the authority's key", &[("ca.key", Some("garbage"))]),
        ("everything gone", &[("tls.crt", None), ("tls.key", None), ("ca.crt", None), ("ca.key", None)]),
    ];
    for (what, damage) in damages {
        let trusted = world.entry("ca.crt").await.unwrap();
        let refused = || replica.metric("butler_certificate_reloads_total{result=\"refused\"}");
        let (before, certificate) = (refused(), world.entry("tls.crt").await);
        world.damage(damage).await;
        replica.call(&trusted, &host).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        // What is merely gone is no fault; it shows by what comes instead.
        eventually(what, async || {
            let now = world.entry("tls.crt").await;
            refused() > before
                || (damage.iter().all(|(_, value)| value.is_none()) && now.is_some() && now != certificate)
        })
        .await;
        world.rest().await;
        let trusted = world.entry("ca.crt").await.unwrap();
        eventually(what, async || {
            let bundles = world.bundles().await;
            bundles == [trusted.clone()] && replica.call(&trusted, &host).await.is_ok()
        })
        .await;
    }
    eventually("an event says what is wrong", async || {
        let notes = world.events("SecretDamaged").await;
        notes.iter().any(|note| {
            note == "`tls.crt` does not hold an X.509 certificate in PEM form; write the certificate and its \
                     chain; the certificate in use goes on, and what is damaged is made anew"
        })
    })
    .await;
    assert!(world.events("SecretDamaged").await.len() <= 6, "no flood");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_overwritten_by_hand_is_corrected_and_the_neighbours_are_left_alone() {
    let world = World::new(ControlPlane::shared().await.unwrap()).await;
    let replica = Replica::start(&world.client, world.settings()).await;
    world.register(&[replica.port]).await;
    world.rest().await;
    let trusted = world.entry("ca.crt").await.unwrap();
    let foreign = world.plane.pki().cluster().certificate().as_bytes().to_vec();
    for bundle in [Some(foreign), None] {
        let bundle = bundle.map(ByteString);
        let patch = json!({ "webhooks": [{ "name": "replica-0.example.com", "clientConfig": { "caBundle": bundle } }] });
        let configurations = world.configurations();
        configurations
            .patch(&world.namespace, &PatchParams::default(), &Patch::Strategic(patch))
            .await
            .unwrap();
        eventually("corrected", async || world.bundles().await == [trusted.clone()]).await;
    }
    let stored = world.configurations().get(&world.namespace).await.unwrap();
    let webhooks = stored.webhooks.clone().unwrap();
    assert_eq!(webhooks[1].client_config.ca_bundle.as_ref().unwrap().0, b"foreign");
    assert_eq!(webhooks[0].failure_policy.as_deref(), Some("Fail"));

    // The last write was ours, and still we own nothing.
    eventually("nothing is ours", async || !world.managers().await.contains(&"butler-certs".to_owned()))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gitops_applies_again_and_again_without_a_conflict_or_a_change() {
    let world = World::new(ControlPlane::shared().await.unwrap()).await;
    let replica = Replica::start(&world.client, world.settings()).await;
    world.register(&[replica.port]).await;
    world.rest().await;
    eventually("nothing is ours", async || world.managers().await == ["butler-bench"]).await;
    let (version, bundles) = (world.resource_version().await, world.bundles().await);
    for _ in 0..3 {
        world.register(&[replica.port]).await;
    }
    assert_eq!(world.resource_version().await, version);
    assert_eq!(world.bundles().await, bundles);

    // A webhook that is added later gets the bundle, too.
    world.register(&[replica.port, replica.port]).await;
    eventually("both have it", async || world.bundles().await == [bundles[0].clone(), bundles[0].clone()])
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_keeps_writing_another_bundle_is_corrected_ever_more_slowly() {
    let world = World::new(ControlPlane::shared().await.unwrap()).await;
    let replica = Replica::start(&world.client, world.settings()).await;
    world.register(&[replica.port]).await;
    world.rest().await;
    let other = ByteString(world.plane.pki().cluster().certificate().as_bytes().to_vec());
    let patch =
        json!({ "webhooks": [{ "name": "replica-0.example.com", "clientConfig": { "caBundle": other } }] });
    let corrections = || replica.metric("butler_certificate_bundle_corrections_total");
    for written in 0..30 {
        let before = corrections();
        world
            .configurations()
            .patch(&world.namespace, &PatchParams::default(), &Patch::Strategic(&patch))
            .await
            .unwrap();
        if before >= 5 {
            break;
        }
        eventually("corrected", async || corrections() > before).await;
        assert!(written < 10);
    }
    // The next one takes its time, and comes.
    let before = corrections();
    eventually("corrected in the end", async || corrections() > before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gitops_may_drop_a_webhook() {
    let world = World::new(ControlPlane::shared().await.unwrap()).await;
    let replica = Replica::start(&world.client, world.settings()).await;
    world.register(&[replica.port, replica.port]).await;
    world.rest().await;
    // Server-side apply keeps of a webhook what others own, and the rest alone is no webhook.
    eventually("nothing is ours", async || world.managers().await == ["butler-bench"]).await;
    world.register(&[replica.port]).await;
    assert_eq!(world.bundles().await, [world.entry("ca.crt").await.unwrap()]);
}
