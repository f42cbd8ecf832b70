//! Two replicas: one writes, and never two.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use butler_api::{ProviderConfig, Team};
use butler_bench::proxy::{Asked, Fate};
use butler_bench::{Options, Proxy, User, eventually};
use serde_json::json;

use crate::world::{Group, World, is_ready, shown, team, until};

const GROUPS: [&str; 2] = ["system:serviceaccounts", "system:serviceaccounts:butler-system"];

/// Somebody with the rights of the reconciler and a name of its own, so that the audit log tells who wrote.
async fn user(world: &World, name: &str) -> User {
    for (kind, namespace, role) in
        [("ClusterRoleBinding", None, "ClusterRole"), ("RoleBinding", Some("butler-system"), "Role")]
    {
        let mut metadata = json!({ "name": name });
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        world
            .apply(&json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": "butler-reconciler" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name }] }))
            .await;
    }
    world.plane.user(name, &GROUPS).unwrap()
}

/// A replica that leads, whose requests meet what is decided about them, and one that waits.
async fn two_replicas(decide: impl Fn(&Asked) -> Fate + Send + Sync + 'static) -> (World, Proxy) {
    let mut world = World::audited().await;
    let (first, second) = (user(&world, "replica-1").await, user(&world, "replica-2").await);
    let proxy = world.add_replica_behind(&first, decide).await;
    eventually("the first leads", async || world.replicas[0].is_leading().await).await;
    add(&mut world, second.kubeconfig()).await;
    (world, proxy)
}

async fn add(world: &mut World, kubeconfig: &Path) {
    world.add_replica_with(kubeconfig, &["--resync-seconds=1"]).await;
}

/// Who wrote, in order, one entry for each change of hands.
fn writers(world: &World) -> Vec<String> {
    let mut names: Vec<String> =
        world.writes().iter().map(|event| event["user"]["username"].as_str().unwrap().to_owned()).collect();
    names.dedup();
    names
}

/// Makes work, and waits until it is done.
async fn work(world: &World, name: &str) {
    world.apply(&team(name, json!({ "access": { "users": [{ "name": "bo@example.org" }] } }))).await;
    until(&world.all::<Team>(), name, "it is ready", is_ready).await;
}

async fn until_the_second_leads(world: &World, since: Instant, after: &str) {
    eventually("the second leads", async || world.replicas[1].is_leading().await).await;
    println!("hand-over after {after}: {:.1} s", since.elapsed().as_secs_f64());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_dies_or_is_asked_to_stop_is_replaced() {
    let (mut world, _proxy) = two_replicas(|_| Fate::Pass).await;
    work(&world, "before").await;
    let killed = Instant::now();
    world.replicas[0].group().kill();
    until_the_second_leads(&world, killed, "a kill").await;
    work(&world, "after").await;
    assert_eq!(writers(&world), ["replica-1", "replica-2"]);

    // Asked to stop, it hands over at once.
    drop(world.replicas.remove(0));
    let third = world.plane.user("replica-1", &GROUPS).unwrap();
    add(&mut world, third.kubeconfig()).await;
    let asked = Instant::now();
    world.replicas[0].stop();
    assert!(world.replicas[0].log().contains("the lease is released"));
    until_the_second_leads(&world, asked, "a stop").await;
    work(&world, "at-last").await;
    assert_eq!(writers(&world), ["replica-1", "replica-2", "replica-1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_freezes_in_the_middle_of_its_writes_writes_nothing_when_it_wakes() {
    let victim = Arc::new(Mutex::new(None::<Group>));
    let frozen = Arc::new(Mutex::new(None::<Instant>));
    let (of, at) = (victim.clone(), frozen.clone());
    // It has sent the first of what a team takes, and has the rest before it.
    let decide = move |asked: &Asked| {
        if asked.is_write()
            && asked.path().ends_with("/namespaces/orders")
            && let Some(victim) = of.lock().unwrap().take()
        {
            victim.freeze();
            *at.lock().unwrap() = Some(Instant::now());
        }
        Fate::Pass
    };
    let (world, _proxy) = two_replicas(decide).await;
    world
        .apply(&json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": { "name": "near", "namespace": "butler-system" }, "spec": { "provider": "local" } }))
        .await;
    until(&world.within::<ProviderConfig>("butler-system"), "near", "it is ready", |it| {
        shown(&it.status.clone().unwrap_or_default().conditions).contains(&"Ready True Ready".to_owned())
    })
    .await;
    work(&world, "payments").await;
    let first = world.replicas[0].group();
    *victim.lock().unwrap() = Some(first);
    world.apply(&team("orders", json!({ "access": { "users": [{ "name": "bo@example.org" }] } }))).await;
    eventually("it is frozen", async || frozen.lock().unwrap().is_some()).await;
    let since = frozen.lock().unwrap().unwrap();
    until_the_second_leads(&world, since, "a freeze").await;
    until(&world.all::<Team>(), "orders", "the second has done the rest", is_ready).await;
    let before = world.asked().iter().filter(|event| event["user"]["username"] == "replica-1").count();
    first.thaw();
    // It has asked for the lease, and so knows; whatever it would still have written comes before that.
    eventually("the first looks who leads", async || {
        let asked = world.asked();
        let own = asked.iter().filter(|event| event["user"]["username"] == "replica-1").skip(before);
        own.filter(|event| event["objectRef"]["resource"] == "leases" && event["verb"] == "get").count() >= 2
    })
    .await;
    assert!(!world.replicas[0].is_leading().await);
    work(&world, "later").await;
    assert_eq!(writers(&world), ["replica-1", "replica-2"], "{:#?}", world.replicas[0].log());

    // And it shows nothing of what it does not look after any more.
    let (_, shown) = world.replicas[0].get("/metrics").await.unwrap();
    assert!(!shown.contains("butler_provider_config_ready{"), "{shown}");
    let (_, shown) = world.replicas[1].get("/metrics").await.unwrap();
    assert!(shown.contains("butler_provider_config_ready{provider=\"near\""), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_cannot_renew_its_lease_stops_although_all_else_works() {
    let is_cut = Arc::new(AtomicBool::new(false));
    let cut = is_cut.clone();
    let decide = move |asked: &Asked| {
        if cut.load(Ordering::Relaxed) && asked.path().contains("/leases") { Fate::Hang } else { Fate::Pass }
    };
    let (world, _proxy) = two_replicas(decide).await;
    work(&world, "before").await;
    let since = Instant::now();
    is_cut.store(true, Ordering::Relaxed);
    until_the_second_leads(&world, since, "a lease that cannot be renewed").await;
    assert!(!world.replicas[0].is_leading().await, "before anybody else began");
    assert!(world.replicas[0].log().contains("not leading any more: it could not be renewed in time"));
    work(&world, "after").await;
    assert_eq!(writers(&world), ["replica-1", "replica-2"]);
}

/// Asked to stop while a write is on its way of which nobody knows whether it arrives: others wait until it must have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_not_given_back_while_a_write_is_on_its_way() {
    let mut world = World::without_replicas(Options::default()).await;
    let is_begun = Arc::new(AtomicBool::new(false));
    let begun = is_begun.clone();
    let decide = move |asked: &Asked| {
        if !asked.is_write() || !asked.path().contains("/namespaces/payments") {
            return Fate::Pass;
        }
        begun.store(true, Ordering::Relaxed);
        // The first write takes most of the time that a stop leaves, the next all of what is left.
        if asked.path().ends_with("/payments") { Fate::Delay(Duration::from_secs(6)) } else { Fate::Hang }
    };
    let kubeconfig = world.plane.data_directory().join("slow.kubeconfig");
    let proxy = Proxy::start(&world.account(), kubeconfig, decide).await.unwrap();
    // A term that no busy machine loses before the stop is through.
    world.add_replica_with(proxy.kubeconfig(), &["--lease-seconds=20"]).await;
    world.apply(&team("payments", json!({ "access": { "users": [{ "name": "bo@example.org" }] } }))).await;
    eventually("it writes", async || is_begun.load(Ordering::Relaxed)).await;
    world.replicas[0].stop();
    let log = world.replicas[0].log();
    assert!(log.contains("a write may still be on its way, so the lease is left to run out"), "{log}");
    assert!(!log.contains("the lease is released"), "{log}");
}

/// Asked to stop when a renewal is stored and its answer is not there yet: what is then known of the lease is not the newest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_given_back_in_the_middle_of_a_renewal() {
    let mut world = World::without_replicas(Options::default()).await;
    let (is_armed, is_stored) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (armed, stored) = (is_armed.clone(), is_stored.clone());
    let decide = move |asked: &Asked| {
        if asked.is_write() && asked.path().contains("/leases") && armed.swap(false, Ordering::Relaxed) {
            let stored = stored.clone();
            return Fate::HangAfter(Box::new(move || stored.store(true, Ordering::Relaxed)));
        }
        Fate::Pass
    };
    let kubeconfig = world.plane.data_directory().join("renewed.kubeconfig");
    let proxy = Proxy::start(&world.account(), kubeconfig, decide).await.unwrap();
    world.add_replica_with(proxy.kubeconfig(), &["--lease-seconds=20"]).await;
    eventually("it leads", async || world.replicas[0].is_leading().await).await;
    is_armed.store(true, Ordering::Relaxed);
    eventually("a renewal is stored", async || is_stored.load(Ordering::Relaxed)).await;
    world.replicas[0].stop();
    let log = world.replicas[0].log();
    assert!(log.contains("the lease is released"), "{log}");
}

/// What takes longer than a term is done all the same, as long as the term is renewed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_write_is_waited_for_and_not_sent_twice() {
    let mut world = World::without_replicas(Options::default()).await;
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let decide = move |asked: &Asked| {
        if asked.is_write()
            && asked.path().contains("/namespaces/slow-")
            && !asked.path().contains("/rolebindings")
        {
            count.fetch_add(1, Ordering::Relaxed);
            return Fate::Delay(Duration::from_secs(5));
        }
        Fate::Pass
    };
    let proxy = world.add_replica_behind(&world.account(), decide).await;
    for attempt in 0..5 {
        let (name, before) = (format!("slow-{attempt}"), sent.load(Ordering::Relaxed));
        work(&world, &name).await;
        // A machine that is so busy that the lease was lost meanwhile says nothing about this.
        if !world.replicas[0].log().contains("not leading any more") {
            return assert_eq!(sent.load(Ordering::Relaxed) - before, 1);
        }
        world.replicas.clear();
        let kubeconfig = proxy.kubeconfig().to_owned();
        world.add_replica_with(&kubeconfig, &[]).await;
    }
    panic!("the lease was lost in every attempt, so nothing is known:\n{}", world.replicas[0].log());
}
