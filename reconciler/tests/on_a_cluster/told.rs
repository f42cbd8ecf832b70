//! However a reconcile ends, the object says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use butler_api::Team;
use butler_api::team::TeamPhase;
use butler_bench::proxy::{Asked, Fate};
use butler_bench::{Options, eventually};
use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::world::{World, delete, is_ready, message, patch, shown, team, until, until_gone};

fn conditions(team: &Team) -> Vec<String> {
    shown(team.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default())
}

const WELL: u8 = 0;
const ALWAYS_OUTDATED: u8 = 1;
const KEEPS_FINALIZERS: u8 = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conflicts_without_end_and_a_finalizer_that_stays_are_told() {
    let mut world = World::without_replicas(Options::default()).await;
    let how = Arc::new(AtomicU8::new(ALWAYS_OUTDATED));
    let is = how.clone();
    let decide = move |asked: &Asked| match is.load(Ordering::Relaxed) {
        ALWAYS_OUTDATED if asked.is_write() && asked.path().ends_with("/namespaces/payments") => {
            Fate::Answer(StatusCode::CONFLICT)
        }
        KEEPS_FINALIZERS if asked.method == Method::PATCH && asked.path().ends_with("/teams/payments") => {
            Fate::Answer(StatusCode::INTERNAL_SERVER_ERROR)
        }
        _ => Fate::Pass,
    };
    let _proxy = world.add_replica_behind(&world.account(), decide).await;
    let teams = world.all::<Team>();
    world.apply(&team("payments", json!({}))).await;
    let told = until(&teams, "payments", "it says so", |team| {
        conditions(team).contains(&"NamespaceReady False NamespaceReconcileFailed".to_owned())
    })
    .await;
    let told = message(&told.status.unwrap().conditions, "NamespaceReady");
    assert!(told.starts_with("cannot create Namespace `payments`: the API server says 409: "), "{told}");
    how.store(WELL, Ordering::Relaxed);
    until(&teams, "payments", "it is ready", is_ready).await;

    how.store(KEEPS_FINALIZERS, Ordering::Relaxed);
    delete(&teams, "payments").await;
    until(&teams, "payments", "it says why it stays", |team| {
        let status = team.status.clone().unwrap_or_default();
        message(&status.conditions, "Ready")
            .contains("cannot patch Team `payments`: the API server says 500: ")
    })
    .await;
    how.store(WELL, Ordering::Relaxed);
    until_gone(&teams, "payments").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_that_became_nonsense_says_so_and_is_well_again_when_it_is_mended() {
    let world = World::start().await;
    let teams = world.all::<Team>();
    let users = json!([{ "name": "bo@example.org" }]);
    world.apply(&team("payments", json!({ "access": { "users": users } }))).await;
    until(&teams, "payments", "it is ready", is_ready).await;

    // A definition that lets everything pass, as an older one may.
    let definitions = world.all::<CustomResourceDefinition>();
    let mut definition = definitions.get("teams.butler.butlerlabs.dev").await.unwrap();
    let schema = definition.spec.versions[0].schema.as_mut().unwrap().open_api_v3_schema.as_mut().unwrap();
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    schema.properties.as_mut().unwrap().insert("spec".to_owned(), serde_json::from_value(anything).unwrap());
    definitions.replace("teams.butler.butlerlabs.dev", &PostParams::default(), &definition).await.unwrap();
    let raw: Api<DynamicObject> = Api::all_with(world.client.clone(), &ApiResource::erase::<Team>(&()));
    let write = async |access: Value| {
        let change = Patch::Merge(json!({ "spec": { "access": access } }));
        raw.patch("payments", &PatchParams::default(), &change).await
    };
    eventually("nonsense is let in", async || write(json!("nonsense")).await.is_ok()).await;
    let is_told = |team: &DynamicObject| {
        let all = team.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.iter().any(|it| {
            it["type"] == "Ready"
                && it["reason"] == "ValidationFailed"
                && it["message"]
                    .as_str()
                    .unwrap()
                    .starts_with("the object cannot be read, so nothing is done about it: ")
        })
    };
    let told = until(&raw, "payments", "it says so", is_told).await;
    assert_eq!(told.data["status"]["phase"], "Failed");
    // Told once: nothing is written again for the write itself.
    let (before, replica) = (told.metadata.resource_version, &world.replicas[0]);
    let looked = replica.metric("butler_reconciler_reconciles_total").await;
    world.apply(&team("other", json!({}))).await;
    until(&raw, "other", "another is looked at", |it| it.data["status"]["phase"] == "Ready").await;
    assert!(replica.metric("butler_reconciler_reconciles_total").await > looked);
    assert_eq!(raw.get("payments").await.unwrap().metadata.resource_version, before);

    write(json!({ "users": [{ "name": "bo@example.org" }] })).await.unwrap();
    until(&teams, "payments", "it is ready", is_ready).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_that_only_others_keep_says_who() {
    let world = World::start().await;
    let teams = world.all::<Team>();
    let mut kept = team("payments", json!({}));
    kept["metadata"]["finalizers"] = json!(["example.org/audit"]);
    world.apply(&kept).await;
    until(&teams, "payments", "it is ready", is_ready).await;
    delete(&teams, "payments").await;
    let told = until(&teams, "payments", "it says who keeps it", |team| {
        let status = team.status.clone().unwrap_or_default();
        message(&status.conditions, "Ready")
            == "Butler is done with it; it goes when the finalizers `example.org/audit` are removed by whoever set them"
    })
    .await;
    assert_eq!(told.metadata.finalizers.clone().unwrap(), ["example.org/audit"]);
    assert_eq!(told.status.as_ref().unwrap().phase, Some(TeamPhase::Terminating));
    let mut lines = conditions(&told);
    lines.retain(|it| !it.starts_with("QuotaExceeded "));
    assert_eq!(lines, ["NamespaceReady False Deleting", "RBACReady False Deleting", "Ready False Deleting"]);
    assert!(world.all::<Namespace>().get_opt("payments").await.unwrap().is_none());
    patch(&teams, "payments", json!({ "metadata": { "finalizers": null } })).await;
    until_gone(&teams, "payments").await;
}
