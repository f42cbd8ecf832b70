//! What takes access away waits for nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use butler_api::Team;
use butler_bench::Options;
use butler_bench::proxy::{Asked, Fate};
use http::StatusCode;
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding};
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::world::{World, delete, is_ready, message, patch, shown, team, until, until_gone};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_child_that_cannot_be_written_keeps_no_other_from_being_narrowed() {
    let mut world = World::without_replicas(Options::default()).await;
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = is_broken.clone();
    let decide = move |asked: &Asked| {
        let is_meant = asked.path().contains("butler-team-user-ana");
        if broken.load(Ordering::Relaxed) && asked.is_write() && is_meant {
            Fate::Answer(StatusCode::INTERNAL_SERVER_ERROR)
        } else {
            Fate::Pass
        }
    };
    let _proxy = world.add_replica_behind(&world.account(), decide).await;
    let (teams, wide) = (world.all::<Team>(), world.all::<ClusterRoleBinding>());
    let users = |users: Value| json!({ "access": { "users": users } });
    let before = json!([{ "name": "bo@example.org", "role": "admin" }, { "name": "eve@example.org", "role": "admin" }]);
    world.apply(&team("payments", users(before))).await;
    until(&teams, "payments", "it is ready", is_ready).await;

    // eve goes, bo becomes less, ana comes: of the three only the last cannot be done.
    is_broken.store(true, Ordering::Relaxed);
    let after = json!([{ "name": "ana@example.org", "role": "admin" }, { "name": "bo@example.org" }]);
    patch(&teams, "payments", json!({ "spec": users(after) })).await;
    let admins = |it: &ClusterRoleBinding| -> Vec<String> {
        it.subjects.iter().flatten().map(|subject| subject.name.clone()).collect()
    };
    until(&wide, "butler:team:payments:admin", "only ana is an admin", |it| {
        admins(it) == ["ana@example.org"]
    })
    .await;
    until(&wide, "butler:team:payments:member", "eve is no member", |it| {
        admins(it) == ["ana@example.org", "bo@example.org"]
    })
    .await;
    butler_bench::eventually("bo is a viewer and eve is nobody", async || {
        let all = world.within::<RoleBinding>("payments").list(&ListParams::default()).await.unwrap().items;
        let roles: Vec<&str> = all.iter().map(|it| it.role_ref.name.as_str()).collect();
        roles == ["butler-team-viewer"]
    })
    .await;
    let told = until(&teams, "payments", "it says what is wrong", |team| {
        let status = team.status.clone().unwrap_or_default();
        shown(&status.conditions).contains(&"RBACReady False RBACReconcileFailed".to_owned())
    })
    .await;
    assert_eq!(told.status.unwrap().namespace.as_deref(), Some("payments"), "the namespace is well");

    is_broken.store(false, Ordering::Relaxed);
    until(&teams, "payments", "it is ready", is_ready).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_a_team_that_is_going_loses_access_although_its_clusters_cannot_be_listed() {
    let mut world = World::without_replicas(Options::default()).await;
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = is_broken.clone();
    let decide = move |asked: &Asked| {
        let is_meant = asked.path().ends_with("/namespaces/payments/tenantclusters");
        if broken.load(Ordering::Relaxed) && is_meant {
            Fate::Answer(StatusCode::INTERNAL_SERVER_ERROR)
        } else {
            Fate::Pass
        }
    };
    let _proxy = world.add_replica_behind(&world.account(), decide).await;
    let (teams, bindings) = (world.all::<Team>(), world.within::<RoleBinding>("payments"));
    let users = |users: Value| json!({ "access": { "users": users } });
    let both = json!([{ "name": "bo@example.org" }, { "name": "eve@example.org" }]);
    world.apply(&team("payments", users(both))).await;
    until(&teams, "payments", "it is ready", is_ready).await;

    is_broken.store(true, Ordering::Relaxed);
    delete(&teams, "payments").await;
    patch(&teams, "payments", json!({ "spec": users(json!([{ "name": "bo@example.org" }])) })).await;
    butler_bench::eventually("eve is nobody, and bo is still there", async || {
        bindings.list(&ListParams::default()).await.unwrap().items.len() == 1
    })
    .await;
    until(&teams, "payments", "it says what is wrong", |team| {
        let conditions = team.status.clone().unwrap_or_default().conditions;
        message(&conditions, "Ready").contains("cannot list TenantClusters of `payments`: ")
    })
    .await;
    is_broken.store(false, Ordering::Relaxed);
    until_gone(&teams, "payments").await;
}
