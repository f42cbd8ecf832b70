//! Somebody else wants something of ours otherwise, again and again: it is set right each time, and ever more calmly.

use butler_api::Team;
use butler_api::labels::{MANAGED_BY, MANAGED_BY_BUTLER, TEAM};
use butler_api::team::TeamPhase;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::ResourceExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{World, delete, is_ready, patch, team, until, until_gone};

/// A world that remembers, with a team of one member.
async fn world() -> World {
    let mut world = World::audited().await;
    world.add_replica(&[]).await;
    let users = json!([{ "name": "bo@example.org" }]);
    world.apply(&team("payments", json!({ "access": { "users": users } }))).await;
    until(&world.all::<Team>(), "payments", "it is ready", is_ready).await;
    world
}

/// When the reconciler wrote one of these, by the API server's clock: resource, name, subresource.
fn written(world: &World, what: &[(&str, &str, Value)]) -> Vec<Timestamp> {
    let is_meant = |event: &Value| {
        let at = &event["objectRef"];
        what.iter().any(|(resource, name, subresource)| {
            at["resource"] == *resource && at["name"] == *name && at["subresource"] == *subresource
        })
    };
    let writes = world.writes();
    let at = writes.iter().filter(|event| is_meant(event));
    at.map(|event| event["requestReceivedTimestamp"].as_str().unwrap().parse().unwrap()).collect()
}

/// Each pause is at least half of one that doubles from a second on.
fn becomes_slower(at: &[Timestamp]) {
    assert!(at.len() > 3, "{at:?}");
    for (round, pair) in at.windows(2).enumerate() {
        let pause = pair[1].duration_since(pair[0]);
        let least = SignedDuration::from_millis(450 << round);
        assert!(pause >= least, "round {round}: {pause:#} instead of {least:#} and more; {at:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quarrel_becomes_slower_with_every_round() {
    let world = world().await;
    let bindings = world.within::<RoleBinding>("payments");
    let binding = bindings.list(&ListParams::default()).await.unwrap().items.remove(0);
    let name = binding.name_any();
    for round in 0..5 {
        let eve =
            json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve@example.org" }]);
        match round % 3 {
            0 => drop(patch(&bindings, &name, json!({ "subjects": eve })).await),
            1 => delete(&bindings, &name).await,
            // Nobody holds what is not there, so nobody is named.
            _ => {
                let bare = json!({ "metadata": { "labels": { TEAM: null } } });
                drop(patch(&world.all::<Namespace>(), "payments", bare).await);
            }
        }
        until(&bindings, &name, "it is ours again", |it| it.subjects == binding.subjects).await;
        until(&world.all::<Namespace>(), "payments", "it is ours again", |it| it.labels().contains_key(TEAM))
            .await;
    }
    let ours = [("rolebindings", &*name, Value::Null), ("namespaces", "payments", Value::Null)];
    butler_bench::eventually("all of it is in the audit log", async || written(&world, &ours).len() >= 7)
        .await;
    // The first two made them.
    becomes_slower(&written(&world, &ours)[2..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_the_finalizer_and_the_status_are_quarrelled_about_as_calmly() {
    let world = world().await;
    let (teams, bindings) = (world.all::<Team>(), world.within::<RoleBinding>("payments"));
    let stray = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": "stray", "namespace": "payments",
            "labels": { MANAGED_BY: MANAGED_BY_BUTLER, TEAM: "payments" } },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" } });
    // That it comes is no quarrel yet; that it comes again is.
    for _ in 0..2 {
        world.apply(&stray).await;
        until_gone(&bindings, "stray").await;
    }
    for _ in 0..2 {
        patch(&teams, "payments", json!({ "metadata": { "finalizers": null } })).await;
        until(&teams, "payments", "it is held again", |it| !it.finalizers().is_empty()).await;
    }
    let nonsense = Patch::Merge(json!({ "status": { "phase": "Failed" } }));
    teams.patch_status("payments", &PatchParams::default(), &nonsense).await.unwrap();
    let is_mended = |it: &Team| it.status.as_ref().and_then(|it| it.phase) == Some(TeamPhase::Ready);
    until(&teams, "payments", "it says what is so", is_mended).await;

    let removals = || written(&world, &[("rolebindings", "stray", Value::Null)]);
    let holds = || written(&world, &[("teams", "payments", Value::Null)]);
    let reports = || written(&world, &[("teams", "payments", json!("status"))]);
    butler_bench::eventually("all of it is in the audit log", async || {
        removals().len() >= 2 && holds().len() >= 3 && reports().last() > holds().last()
    })
    .await;
    let at = [removals()[1], holds()[1], holds()[2], *reports().last().unwrap()];
    becomes_slower(&at);
}
