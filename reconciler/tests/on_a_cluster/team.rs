//! Teams: created, changed, drifted, deleted.

use butler_api::team::TeamPhase;
use butler_api::{Team, TenantCluster};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::ResourceExt;
use kube::api::{Api, ListParams, PostParams};
use serde_json::{Value, json};

use crate::world::{World, cluster, delete, is_ready, message, patch, shown, team, until, until_gone};

fn conditions(team: &Team) -> Vec<String> {
    shown(team.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default())
}

/// Each binding of ours as `role <- subject`.
async fn bindings(api: &Api<RoleBinding>) -> Vec<String> {
    let found = api.list(&ListParams::default().labels("app.kubernetes.io/managed-by=butler")).await.unwrap();
    let line = |it: &RoleBinding| {
        let subjects: Vec<&str> = it.subjects.iter().flatten().map(|subject| subject.name.as_str()).collect();
        format!("{} <- {}", it.role_ref.name, subjects.join(", "))
    };
    let mut lines: Vec<String> = found.items.iter().map(line).collect();
    lines.sort();
    lines
}

async fn until_bound(api: &Api<RoleBinding>, expected: &[&str]) {
    let what = format!("the bindings are {expected:?}");
    butler_bench::eventually(&what, async || bindings(api).await == expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_lives() {
    let world = World::start().await;
    let (teams, namespaces) = (world.all::<Team>(), world.all::<Namespace>());
    let own = world.within::<RoleBinding>("payments");

    // Created.
    let access = |users: Value| {
        json!({ "description": "cards", "access": { "users": users,
        "groups": [{ "name": "sre", "role": "operator", "identityProvider": "okta" }] } })
    };
    let both = access(json!([{ "name": "ana@example.org", "role": "admin" }, { "name": "bo@example.org" }]));
    world.apply(&team("payments", both)).await;
    let made = until(&teams, "payments", "it is ready", is_ready).await;
    let status = made.status.clone().unwrap();
    assert_eq!((status.phase, status.namespace.as_deref()), (Some(TeamPhase::Ready), Some("payments")));
    assert_eq!((status.member_count, status.cluster_count), (Some(3), Some(0)));
    assert_eq!(made.finalizers(), ["butler.butlerlabs.dev/team"]);
    let namespace = namespaces.get("payments").await.unwrap();
    assert_eq!(namespace.labels()["butler.butlerlabs.dev/team"], "payments");
    assert_eq!(namespace.labels()["app.kubernetes.io/managed-by"], "butler");
    assert_eq!(namespace.annotations()["butler.butlerlabs.dev/description"], "cards");
    assert!(namespace.owner_references().is_empty());
    assert_eq!(
        bindings(&own).await,
        [
            "butler-team-admin <- ana@example.org",
            "butler-team-operator <- okta:sre",
            "butler-team-viewer <- bo@example.org"
        ]
    );
    let wide = world.all::<ClusterRoleBinding>().get("butler:team:payments:admin").await.unwrap();
    assert_eq!(wide.subjects.unwrap().len(), 1);

    // Changed: another role, and somebody less.
    let one = access(json!([{ "name": "bo@example.org", "role": "operator" }]));
    world.apply(&team("payments", one)).await;
    until(&teams, "payments", "it has two members", |team| {
        is_ready(team) && team.status.as_ref().is_some_and(|status| status.member_count == Some(2))
    })
    .await;
    assert_eq!(
        bindings(&own).await,
        ["butler-team-operator <- bo@example.org", "butler-team-operator <- okta:sre"]
    );
    assert!(world.all::<ClusterRoleBinding>().get_opt("butler:team:payments:admin").await.unwrap().is_none());
    assert!(world.all::<ClusterRole>().get_opt("butler:team:payments:admin").await.unwrap().is_none());

    drifts(&world, &namespaces, &own).await;
    is_raised_in_an_environment(&world).await;
    leaves(&world, &teams, &namespaces).await;
}

/// What others change is set back, and what they add to a namespace stays.
async fn drifts(world: &World, namespaces: &Api<Namespace>, own: &Api<RoleBinding>) {
    let all = own.list(&ListParams::default()).await.unwrap().items;
    let name =
        all.iter().map(ResourceExt::name_any).rfind(|it| it.starts_with("butler-team-user-bo")).unwrap();
    let eve = json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve@example.org" }]);
    patch(own, &name, json!({ "subjects": eve })).await;
    until(own, &name, "the subjects are ours again", |it| {
        it.subjects.as_ref().unwrap()[0].name == "bo@example.org"
    })
    .await;

    delete(own, &name).await;
    until(own, &name, "it is there again", |_| true).await;

    patch(
        namespaces,
        "payments",
        json!({ "metadata": { "labels": {
        "butler.butlerlabs.dev/team": null, "theirs": "stays" } } }),
    )
    .await;
    until(namespaces, "payments", "the label is there again", |it| {
        it.labels().get("butler.butlerlabs.dev/team").map(String::as_str) == Some("payments")
    })
    .await;
    assert_eq!(namespaces.get("payments").await.unwrap().labels()["theirs"], "stays");

    // A stranger's binding is not ours to touch.
    let theirs = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": { "name": "theirs", "namespace": "payments" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" } });
    world.apply(&theirs).await;
    world.apply(&team("payments", json!({ "access": { "users": [{ "name": "bo@example.org" }] } }))).await;
    until(&world.all::<Team>(), "payments", "it has one member", |team| {
        is_ready(team) && team.status.as_ref().is_some_and(|status| status.member_count == Some(1))
    })
    .await;
    assert!(own.get_opt("theirs").await.unwrap().is_some());
    let namespace = namespaces.get("payments").await.unwrap();
    assert!(
        !namespace.annotations().contains_key("butler.butlerlabs.dev/description"),
        "it is not described any more"
    );
}

async fn is_raised_in_an_environment(world: &World) {
    let roles = world.within::<Role>("payments");
    let spec = json!({ "access": { "users": [{ "name": "bo@example.org" }] },
        "environments": [{ "name": "dev", "access": { "users": [{ "name": "bo@example.org", "role": "operator" }] } }] });
    world.apply(&team("payments", spec)).await;
    let labelled = json!({ "metadata": { "labels": { "butler.butlerlabs.dev/environment": "dev" } },
        "spec": { "teamRef": { "name": "payments" } } });
    world.apply(&cluster("payments", "orders", labelled)).await;
    let role = until(&roles, "butler-environment-dev", "it is there", |_| true).await;
    assert_eq!(role.rules.unwrap()[0].resource_names.as_deref().unwrap(), ["orders"]);
}

/// A team waits for its clusters, names them, and then leaves nothing.
async fn leaves(world: &World, teams: &Api<Team>, namespaces: &Api<Namespace>) {
    let clusters = world.within::<TenantCluster>("payments");
    delete(teams, "payments").await;
    let waiting = until(teams, "payments", "it waits", |team| {
        conditions(team).contains(&"Ready False DeletionBlocked".to_owned())
    })
    .await
    .status
    .unwrap();
    assert_eq!(waiting.phase, Some(TeamPhase::Terminating));
    assert_eq!(
        message(&waiting.conditions, "Ready"),
        "the team is being deleted and still has clusters (`orders`); delete them first"
    );
    assert!(namespaces.get("payments").await.unwrap().metadata.deletion_timestamp.is_none());

    // Whoever leaves the team meanwhile leaves it at once, and what somebody takes away from the others comes back.
    let spec = json!({ "access": { "users": [{ "name": "ana@example.org", "role": "operator" }] } });
    world.apply(&team("payments", spec)).await;
    let own = world.within::<RoleBinding>("payments");
    until_bound(&own, &["butler-team-operator <- ana@example.org"]).await;
    let all = own.list(&ListParams::default().labels("butler.butlerlabs.dev/team")).await.unwrap().items;
    delete(&own, &all[0].name_any()).await;
    until_bound(&own, &["butler-team-operator <- ana@example.org"]).await;

    delete(&clusters, "orders").await;
    until_gone(teams, "payments").await;
    until_gone(namespaces, "payments").await;
    let of_team = ListParams::default().labels("butler.butlerlabs.dev/team=payments");
    assert!(world.all::<ClusterRole>().list(&of_team).await.unwrap().items.is_empty());
    assert!(world.all::<ClusterRoleBinding>().list(&of_team).await.unwrap().items.is_empty());
    assert!(world.all::<RoleBinding>().list(&of_team).await.unwrap().items.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_takes_no_namespace_that_is_not_its_own() {
    let world = World::start().await;
    let (teams, namespaces) = (world.all::<Team>(), world.all::<Namespace>());
    let theirs: Namespace = serde_json::from_value(json!({ "metadata": { "name": "theirs" } })).unwrap();
    namespaces.create(&PostParams::default(), &theirs).await.unwrap();
    let before = namespaces.get("kube-system").await.unwrap();
    for name in ["theirs", "kube-system"] {
        // There is no gate here that would refuse it.
        world
            .apply(&team(
                name,
                json!({ "access": { "users": [{ "name": "eve@example.org", "role": "admin" }] } }),
            ))
            .await;
        let refused = until(&teams, name, "it failed", |team| {
            team.status.as_ref().is_some_and(|status| status.phase == Some(TeamPhase::Failed))
        })
        .await;
        assert_eq!(
            conditions(&refused),
            [
                "NamespaceReady False NamespaceError",
                "QuotaExceeded False WithinQuota",
                "RBACReady False WaitingForDependencies",
                "Ready False NamespaceError",
            ]
        );
        assert!(bindings(&world.within::<RoleBinding>(name)).await.is_empty());
    }
    assert_eq!(
        namespaces.get("kube-system").await.unwrap().metadata.resource_version,
        before.metadata.resource_version
    );

    // Healed when the cause goes.
    delete(&namespaces, "theirs").await;
    until(&teams, "theirs", "it is ready", is_ready).await;
    assert_eq!(namespaces.get("theirs").await.unwrap().labels()["butler.butlerlabs.dev/team"], "theirs");

    // And the platform's own stays when the team goes.
    delete(&teams, "kube-system").await;
    until_gone(&teams, "kube-system").await;
    assert!(namespaces.get("kube-system").await.unwrap().metadata.deletion_timestamp.is_none());
}
