//! The platform's settings: created, changed, drifted, deleted.

use butler_api::ButlerConfig;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::world::{World, cluster, delete, message, shown, team, until, until_gone};

fn config(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ButlerConfig", "metadata": { "name": name }, "spec": spec })
}

fn conditions(config: &ButlerConfig) -> Vec<String> {
    shown(config.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_settings_live() {
    let world = World::start().await;
    let (configs, namespaces) = (world.all::<ButlerConfig>(), world.all::<Namespace>());

    // Created: a namespace for clusters without a team.
    world.apply(&config("butler", json!({ "multiTenancy": { "mode": "Optional" } }))).await;
    until(&configs, "butler", "it is ready", |it| {
        conditions(it) == ["Configured True ConfigValid", "NamespaceReady True Ready", "Ready True Ready"]
    })
    .await;
    let namespace = namespaces.get("butler-tenants").await.unwrap();
    assert_eq!(namespace.labels()["app.kubernetes.io/managed-by"], "butler");

    // Counted, and what another mode would hurt is told.
    world.apply(&team("payments", json!({}))).await;
    until(&namespaces, "payments", "the team has its namespace", |_| true).await;
    world.apply(&cluster("butler-tenants", "free", json!({}))).await;
    world
        .apply(&cluster("payments", "orders", json!({ "spec": { "teamRef": { "name": "payments" } } })))
        .await;
    let counted = until(&configs, "butler", "it has counted", |it| {
        let status = it.status.clone().unwrap_or_default();
        (status.team_count, status.cluster_count) == (Some(1), Some(2))
    })
    .await;
    let others = counted.status.unwrap().other_modes;
    let told: Vec<String> =
        others.iter().map(|it| format!("{:?} {}", it.mode, it.affected_clusters)).collect();
    assert_eq!(told, ["Enforced 1", "Disabled 1"]);
    assert!(others[0].message.as_ref().unwrap().starts_with("`butler-tenants/free`: spec.teamRef: "));

    // Changed: no such namespace is needed. The old one stays, because a cluster is in it.
    world.apply(&config("butler", json!({ "multiTenancy": { "mode": "Enforced" } }))).await;
    until(&configs, "butler", "it needs no namespace", |it| {
        conditions(it).contains(&"NamespaceReady True NotRequired".to_owned())
    })
    .await;
    assert!(namespaces.get_opt("butler-tenants").await.unwrap().is_some());

    // Drifted: the label is put back, and a namespace that somebody deletes is made anew.
    world.apply(&config("butler", json!({ "defaultNamespace": "shared" }))).await;
    until(&namespaces, "shared", "it is there", |it| {
        it.labels().contains_key("app.kubernetes.io/managed-by")
    })
    .await;
    delete(&namespaces, "shared").await;
    until(&namespaces, "shared", "it is there again", |it| it.metadata.deletion_timestamp.is_none()).await;
    until(&configs, "butler", "it is ready again", |it| {
        conditions(it).contains(&"Ready True Ready".to_owned())
    })
    .await;

    // One that somebody else made is used and not touched.
    let theirs = world.plane.namespace().await.unwrap();
    let before = namespaces.get(&theirs).await.unwrap();
    world.apply(&config("butler", json!({ "defaultNamespace": theirs }))).await;
    let used = until(&configs, "butler", "it uses another", |it| {
        let status = it.status.clone().unwrap_or_default();
        message(&status.conditions, "NamespaceReady").contains("was not made by Butler")
    })
    .await;
    assert!(conditions(&used).contains(&"Ready True Ready".to_owned()));
    assert_eq!(
        namespaces.get(&theirs).await.unwrap().metadata.resource_version,
        before.metadata.resource_version
    );

    // A second one does not count.
    world.apply(&config("second", json!({}))).await;
    until(&configs, "second", "it says so", |it| {
        conditions(it).contains(&"Configured False InvalidName".to_owned())
    })
    .await;

    // Deleted: it goes at once, and what was made stays.
    delete(&configs, "butler").await;
    until_gone(&configs, "butler").await;
    assert!(namespaces.get_opt("shared").await.unwrap().is_some());
}
