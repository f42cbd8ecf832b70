//! What each role may do, asked of the real authorizer by impersonating a member: the whole table of role, verb and resource.

use butler_api::Team;
use http::{HeaderName, HeaderValue};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::world::{World, cluster, is_ready, patch, team, until};

const VERBS: [&str; 9] =
    ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind"];

/// Resources as `group/resource`, in the order of the table.
const RESOURCES: [&str; 16] = [
    "butler.butlerlabs.dev/tenantclusters",
    "butler.butlerlabs.dev/tenantclusters/scale",
    "butler.butlerlabs.dev/tenantclusters/status",
    "butler.butlerlabs.dev/tenantaddons",
    "butler.butlerlabs.dev/tenantaddons/status",
    "butler.butlerlabs.dev/networkpools",
    "butler.butlerlabs.dev/providerconfigs",
    "/secrets",
    "/configmaps",
    "/events",
    "/pods",
    "/serviceaccounts",
    "/serviceaccounts/token",
    "/namespaces",
    "rbac.authorization.k8s.io/roles",
    "rbac.authorization.k8s.io/rolebindings",
];

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
const SCALE: &[&str] = &["get", "update", "patch"];

/// What a role may do with a resource in the team's namespace. All that is not here is forbidden.
fn allowed(role: &str, resource: &str) -> &'static [&'static str] {
    match (role, resource) {
        ("stranger", _) => &[],
        (_, "/events" | "rbac.authorization.k8s.io/rolebindings") => READ,
        ("viewer", "butler.butlerlabs.dev/tenantclusters" | "butler.butlerlabs.dev/tenantaddons") => READ,
        ("viewer", _) => &[],
        (_, "butler.butlerlabs.dev/tenantclusters" | "butler.butlerlabs.dev/tenantaddons") => WRITE,
        (_, "butler.butlerlabs.dev/tenantclusters/scale") => SCALE,
        _ => &[],
    }
}

/// An administrator who acts as somebody else.
async fn impersonate(world: &World, user: &str, groups: &[&str]) -> Client {
    let file = Kubeconfig::read_from(world.plane.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    let groups = groups.iter().map(|group| ("impersonate-group", *group));
    for (name, value) in [("impersonate-user", user)].into_iter().chain(groups) {
        config.headers.push((HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
    }
    Client::try_from(config).unwrap()
}

struct Question<'a> {
    verb: &'a str,
    resource: &'a str,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
}

async fn may(somebody: &Client, question: Question<'_>) -> bool {
    let Question { verb, resource, namespace, name } = question;
    let (group, rest) = resource.split_once('/').unwrap();
    let (resource, subresource) = match rest.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (rest, None),
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource,
                verb: Some(verb.to_owned()),
                namespace: namespace.map(str::to_owned),
                name: name.map(str::to_owned),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(somebody.clone());
    reviews.create(&PostParams::default(), &review).await.unwrap().status.unwrap().allowed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_role_may_do_what_it_says_and_nothing_else() {
    let world = World::start().await;
    let access = json!({
        "users": [
            { "name": "admin@example.org", "role": "admin" }, { "name": "operator@example.org", "role": "operator" },
            { "name": "member@example.org", "role": "member" }, { "name": "viewer@example.org" },
        ],
        "groups": [{ "name": "watchers", "role": "viewer" }],
    });
    world.apply(&team("payments", json!({ "access": access }))).await;
    world
        .apply(&team(
            "other",
            json!({ "access": { "users": [{ "name": "stranger@example.org", "role": "admin" }] } }),
        ))
        .await;
    let teams = world.all::<Team>();
    for name in ["payments", "other"] {
        until(&teams, name, "it is ready", is_ready).await;
    }

    let mut wrong = Vec::new();
    let mut asked = 0;
    let somebody: [(&str, &str, &[&str]); 6] = [
        ("admin@example.org", "admin", &[]),
        ("operator@example.org", "operator", &[]),
        ("member@example.org", "operator", &[]),
        ("viewer@example.org", "viewer", &[]),
        ("whoever@example.org", "viewer", &["watchers"]),
        ("stranger@example.org", "stranger", &[]),
    ];
    for (user, role, groups) in somebody {
        let somebody = impersonate(&world, user, groups).await;
        for resource in RESOURCES {
            for verb in VERBS {
                let question = Question { verb, resource, namespace: Some("payments"), name: None };
                let (is_allowed, should_be) =
                    (may(&somebody, question).await, allowed(role, resource).contains(&verb));
                asked += 1;
                if is_allowed != should_be {
                    wrong.push(format!("{user} {verb} {resource}: {is_allowed}"));
                }
            }
        }
        // The Team itself, other Teams, and everything cluster-wide.
        for verb in VERBS {
            let own: &[&str] = match role {
                "admin" => &["get", "update", "patch"],
                "operator" | "viewer" => &["get"],
                _ => &[],
            };
            let teams = "butler.butlerlabs.dev/teams";
            let table = [
                (teams, None, Some("payments"), own.contains(&verb)),
                (teams, None, None, false),
                ("butler.butlerlabs.dev/teams/status", None, Some("payments"), false),
                ("/secrets", None, None, false),
                ("/secrets", Some("butler-system"), None, false),
                ("butler.butlerlabs.dev/tenantclusters", Some("default"), None, false),
                ("rbac.authorization.k8s.io/clusterroles", None, None, false),
                ("/nodes", None, None, false),
            ];
            for (resource, namespace, name, should_be) in table {
                let question = Question { verb, resource, namespace, name };
                asked += 1;
                if may(&somebody, question).await != should_be {
                    wrong.push(format!("{user} {verb} {resource} {namespace:?} {name:?}: {}", !should_be));
                }
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    println!("{asked} questions were asked of the authorizer");

    environments_are_told_apart(&world).await;
    whoever_is_removed_loses_access(&world, &teams).await;
}

/// Who is raised in one environment may change its clusters by their names, and nothing else.
async fn environments_are_told_apart(world: &World) {
    let spec = json!({ "access": { "users": [{ "name": "viewer@example.org" }] },
        "environments": [
            { "name": "dev", "access": { "users": [{ "name": "viewer@example.org", "role": "operator" }] } }, { "name": "prod" }] });
    world.apply(&team("payments", spec)).await;
    for (name, environment) in [("small", "dev"), ("large", "prod")] {
        let labelled = json!({ "metadata": { "labels": { "butler.butlerlabs.dev/environment": environment } },
            "spec": { "teamRef": { "name": "payments" } } });
        world.apply(&cluster("payments", name, labelled)).await;
    }
    let viewer = impersonate(world, "viewer@example.org", &[]).await;
    let ask = async |verb: &str, name: Option<&str>| {
        let resource = "butler.butlerlabs.dev/tenantclusters";
        may(&viewer, Question { verb, resource, namespace: Some("payments"), name }).await
    };
    butler_bench::eventually("the right is given", async || ask("delete", Some("small")).await).await;
    for (verb, name, should_be) in [
        ("update", Some("small"), true),
        ("patch", Some("small"), true),
        ("delete", Some("large"), false),
        ("update", Some("large"), false),
        ("create", None, false),
        ("delete", None, false),
    ] {
        assert_eq!(ask(verb, name).await, should_be, "{verb} {name:?}");
    }
}

async fn whoever_is_removed_loses_access(world: &World, teams: &Api<Team>) {
    let viewer = impersonate(world, "viewer@example.org", &[]).await;
    let ask = async || {
        let resource = "butler.butlerlabs.dev/tenantclusters";
        may(&viewer, Question { verb: "get", resource, namespace: Some("payments"), name: None }).await
    };
    assert!(ask().await);
    let nobody: Value = json!({ "spec": { "access": { "users": [] }, "environments": [] } });
    patch(teams, "payments", nobody).await;
    butler_bench::eventually("access is gone", async || !ask().await).await;
}
