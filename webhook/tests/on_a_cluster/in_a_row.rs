//! Requests that follow each other at once: what the first stored, the second must not overlook, although the watches may
//! not have told of it yet.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use crate::harness;
use crate::objects::{eventually, objects_of};

/// Wrong answers came about once in twenty before; this often, one is all but certain to show.
const TIMES: usize = 60;

const PLATFORM: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: payments, labels: {app.kubernetes.io/managed-by: butler, butler.butlerlabs.dev/team: payments}}
---
apiVersion: v1
kind: Secret
metadata: {name: harvester-a, namespace: butler-system}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ButlerConfig
metadata: {name: butler}
spec: {multiTenancy: {mode: Enforced}, defaultProviderConfigRef: {name: harvester-a}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ProviderConfig
metadata: {name: harvester-a, namespace: butler-system}
spec: {provider: harvester, credentialsRef: {name: harvester-a}, harvester: {networkName: default/vlan40}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: {name: payments}
spec:
  access: {users: [{name: ana@example.org, role: admin}]}
  environments: [{name: prod}]
";

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stored_a_moment_ago_is_not_overlooked() {
    let gate = harness::start().await;
    gate.plane().apply(PLATFORM).await.unwrap();
    let client = gate.client();
    let clusters = objects_of(client, "TenantCluster", "payments");
    let teams = objects_of(client, "Team", "");
    let policies = objects_of(client, "ClusterCreationPolicy", "");

    for round in 0..TIMES {
        eventually("a cluster in its environment", async || create(&clusters, &cluster(round)).await).await;
        let without = Patch::Merge(json!({"spec": {"environments": []}}));
        let removed = teams.patch("payments", &PatchParams::default(), &without).await;
        assert!(is_denied(&removed), "round {round}: an environment with a cluster went: {removed:?}");
        let deleted = teams.delete("payments", &DeleteParams::default()).await;
        assert!(is_denied(&deleted), "round {round}: a team with a cluster went");
        clusters.delete(&format!("orders-{round}"), &DeleteParams::default()).await.unwrap();

        let (first, second) = (policy("first"), policy("second"));
        eventually("the first policy", async || create(&policies, &first).await).await;
        let both = policies.create(&PostParams::default(), &second).await;
        assert!(is_denied(&both), "round {round}: two policies that contradict each other");
        policies.delete("first", &DeleteParams::default()).await.unwrap();
    }
    assert_that_it_can_go(client).await;
}

/// The other way round, a denial is not kept by what is gone: nothing is in use any more.
async fn assert_that_it_can_go(client: &Client) {
    let teams = objects_of(client, "Team", "");
    eventually("the team goes", async || teams.delete("payments", &DeleteParams::default()).await.is_ok())
        .await;
}

async fn create(api: &Api<DynamicObject>, object: &DynamicObject) -> bool {
    api.create(&PostParams::default(), object).await.is_ok()
}

fn is_denied<T>(answer: &Result<T, kube::Error>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 403 || status.code == 422)
}

fn cluster(round: usize) -> DynamicObject {
    let object = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {
            "name": format!("orders-{round}"), "labels": {"butler.butlerlabs.dev/environment": "prod"}
        },
        "spec": {"kubernetesVersion": "v1.31.4", "workers": {"replicas": 1}},
    });
    serde_json::from_value(object).unwrap()
}

fn policy(name: &str) -> DynamicObject {
    let object = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ClusterCreationPolicy",
        "metadata": {"name": name},
        "spec": {"scope": {"platformWide": {}}, "options": {"network": {"mode": "pin", "values": [name]}}},
    });
    serde_json::from_value(object).unwrap()
}
