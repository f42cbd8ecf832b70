//! What happens on the API server is seen in the snapshots.

use butler_api::{ProviderConfig, Team, TenantCluster, User};
use butler_bench::ControlPlane;
use butler_policies::facts::{FactKind, Facts, Lookup};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::world::*;

fn sees_all(facts: &Facts, namespace: &str) -> [bool; 11] {
    [
        facts.config().found().is_some(),
        facts.team(namespace).found().is_some(),
        facts.cluster(&at(namespace, "orders")).found().is_some(),
        facts.addons_of_cluster(&at(namespace, "orders")).count() == 1,
        facts.definition(namespace).found().is_some(),
        facts.provider(&at(namespace, "harvester")).found().is_some(),
        facts.pool(&at(namespace, "vlan50")).found().is_some(),
        facts.allocations_of_pool(&at(namespace, "vlan50")).count() == 1,
        facts.creation_policies().any(|policy| policy.metadata.name.as_deref() == Some(namespace)),
        facts.user(&format!("ana@{namespace}.example.org")).found().is_some(),
        facts.namespace(namespace).found().is_some(),
    ]
}

async fn change<K>(api: &Api<K>, name: &str, patch: Value)
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

fn in_namespace<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
    client: &Client,
    namespace: &str,
) -> Api<K> {
    Api::namespaced(client.clone(), namespace)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_and_what_comes_and_what_goes_is_seen_of_every_kind() {
    let plane = platform().await;
    let client = plane.client().await.unwrap();
    let before = plane.namespace().await.unwrap();
    plane.apply(&one_of_each(&before)).await.unwrap();
    let running = Running::synced(plane).await;
    assert_eq!(sees_all(&running.facts(), &before), [true; 11], "whoever is synced sees what was there");

    let namespace = plane.namespace().await.unwrap();
    plane.apply(&one_of_each(&namespace)).await.unwrap();
    running.until("new objects", |facts| sees_all(facts, &namespace) == [true; 11]).await;

    let clusters: Api<TenantCluster> = in_namespace(&client, &namespace);
    change(&clusters, "orders", json!({"spec": {"workers": {"replicas": 7}}})).await;
    let place = at(&namespace, "orders");
    running
        .until("a change", |facts| facts.cluster(&place).found().unwrap().spec.replicas() == Some(7))
        .await;

    let namespaces: Api<Namespace> = Api::all(client.clone());
    let labels = json!({"app.kubernetes.io/managed-by": "butler", "butler.butlerlabs.dev/team": namespace});
    change(&namespaces, &namespace, json!({"metadata": {"labels": labels}})).await;
    running
        .until("labels", |facts| {
            facts.namespace(&namespace).found().unwrap().team.as_deref() == Some(namespace.as_str())
        })
        .await;

    let users: Api<User> = Api::all(client.clone());
    let old = format!("ana@{namespace}.example.org");
    let new = format!("bo@{namespace}.example.org");
    change(&users, &namespace, json!({"spec": {"email": new}})).await;
    running.until("a new address", |facts| facts.user(&new).found().is_some()).await;
    assert_eq!(running.facts().user(&old), Lookup::Absent);

    for (kind, name) in [
        ("team", namespace.as_str()),
        ("tenantcluster", "orders"),
        ("tenantaddon", "argocd"),
        ("addondefinition", &namespace),
        ("providerconfig", "harvester"),
        ("networkpool", "vlan50"),
        ("ipallocation", "orders-nodes"),
        ("clustercreationpolicy", &namespace),
        ("user", &namespace),
    ] {
        let arguments = ["delete", kind, name, "-n", &namespace];
        plane.kubectl(&arguments).await.unwrap().success().unwrap();
    }
    namespaces.delete(&namespace, &DeleteParams::default()).await.unwrap();
    // The ButlerConfig is everybody's.
    let nothing_but_the_config = std::array::from_fn(|place| place == 0);
    running.until("deletions", |facts| sees_all(facts, &namespace) == nothing_but_the_config).await;
    assert_eq!(sees_all(&running.facts(), &before), [true; 11]);
    assert!(running.metric("butler_facts_objects{kind=\"TenantCluster\"}").unwrap() >= 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_watch_is_renewed_and_its_kind_stays_known() {
    let running = Running::synced(platform().await).await;
    // One fall for each watch that was renewed: longer in all than it takes to lose a kind.
    let age = "butler_facts_age_seconds{kind=\"ClusterCreationPolicy\"}";
    let mut rises_and_falls = 0;
    let mut last = 0.0;
    eventually("ages that begin anew", async || {
        let now = running.metric(age).unwrap_or_default();
        rises_and_falls += usize::from(now < last);
        last = now;
        assert!(running.facts().knows_all(FactKind::CreationPolicy));
        rises_and_falls >= 10
    })
    .await;
    assert_eq!(running.metric("butler_facts_watch_failures_total{kind=\"ClusterCreationPolicy\""), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_cannot_be_read_makes_only_itself_unknown() {
    let plane = platform().await;
    let client = plane.client().await.unwrap();
    let (broken, sound) = (plane.namespace().await.unwrap(), plane.namespace().await.unwrap());
    let manifest = |name: &str, access: &str| {
        format!(
            "{{apiVersion: butler.butlerlabs.dev/v1alpha1, kind: Team, metadata: {{name: {name}}}, spec: {{access: {access}}}}}"
        )
    };
    plane.apply(&manifest(&broken, "everybody")).await.unwrap();
    plane.apply(&manifest(&sound, "{}")).await.unwrap();
    let running = Running::synced(plane).await;
    assert_eq!(running.facts().team(&broken), Lookup::Unknown);
    assert!(running.facts().team(&sound).found().is_some());
    assert_eq!(running.facts().team("nobodys"), Lookup::Absent);

    let late = plane.namespace().await.unwrap();
    plane.apply(&manifest(&late, "everybody")).await.unwrap();
    running.until("a broken object", |facts| facts.team(&late) == Lookup::Unknown).await;
    plane.apply(&manifest(&late, "{}")).await.unwrap();
    running.until("a mended object", |facts| facts.team(&late).found().is_some()).await;
    let teams: Api<Team> = Api::all(client);
    // The answer to a deletion is the object, which nobody here can read.
    let _ = teams.delete(&broken, &DeleteParams::default()).await;
    running.until("a deleted broken object", |facts| facts.team(&broken) == Lookup::Absent).await;
}

async fn secret(plane: &ControlPlane, namespace: &str) -> Api<Secret> {
    let secrets: Api<Secret> = in_namespace(&plane.client().await.unwrap(), namespace);
    let secret = json!({"metadata": {"name": "credentials"}, "stringData": {"password": "unseen"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    secrets
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_looked_for_without_a_right_to_list_secrets() {
    let plane = platform().await;
    let client = plane.client().await.unwrap();
    let (allowed, hidden) = (plane.namespace().await.unwrap(), plane.namespace().await.unwrap());
    allow_credentials(plane, &allowed).await;
    let running = Running::synced(plane).await;
    let place = at(&allowed, "credentials");

    plane.apply(&one_of_each(&allowed)).await.unwrap();
    plane.apply(&one_of_each(&hidden)).await.unwrap();
    secret(plane, &hidden).await;
    running
        .until("a Secret out of reach", |facts| facts.secret(&at(&hidden, "credentials")) == Lookup::Unknown)
        .await;
    assert_eq!(running.facts().secret(&place), Lookup::Absent);

    let secrets = secret(plane, &allowed).await;
    running.until("a Secret", |facts| facts.secret(&place) == Lookup::Found(())).await;
    secrets.delete("credentials", &DeleteParams::default()).await.unwrap();
    running.until("no Secret", |facts| facts.secret(&place) == Lookup::Absent).await;
    secret(plane, &allowed).await;
    running.until("the Secret again", |facts| facts.secret(&place) == Lookup::Found(())).await;

    let providers: Api<ProviderConfig> = in_namespace(&client, &allowed);
    providers.delete("harvester", &DeleteParams::default()).await.unwrap();
    running.until("nobody to ask for it", |facts| facts.secret(&place) == Lookup::Absent).await;
    assert!(
        running.metric("butler_facts_watch_failures_total{kind=\"Secret\",reason=\"Forbidden\"}").unwrap()
            >= 1.0
    );
}
