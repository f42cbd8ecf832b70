//! The rights in `manifests/reconciler/rbac.yaml`: the program is never refused anything, uses what it is given, and is
//! given nothing that would let it give itself more.

use std::collections::BTreeSet;

use butler_api::{ProviderConfig, Team};
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::world::{World, cluster, delete, patch, read, team, until, until_gone};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_is_refused_nothing_and_uses_what_it_is_given() {
    let mut world = World::audited().await;
    let sample = async |world: &World, name: &str| {
        world.plane.apply(&read(&format!("manifests/samples/platform/{name}.yaml"))).await.unwrap();
    };
    // The authorizer learns of a new role a moment after it is stored, and until then refuses rightly.
    sample(&world, "provider-config").await;
    world.add_replica(&["--resync-seconds=1"]).await;
    for name in ["namespaces", "butler-config", "teams"] {
        sample(&world, name).await;
    }
    world
        .apply(&json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ButlerConfig",
        "metadata": { "name": "butler" }, "spec": { "multiTenancy": { "mode": "Optional" } } }))
        .await;
    let spec = json!({
        "access": { "users": [{ "name": "ana@example.org", "role": "admin" }, { "name": "bo@example.org" }] },
        "environments": [{ "name": "dev", "access": { "users": [{ "name": "bo@example.org", "role": "operator" }] } }],
    });
    world.apply(&team("payments", spec)).await;
    let (teams, providers) = (world.all::<Team>(), world.within::<ProviderConfig>("butler-system"));
    let is_ready = |team: &Team| team.status.as_ref().is_some_and(|it| it.namespace.is_some());
    until(&teams, "payments", "it is ready", is_ready).await;
    let labelled = json!({ "metadata": { "labels": { "butler.butlerlabs.dev/environment": "dev" } },
        "spec": { "teamRef": { "name": "payments" } } });
    world.apply(&cluster("payments", "orders", labelled)).await;
    let addon = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
        "metadata": { "name": "backup", "namespace": "payments" },
        "spec": { "clusterRef": { "name": "orders" }, "addon": "velero" } });
    world.apply(&addon).await;
    let roles = world.within::<k8s_openapi::api::rbac::v1::Role>("payments");
    until(&roles, "butler-environment-dev", "it speaks of the addon", |role| {
        role.rules.as_ref().is_some_and(|rules| rules.len() == 3)
    })
    .await;
    // A role that goes, with its binding.
    patch(&teams, "payments", json!({ "spec": { "environments": [] } })).await;
    until_gone(&roles, "butler-environment-dev").await;
    delete(&world.within::<butler_api::TenantAddon>("payments"), "backup").await;
    delete(&world.within::<butler_api::TenantCluster>("payments"), "orders").await;
    delete(&teams, "payments").await;
    until_gone(&teams, "payments").await;
    delete(&providers, "harvester-prod").await;
    until_gone(&providers, "harvester-prod").await;

    assert_eq!(world.refusals(), [""; 0]);
    let log = world.replicas[0].log();
    assert!(!log.to_lowercase().contains("forbidden"), "{log}");

    let used: BTreeSet<String> = world.asked().iter().map(shown).collect();
    let mut unused: Vec<String> = granted().into_iter().filter(|right| !used.contains(right)).collect();
    // Only an event that comes twice within a few minutes is counted again.
    unused.retain(|right| right != "patch events");
    assert_eq!(unused, NOT_SHOWN, "used:\n{used:#?}");
}

/// What the audit log does not show: that something is made by an apply, which takes the right to create it; that a role is
/// bound; and what is held only to be given, since nobody may give away what they do not have.
const NOT_SHOWN: [&str; 17] = [
    "bind clusterroles",
    "create clusterrolebindings",
    "create clusterroles",
    "create namespaces",
    "create rolebindings",
    "create roles",
    "delete tenantaddons",
    "delete tenantclusters",
    "get teams",
    "get tenantclusters/scale",
    "patch tenantaddons",
    "patch tenantclusters",
    "patch tenantclusters/scale",
    "update teams",
    "update tenantaddons",
    "update tenantclusters",
    "update tenantclusters/scale",
];

fn shown(event: &Value) -> String {
    let at = &event["objectRef"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let resource = match at["subresource"].as_str() {
        Some(subresource) => format!("{}/{subresource}", text(&at["resource"])),
        None => text(&at["resource"]),
    };
    format!("{} {resource}", text(&event["verb"]))
}

/// What the installation gives, and what whoever follows the samples gives for their Secret.
fn rules() -> Vec<(String, PolicyRule)> {
    let mut documents: Vec<DynamicObject> = Vec::new();
    for file in ["manifests/reconciler/rbac.yaml", "manifests/samples/platform/provider-config.yaml"] {
        documents.extend(serde_saphyr::from_multiple::<DynamicObject>(&read(file)).unwrap());
    }
    let mut rules = Vec::new();
    for document in documents {
        let name = format!("{} {}", document.types.unwrap().kind, document.metadata.name.unwrap());
        if let Some(own) = document.data.get("rules") {
            let own: Vec<PolicyRule> = serde_json::from_value(own.clone()).unwrap();
            rules.extend(own.into_iter().map(|rule| (name.clone(), rule)));
        }
    }
    assert!(!rules.is_empty());
    rules
}

fn granted() -> BTreeSet<String> {
    let each = |rule: &PolicyRule| -> Vec<String> {
        let resources = rule.resources.clone().unwrap_or_default();
        rule.verbs.iter().flat_map(|verb| resources.iter().map(move |it| format!("{verb} {it}"))).collect()
    };
    rules().iter().flat_map(|(_, rule)| each(rule)).collect()
}

#[test]
fn nothing_that_is_granted_leads_to_more() {
    let own = ["butler-team-admin", "butler-team-operator", "butler-team-viewer"];
    for (of, rule) in rules() {
        let resources = rule.resources.clone().unwrap_or_default();
        let all =
            [rule.verbs.clone(), resources.clone(), rule.api_groups.clone().unwrap_or_default()].concat();
        assert!(!all.iter().any(|it| it.contains('*')), "{of}: {rule:?}");
        for forbidden in ["escalate", "impersonate", "deletecollection"] {
            assert!(!rule.verbs.iter().any(|verb| verb == forbidden), "{of}: {rule:?}");
        }
        if rule.verbs.iter().any(|verb| verb == "bind") {
            assert_eq!(rule.verbs, ["bind"]);
            assert_eq!(rule.resource_names.clone().unwrap_or_default(), own);
        }
        if resources.iter().any(|it| it.starts_with("secrets")) {
            // A Role, so it reaches one namespace, and in it what is named.
            assert_eq!(of, "Role butler-reconciler-reads-harvester-prod");
            assert_eq!(rule.verbs, ["get"]);
            assert_eq!(rule.resource_names.clone().unwrap_or_default(), ["harvester-prod"]);
        }
    }
}

/// Whoever may bind a role may give it to themselves, in every namespace: so what is in the roles of teams counts as held.
#[test]
fn what_can_be_bound_reaches_no_secret_and_leads_to_no_more_rights() {
    let documents: Vec<DynamicObject> =
        serde_saphyr::from_multiple(&read("manifests/reconciler/team-roles.yaml")).unwrap();
    let mut reached = BTreeSet::new();
    for document in documents {
        let rules: Vec<PolicyRule> = serde_json::from_value(document.data["rules"].clone()).unwrap();
        for rule in rules {
            for resource in rule.resources.clone().unwrap_or_default() {
                reached.extend(rule.verbs.iter().map(|verb| format!("{verb} {resource}")));
            }
        }
    }
    let expected: BTreeSet<String> = [
        ("tenantclusters", &["get", "list", "watch", "create", "update", "patch", "delete"][..]),
        ("tenantaddons", &["get", "list", "watch", "create", "update", "patch", "delete"]),
        ("tenantclusters/scale", &["get", "update", "patch"]),
        ("events", &["get", "list", "watch"]),
        ("rolebindings", &["get", "list", "watch"]),
    ]
    .into_iter()
    .flat_map(|(resource, verbs)| verbs.iter().map(move |verb| format!("{verb} {resource}")))
    .collect();
    assert_eq!(reached, expected);
}

#[test]
fn each_role_of_a_team_has_all_that_the_one_before_has() {
    let documents: Vec<DynamicObject> =
        serde_saphyr::from_multiple(&read("manifests/reconciler/team-roles.yaml")).unwrap();
    let rights = |name: &str| -> BTreeSet<String> {
        let role = documents.iter().find(|it| it.metadata.name.as_deref() == Some(name)).unwrap();
        let rules: Vec<PolicyRule> = serde_json::from_value(role.data["rules"].clone()).unwrap();
        rules
            .iter()
            .flat_map(|rule| {
                let resources = rule.resources.clone().unwrap_or_default();
                rule.verbs
                    .iter()
                    .flat_map(move |verb| resources.clone().into_iter().map(move |it| format!("{verb} {it}")))
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    let [viewer, operator, admin] =
        ["butler-team-viewer", "butler-team-operator", "butler-team-admin"].map(rights);
    assert!(viewer.is_subset(&operator) && operator.is_subset(&admin));
    let reads: BTreeSet<&str> = viewer.iter().map(|it| it.split(' ').next().unwrap()).collect();
    assert_eq!(reads, BTreeSet::from(["get", "list", "watch"]), "a viewer only looks");
    assert!(!viewer.iter().any(|it| it.contains("secret")));
}
