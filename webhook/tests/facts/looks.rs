//! One live look, for every kind of fact.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use butler_bench::Proxy;
use butler_bench::proxy::{Asked, Fate};
use butler_policies::facts::{Fact, FactKey, NamespaceFact};
use butler_policies::review::Caller;
use butler_webhook::facts::{ApiServer, Look, Metrics};
use http::StatusCode;

use crate::world::*;

fn caller(name: &str, groups: &[&str]) -> Caller<'static> {
    Caller { name: name.to_owned().into(), groups: groups.iter().map(|it| (*it).to_owned().into()).collect() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_finds_what_is_there_and_says_what_is_not() {
    let plane = platform().await;
    let namespace = plane.namespace().await.unwrap();
    plane.apply(&one_of_each(&namespace)).await.unwrap();
    allow_credentials(plane, &namespace).await;
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: credentials}}";
    plane.apply_in(&namespace, secret).await.unwrap();
    let api_server = ApiServer::new(gate(plane).await, Metrics::default());
    let nobody = Caller::default();
    let look = async |key: FactKey| api_server.look(&key, &nobody).await;

    let name = || namespace.clone();
    let own = |name: &str| at(&namespace, name);
    assert!(matches!(look(FactKey::Config).await, Fact::Config(_)));
    assert!(matches!(look(FactKey::Team(name())).await, Fact::Team(_)));
    assert!(matches!(look(FactKey::Cluster(own("orders"))).await, Fact::Cluster(_)));
    assert!(matches!(look(FactKey::Addon(own("argocd"))).await, Fact::Addon(_)));
    assert!(matches!(look(FactKey::Definition(name())).await, Fact::Definition(_)));
    assert!(matches!(look(FactKey::Provider(own("harvester"))).await, Fact::Provider(_)));
    assert!(matches!(look(FactKey::Pool(own("vlan50"))).await, Fact::Pool(_)));
    assert!(matches!(look(FactKey::Allocation(own("orders-nodes"))).await, Fact::Allocation(_)));
    assert!(matches!(look(FactKey::CreationPolicy(name())).await, Fact::CreationPolicy(_)));
    let email = format!("ana@{}.EXAMPLE.org", namespace.to_uppercase());
    assert!(matches!(look(FactKey::User(email)).await, Fact::User(_)));
    let found = look(FactKey::Namespace(name())).await;
    assert!(matches!(found, Fact::Namespace(NamespaceFact { team: None, .. })));
    assert!(matches!(look(FactKey::Secret(own("credentials"))).await, Fact::Secret));

    // What cannot be the name of anything must not become part of a path either.
    for other in ["other", "", "../teams", "a/../../x", "a?b", "%2e%2e", "Ümläut"] {
        let placed = || at(&namespace, other);
        for key in [
            FactKey::Team(other.to_owned()),
            FactKey::Cluster(placed()),
            FactKey::Addon(placed()),
            FactKey::Definition(other.to_owned()),
            FactKey::Provider(placed()),
            FactKey::Provider(at(other, "harvester")),
            FactKey::Pool(placed()),
            FactKey::Allocation(placed()),
            FactKey::CreationPolicy(other.to_owned()),
            FactKey::User(other.to_owned()),
            FactKey::Namespace(other.to_owned()),
            FactKey::Secret(placed()),
        ] {
            let fact = look(key.clone()).await;
            assert!(matches!(fact, Fact::Absent), "{key}: {fact:?}");
        }
    }
    let out_of_reach = FactKey::Secret(at("kube-system", "credentials"));
    assert!(matches!(look(out_of_reach).await, Fact::Unreadable));
}

#[tokio::test(flavor = "multi_thread")]
async fn authorization_makes_administrators() {
    let plane = platform().await;
    let role = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: administrators }
rules: [{ apiGroups: [butler.butlerlabs.dev], resources: [teams], verbs: [administer] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: administrators }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: administrators }
subjects:
  - { apiGroup: rbac.authorization.k8s.io, kind: User, name: olga@example.org }
  - { apiGroup: rbac.authorization.k8s.io, kind: Group, name: platform-team }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: updaters }
rules: [{ apiGroups: [butler.butlerlabs.dev], resources: [teams], verbs: [create, update, patch, delete] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: updaters }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: updaters }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: controller }]
";
    plane.apply(role).await.unwrap();
    let api_server = ApiServer::new(gate(plane).await, Metrics::default());
    let look = async |caller: &Caller<'_>| {
        api_server.look(&FactKey::Administrator(caller.name.to_string()), caller).await
    };
    // The authorizer learns of a new role a moment after it is stored.
    let olga = caller("olga@example.org", &[]);
    eventually("an administrator", async || matches!(look(&olga).await, Fact::Administrator)).await;
    assert!(matches!(look(&caller("ana", &["platform-team"])).await, Fact::Administrator));
    assert!(matches!(look(&caller("ana", &["other-team"])).await, Fact::Absent));
    assert!(matches!(look(&caller("controller", &[])).await, Fact::Absent), "to update is not to administer");
    let other =
        api_server.look(&FactKey::Administrator("olga@example.org".to_owned()), &caller("ana", &[])).await;
    assert!(matches!(other, Fact::Unreadable), "nobody asks for somebody else");
}

/// With the client that the programs have, which asks nothing again by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_that_is_put_off_is_asked_again() {
    let plane = platform().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let decide = move |asked: &Asked| match asked.path().rsplit('/').next() {
        Some("busy-for-a-moment") if count.fetch_add(1, Ordering::Relaxed) < 2 => {
            Fate::Answer(StatusCode::TOO_MANY_REQUESTS)
        }
        Some("always-busy") => Fate::Answer(StatusCode::SERVICE_UNAVAILABLE),
        _ => Fate::Pass,
    };
    let kubeconfig = plane.data_directory().join("put-off.kubeconfig");
    let proxy = Proxy::start(&plane.user("gate", &[]).unwrap(), kubeconfig, decide).await.unwrap();
    let client = butler_program::connect::connect(Some(proxy.kubeconfig())).await.unwrap();
    let api_server = ApiServer::new(client, Metrics::default());
    let look = async |name: &str| {
        let key = FactKey::Team(name.to_owned());
        api_server.look(&key, &Caller::default()).await
    };
    assert!(matches!(look("busy-for-a-moment").await, Fact::Absent));
    assert_eq!(asked.load(Ordering::Relaxed), 3);
    assert!(matches!(look("always-busy").await, Fact::Unreadable), "nobody can say");
}
