//! Definitions that are not there yet, and an API server that goes away.

use butler_api::NetworkPool;
use butler_bench::ControlPlane;
use butler_policies::facts::{Fact, FactKey, FactKind, Lookup};
use butler_policies::review::Caller;
use butler_webhook::facts::{ApiServer, Look, Metrics};
use futures::{StreamExt, stream};
use kube::api::{Api, PostParams};
use serde_json::json;

use crate::world::*;

const NAMESPACE: &str = "default";
/// More than fit on a page of a list.
const POOLS: usize = 300;

async fn make_pools(plane: &ControlPlane, count: usize) {
    let api: Api<NetworkPool> = Api::namespaced(plane.client().await.unwrap(), NAMESPACE);
    let pools = (0..count).map(|number| {
        let pool = json!({"metadata": {"name": format!("pool-{number}")}, "spec": {"cidr": "10.60.0.0/22"}});
        let (api, pool) = (api.clone(), serde_json::from_value(pool).unwrap());
        async move { api.create(&PostParams::default(), &pool).await.unwrap() }
    });
    stream::iter(pools).buffer_unordered(16).collect::<Vec<_>>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_are_watched_as_soon_as_they_are_served() {
    let plane = own_plane().await;
    let mut running = Running::start(&plane).await;
    let failures = "butler_facts_watch_failures_total{kind=\"Team\",reason=\"NotServed\"}";
    eventually("Namespaces, and Teams that are not served", async || {
        !running.synced.missing().contains(&FactKind::Namespace) && running.metric(failures).is_some()
    })
    .await;
    assert!(!running.synced.is_synced());
    assert_eq!(running.synced.missing().len(), 10);
    assert_eq!(running.facts().team("payments"), Lookup::Unknown);
    let api_server = ApiServer::new(gate(&plane).await, Metrics::default());
    let team = FactKey::Team("payments".to_owned());
    assert!(matches!(api_server.look(&team, &Caller::default()).await, Fact::Unreadable), "nobody can say");

    plane.install_crds(definitions()).await.unwrap();
    running.synced.wait().await;
    assert_eq!(running.facts().team("payments"), Lookup::Absent);
    assert!(matches!(api_server.look(&team, &Caller::default()).await, Fact::Absent));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_goes_away_is_waited_for() {
    let plane = own_plane().await;
    plane.install_crds(definitions()).await.unwrap();
    plane.apply(&one_of_each(NAMESPACE)).await.unwrap();
    make_pools(&plane, POOLS).await;
    let running = Running::synced(&plane).await;
    assert_eq!(running.facts().pools().count(), POOLS + 1);
    // One for each kind, one for a Secret, and one for whatever the API server changes while it starts.
    let snapshots = running.metric("butler_facts_snapshots_total").unwrap();
    assert!(snapshots < 20.0, "{snapshots} snapshots for eleven lists");
    let (cluster, other) = (at(NAMESPACE, "orders"), at(NAMESPACE, "other"));
    assert!(running.facts().cluster(&cluster).found().is_some());
    assert_eq!(running.facts().cluster(&other), Lookup::Absent);

    plane.stop_api_server().await;
    let api_server = ApiServer::new(gate(&plane).await, Metrics::default());
    let mut keys = vec![
        FactKey::Config,
        FactKey::User("ana@example.org".to_owned()),
        FactKey::Administrator(String::new()),
    ];
    for name in [NAMESPACE, "other"] {
        let (name, place) = (|| name.to_owned(), || at(NAMESPACE, name));
        keys.extend([
            FactKey::Team(name()),
            FactKey::Cluster(place()),
            FactKey::Addon(place()),
            FactKey::Definition(name()),
            FactKey::Provider(place()),
            FactKey::Pool(place()),
            FactKey::Allocation(place()),
            FactKey::CreationPolicy(name()),
            FactKey::Namespace(name()),
            FactKey::Secret(place()),
        ]);
    }
    for key in keys {
        let fact = api_server.look(&key, &Caller::default()).await;
        assert!(matches!(fact, Fact::Unreadable), "{key}: {fact:?}");
    }
    running.until("a kind that is lost", |facts| facts.cluster(&other) == Lookup::Unknown).await;
    assert_eq!(running.facts().cluster(&cluster), Lookup::Unknown, "what was found may be long past");

    plane.restart_api_server().await.unwrap();
    running.until("the kind again", |facts| facts.cluster(&other) == Lookup::Absent).await;
    plane.kubectl(&["delete", "tenantcluster", "orders"]).await.unwrap().success().unwrap();
    running.until("what happened afterwards", |facts| facts.cluster(&cluster) == Lookup::Absent).await;
    assert_eq!(running.facts().pools().count(), POOLS + 1);
    let kinds = [FactKind::Config, FactKind::Team, FactKind::User, FactKind::Namespace, FactKind::Pool];
    running.until("all kinds", |facts| kinds.iter().all(|kind| facts.knows_all(*kind))).await;

    // Somebody whom nobody can read may be anybody.
    let users =
        "{apiVersion: butler.butlerlabs.dev/v1alpha1, kind: User, metadata: {name: odd}, spec: {email: 7}}";
    plane.apply(users).await.unwrap();
    let look =
        async |email: &str| api_server.look(&FactKey::User(email.to_owned()), &Caller::default()).await;
    assert!(matches!(look("bo@example.org").await, Fact::Unreadable));
    assert!(matches!(look("ana@default.example.org").await, Fact::User(_)));
}
