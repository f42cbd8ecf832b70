//! Replicas that start on nothing, and on what others left.

use std::collections::BTreeSet;
use std::time::Duration;

use butler_bench::{ControlPlane, Options};
use butler_certs::{Lifetimes, Registration};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Api;

use crate::replica::{Load, Replica};
use crate::world::{World, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_start_at_once_and_share_one_authority() {
    let world = World::new(ControlPlane::shared().await.unwrap()).await;
    let replicas = Replica::start_together(&world.client, 2, |ports| {
        ports
            .iter()
            .fold(world.settings(), |settings, port| settings.url(format!("https://127.0.0.1:{port}")))
    })
    .await;
    let host = format!("webhook.{}.svc", world.namespace);
    let mut shown = BTreeSet::new();
    for replica in &replicas {
        replica.serving.ready().await;
        let trusted = world.entry("ca.crt").await.unwrap();
        assert_eq!(trusted.windows(11).filter(|window| window == b"-----BEGIN ").count(), 1);
        shown.insert(replica.call(&trusted, &host).await.unwrap());
        assert!(replica.metric("butler_certificate_expiry_timestamp_seconds{certificate=\"serving\"}") > 0);
    }
    assert_eq!(shown.len(), 1, "every replica shows the same certificate");
    // Between them they did each step once, whoever it was.
    let steps = |step: &str| {
        let name = format!("butler_certificate_steps_total{{step=\"{step}\"}}");
        replicas.iter().map(|replica| replica.metric(&name)).sum::<u64>()
    };
    assert_eq!((steps("announce"), steps("promote"), steps("issue")), (1, 1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_replica_finds_what_is_there_and_changes_nothing() {
    let world = World::new(ControlPlane::shared().await.unwrap()).await;
    let first = Replica::start(&world.client, world.settings()).await;
    first.serving.ready().await;
    let before = world.secret().await.unwrap();
    drop(first);
    let second = Replica::start(&world.client, world.settings()).await;
    second.serving.ready().await;
    assert_eq!(world.secret().await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_registration_gets_the_bundle_and_keeps_the_rest() {
    // An APIService that answers nothing would keep namespaces of a shared control plane from going.
    let plane = ControlPlane::start(Options::default().without_controllers()).await.unwrap();
    let world = World::new(&plane).await;
    let namespace = &world.namespace;
    let webhook = |kind: &str| {
        format!(
            "
apiVersion: admissionregistration.k8s.io/v1
kind: {kind}
metadata: {{ name: butler }}
webhooks:
  - name: ours.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {{ service: {{ namespace: {namespace}, name: webhook }} }}
    rules: [{{ apiGroups: [nobody.example.com], apiVersions: [v1], operations: [CREATE], resources: [things] }}]
"
        )
    };
    let api_service = format!(
        "
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{ name: v1.policy.example.com }}
spec:
  group: policy.example.com
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 10
  service: {{ name: webhook, namespace: {namespace} }}
"
    );
    let settings = world
        .settings()
        .registration(Registration::validating("butler"))
        .registration(Registration::mutating("butler"))
        .registration(Registration::api_service("v1.policy.example.com"));
    // Registrations may come after the replica.
    let replica = Replica::start(&world.client, settings).await;
    replica.serving.ready().await;
    let manifest =
        [webhook("ValidatingWebhookConfiguration"), webhook("MutatingWebhookConfiguration"), api_service]
            .join("---");
    plane.apply(&manifest).await.unwrap();
    let bundle = async |resource: &str, path: &str| {
        plane.kubectl(&["get", resource, "-o", &format!("jsonpath={path}")]).await.unwrap().success().unwrap()
    };
    let secret = serde_json::to_value(world.secret().await.unwrap()).unwrap();
    let trusted = secret["data"]["ca.crt"].as_str().unwrap().to_owned();
    for (resource, path) in [
        ("validatingwebhookconfiguration/butler", "{.webhooks[0].clientConfig.caBundle}"),
        ("mutatingwebhookconfiguration/butler", "{.webhooks[0].clientConfig.caBundle}"),
        ("apiservice/v1.policy.example.com", "{.spec.caBundle}"),
    ] {
        eventually(resource, async || bundle(resource, path).await == trusted).await;
    }
    // Whoever applied them owns them as before: applying again conflicts with nobody and takes nothing back.
    plane.apply(&manifest).await.unwrap();
    let services: Api<APIService> = Api::all(world.client.clone());
    let stored = services.get("v1.policy.example.com").await.unwrap();
    assert_eq!(stored.spec.unwrap().ca_bundle.unwrap().0, world.entry("ca.crt").await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lives_of_seconds_are_renewed_and_rotated_by_themselves() {
    let world = World::new(ControlPlane::shared().await.unwrap()).await;
    let seconds = Duration::from_secs;
    let lifetimes = Lifetimes::new(seconds(12), seconds(6), seconds(1)).unwrap();
    let replica = Replica::start(&world.client, world.settings().lifetimes(lifetimes)).await;
    world.register(&[replica.port]).await;
    replica.serving.ready().await;
    let first = world.entry("ca.crt").await.unwrap();
    let steps = |step: &str| replica.metric(&format!("butler_certificate_steps_total{{step=\"{step}\"}}"));
    eventually("a certificate is renewed", async || steps("issue") >= 1).await;
    eventually("the authority is replaced", async || steps("promote") >= 2).await;
    eventually("the first authority is forgotten", async || {
        let trusted = world.entry("ca.crt").await.unwrap();
        !trusted.windows(first.len()).any(|window| window == first)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_that_goes_away_stops_nothing_but_changes() {
    let plane = ControlPlane::start(Options::default().without_controllers()).await.unwrap();
    let world = World::new(&plane).await;
    let replica = Replica::start(&world.client, world.settings()).await;
    world.register(&[replica.port]).await;
    world.rest().await;
    let host = format!("webhook.{}.svc", world.namespace);
    let trusted = world.entry("ca.crt").await.unwrap();

    // In the middle of a rotation, which is what a restart likes to find.
    world.damage(&[("ca.key", None)]).await;
    plane.stop_api_server().await;
    for _ in 0..50 {
        replica.call(&trusted, &host).await.unwrap();
    }
    plane.restart_api_server().await.unwrap();
    world.rest().await;
    let rotated = world.entry("ca.crt").await.unwrap();
    assert_ne!(rotated, trusted);
    eventually("the new certificate is served", async || {
        replica.metric("butler_certificate_reloads_total{result=\"loaded\"}") >= 2
    })
    .await;
    replica.call(&rotated, &host).await.unwrap();

    let load = Load::start(&world.client, &world.namespace);
    eventually("some calls", async || load.calls() > 20).await;
    let (_, failures) = load.stop().await;
    assert_eq!(failures, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_that_may_not_be_touched_holds_up_no_start() {
    let world = World::new(ControlPlane::shared().await.unwrap()).await;
    let namespace = &world.namespace;
    world.register(&[1]).await;
    // It may read registrations and not patch them.
    let user = format!("reader-{namespace}");
    let role = format!(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{ name: {user} }}
rules:
  - {{ apiGroups: [''], resources: [secrets], verbs: [get, list, watch, create, update] }}
  - {{ apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch] }}
  - apiGroups: [admissionregistration.k8s.io]
    resources: [validatingwebhookconfigurations]
    verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{ name: {user} }}
roleRef: {{ apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {user} }}
subjects: [{{ apiGroup: rbac.authorization.k8s.io, kind: User, name: {user} }}]
"
    );
    world.plane.apply(&role).await.unwrap();
    let client = world.plane.user(&user, &[]).unwrap().client().await.unwrap();
    let settings = world.settings().url("https://127.0.0.1:1");
    let certificates = butler_certs::Certificates::self_managed(client, settings);
    let serving = certificates.serving();
    let running = tokio::spawn(certificates.run());
    serving.ready().await;
    eventually("an event says what is wrong", async || {
        let notes = world.events("RegistrationNotUpdated").await;
        notes.iter().any(|note| {
            note.starts_with(&format!(
                "cannot write caBundle of ValidatingWebhookConfiguration `{namespace}`: "
            )) && note.ends_with("; authorities cannot rotate until this works: check our rights")
        })
    })
    .await;
    running.abort();
}
