//! What others do to a team: it is told in a condition, tried again calmly, and healed when the cause goes.

use butler_api::Team;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::world::{ACCOUNT, World, delete, is_ready, message, patch, read, shown, team, until};

fn conditions(team: &Team) -> Vec<String> {
    shown(team.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trouble_is_told_and_healed() {
    let world = World::start().await;
    let teams = world.all::<Team>();
    let spec = |users: Value| json!({ "access": { "users": users } });
    let two = json!([{ "name": "bo@example.org" }, { "name": "zoe@example.org" }]);
    world.apply(&team("payments", spec(two))).await;
    until(&teams, "payments", "it is ready", is_ready).await;

    its_namespace_is_stuck(&world, &teams).await;
    somebody_takes_what_is_ours(&world, &teams).await;

    // Rights are taken away, and given back.
    let bare = json!({ "rules": [
        { "apiGroups": ["butler.butlerlabs.dev"], "resources": ["teams", "teams/status"], "verbs": ["get", "patch"] }] });
    patch(&world.all::<ClusterRole>(), "butler-reconciler", bare).await;
    until_refused(&world).await;
    let two = json!([{ "name": "bo@example.org" }, { "name": "ana@example.org" }]);
    patch(&teams, "payments", json!({ "spec": spec(two) })).await;
    let refused = until(&teams, "payments", "it says so", |team| {
        conditions(team).contains(&"RBACReady False RBACReconcileFailed".to_owned())
    })
    .await;
    let told = message(&refused.status.unwrap().conditions, "RBACReady");
    assert!(told.starts_with("cannot apply ClusterRoleBinding `butler:team:payments:member`: "), "{told}");
    assert!(told.ends_with("; give butler-reconciler the rights of its manifests again"), "{told}");
    world.plane.apply(&read("manifests/reconciler/rbac.yaml")).await.unwrap();
    until(&teams, "payments", "it is ready", is_ready).await;
    assert_eq!(
        world.within::<RoleBinding>("payments").list(&ListParams::default()).await.unwrap().items.len(),
        2
    );
}

/// Waits until the authorizer has heard that the reconciler may not bind anything any more.
async fn until_refused(world: &World) {
    let attributes =
        json!({ "group": "rbac.authorization.k8s.io", "resource": "clusterrolebindings", "verb": "patch" });
    let review: SubjectAccessReview =
        serde_json::from_value(json!({ "spec": { "user": ACCOUNT, "resourceAttributes": attributes } }))
            .unwrap();
    let reviews = world.all::<SubjectAccessReview>();
    butler_bench::eventually("it is refused", async || {
        let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
        !answer.status.unwrap().allowed
    })
    .await;
}

/// Something in the namespace does not go, and so the namespace does not.
async fn its_namespace_is_stuck(world: &World, teams: &Api<Team>) {
    let stuck = json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "stuck", "namespace": "payments", "finalizers": ["example.org/stuck"] } });
    world.apply(&stuck).await;
    delete(&world.all::<Namespace>(), "payments").await;
    let waiting = until(teams, "payments", "it says so", |team| {
        conditions(team).contains(&"NamespaceReady False Deleting".to_owned())
    })
    .await;
    let told = message(&waiting.status.unwrap().conditions, "NamespaceReady");
    assert!(told.starts_with("the namespace `payments` is being deleted since "), "{told}");
    assert!(told.ends_with("(`kubectl get namespace payments -o yaml` says what keeps it)"), "{told}");
    // Whoever leaves the team meanwhile does not wait for that.
    let bindings = world.all::<ClusterRoleBinding>();
    let subjects = |it: &ClusterRoleBinding| -> Vec<String> {
        it.subjects.iter().flatten().map(|subject| subject.name.clone()).collect()
    };
    let wide = "butler:team:payments:member";
    assert_eq!(subjects(&bindings.get(wide).await.unwrap()), ["bo@example.org", "zoe@example.org"]);
    let bo = json!([{ "name": "bo@example.org" }]);
    patch(teams, "payments", json!({ "spec": { "access": { "users": bo } } })).await;
    until(&bindings, wide, "only bo is left", |it| subjects(it) == ["bo@example.org"]).await;
    assert!(world.within::<ConfigMap>("payments").get_opt("stuck").await.unwrap().is_some());

    patch(&world.within::<ConfigMap>("payments"), "stuck", json!({ "metadata": { "finalizers": null } }))
        .await;
    until(teams, "payments", "it is ready", is_ready).await;
}

/// What is ours is set back, and people are told whose it was, each time.
async fn somebody_takes_what_is_ours(world: &World, teams: &Api<Team>) {
    let bindings = world.within::<RoleBinding>("payments");
    let all = bindings.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(all.len(), 1, "{all:#?}");
    let binding = &all[0];
    let eve = json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve@example.org" }]);
    for who in ["kubectl-edit", "somebody-else", "kubectl-edit"] {
        let params = PatchParams { field_manager: Some(who.to_owned()), ..PatchParams::default() };
        let change = Patch::Merge(json!({ "subjects": eve }));
        bindings.patch(&binding.name_any(), &params, &change).await.unwrap();
        until(&bindings, &binding.name_any(), "it is ours again", |it| it.subjects == binding.subjects).await;
        let expected = format!("set back RoleBinding `{}`, which `{who}` had changed", binding.name_any());
        until(teams, "payments", "its condition tells", |team| {
            is_ready(team)
                && message(&team.status.as_ref().unwrap().conditions, "RBACReady").starts_with(&expected)
        })
        .await;
    }
    // The third is the first once more, and so only counted.
    let events = world.within::<Event>("default");
    let told = async || -> Vec<(String, i32)> {
        let all = events.list(&ListParams::default()).await.unwrap().items.into_iter();
        let set_back = all.filter(|it| it.reason.as_deref() == Some("SetBack"));
        let count = |it: &Event| it.series.as_ref().map_or(1, |series| series.count);
        let mut told: Vec<(String, i32)> =
            set_back.map(|it| (it.note.clone().unwrap_or_default(), count(&it))).collect();
        told.sort();
        told
    };
    let note =
        |who: &str| format!("set back RoleBinding `{}`, which `{who}` had changed", binding.name_any());
    let expected = vec![(note("kubectl-edit"), 2), (note("somebody-else"), 1)];
    butler_bench::eventually("events tell", async || told().await == expected).await;
    until(teams, "payments", "it is ready", is_ready).await;
}
