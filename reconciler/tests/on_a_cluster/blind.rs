//! What a watch has not told yet: nothing is taken, and nothing let go, on the strength of not having heard of it.

use butler_api::team::TeamPhase;
use butler_api::{ProviderConfig, Team, TenantCluster};
use butler_bench::Options;
use butler_bench::proxy::{Asked, Fate};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::ResourceExt;
use kube::api::{ListParams, PostParams};
use serde_json::json;

use crate::world::{World, cluster, delete, is_ready, message, patch, shown, team, until, until_gone};

/// Watches of these say nothing after the first list.
fn is_told_nothing_of(asked: &Asked, resource: &str) -> bool {
    asked.is_watch() && asked.path().ends_with(resource)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_of_which_nobody_has_heard_yet_is_not_taken() {
    let mut world = World::without_replicas(Options::default()).await;
    let _proxy = world
        .add_replica_behind(&world.account(), |asked| {
            if is_told_nothing_of(asked, "/namespaces") { Fate::Hang } else { Fate::Pass }
        })
        .await;
    let (teams, namespaces) = (world.all::<Team>(), world.all::<Namespace>());
    let theirs: Namespace = serde_json::from_value(json!({ "metadata": { "name": "theirs" } })).unwrap();
    namespaces.create(&PostParams::default(), &theirs).await.unwrap();
    let users = json!([{ "name": "eve@example.org", "role": "admin" }]);
    world.apply(&team("theirs", json!({ "access": { "users": users } }))).await;
    let refused = until(&teams, "theirs", "it failed", |team| {
        team.status.as_ref().is_some_and(|status| status.phase == Some(TeamPhase::Failed))
    })
    .await;
    let told = message(&refused.status.unwrap().conditions, "NamespaceReady");
    assert!(
        told.starts_with("the namespace `theirs` exists and is not this team's, so it is left alone; "),
        "{told}"
    );
    let found = namespaces.get("theirs").await.unwrap();
    assert!(!found.labels().contains_key("butler.butlerlabs.dev/team"), "{found:#?}");
    let bindings = world.within::<RoleBinding>("theirs").list(&ListParams::default()).await.unwrap();
    assert!(bindings.items.is_empty(), "{bindings:#?}");
    // And when the team goes, the namespace stays.
    delete(&teams, "theirs").await;
    until_gone(&teams, "theirs").await;
    assert!(namespaces.get("theirs").await.unwrap().metadata.deletion_timestamp.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_leaves_loses_access_although_somebody_has_touched_the_binding() {
    let mut world = World::without_replicas(Options::default()).await;
    let _proxy = world
        .add_replica_behind(&world.account(), |asked| {
            if is_told_nothing_of(asked, "/rolebindings") { Fate::Hang } else { Fate::Pass }
        })
        .await;
    let (teams, bindings) = (world.all::<Team>(), world.within::<RoleBinding>("payments"));
    world.apply(&team("payments", json!({ "access": { "users": [{ "name": "eve@example.org" }] } }))).await;
    until(&teams, "payments", "it is ready", is_ready).await;
    let name = bindings.list(&ListParams::default()).await.unwrap().items[0].name_any();
    patch(&bindings, &name, json!({ "metadata": { "annotations": { "theirs": "touched" } } })).await;
    patch(&teams, "payments", json!({ "spec": { "access": { "users": [] } } })).await;
    until_gone(&bindings, &name).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_waits_for_a_cluster_of_which_nobody_has_heard_yet() {
    let mut world = World::without_replicas(Options::default()).await;
    let _proxy = world
        .add_replica_behind(&world.account(), |asked| {
            if is_told_nothing_of(asked, "/tenantclusters") { Fate::Hang } else { Fate::Pass }
        })
        .await;
    let providers = world.within::<ProviderConfig>("butler-system");
    let provider = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
        "metadata": { "name": "harvester-prod", "namespace": "butler-system" }, "spec": { "provider": "local" } });
    world.apply(&provider).await;
    let conditions = |it: &ProviderConfig| shown(&it.status.clone().unwrap_or_default().conditions);
    until(&providers, "harvester-prod", "it is ready", |it| {
        conditions(it).contains(&"Ready True Ready".to_owned())
    })
    .await;
    world.apply(&cluster("default", "orders", json!({}))).await;
    delete(&providers, "harvester-prod").await;
    until(&providers, "harvester-prod", "it waits", |it| {
        conditions(it).contains(&"Ready False DeletionBlocked".to_owned())
    })
    .await;
    delete(&world.within::<TenantCluster>("default"), "orders").await;
    until_gone(&providers, "harvester-prod").await;
}
