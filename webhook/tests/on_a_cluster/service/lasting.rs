//! The service through what happens to it: replicas go, certificates are renewed.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

use super::{MASTER, POLICIES, ask, front_proxy, identity, start, write_policy};
use crate::direct::trusted;
use crate::harness::Gate;
use crate::objects::eventually;

async fn list(gate: &Gate) -> Option<Value> {
    let said = gate.plane().kubectl(&["get", "--raw", POLICIES]).await.unwrap();
    said.status.success().then(|| serde_json::from_str(&said.stdout).unwrap())
}

/// Both replicas read the same files, each by itself, and then show the same in every byte, version and all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_the_same_whoever_answers_and_lasts_through_restarts_and_rotation() {
    let mut gate = start(2).await;
    write_policy(&gate, "three-workers");
    let (bundle, proxy) = (trusted(gate.client()).await, front_proxy(&gate));
    let shown = async |at: usize| {
        let (code, list) = ask(&gate.replicas()[at], &bundle, identity(&proxy), POLICIES, MASTER).await;
        assert_eq!(code, 200, "{list}");
        list
    };
    eventually("every replica shows the policy", async || {
        let lists = [shown(0).await.to_string(), shown(1).await.to_string()];
        lists.iter().all(|list| list.contains("validating.three-workers"))
    })
    .await;
    let first = shown(0).await;
    assert_eq!(shown(1).await, first);
    assert_eq!(list(&gate).await.as_ref(), Some(&first));

    gate.stop_replica(0);
    eventually("the other answers", async || list(&gate).await.as_ref() == Some(&first)).await;
    assert!(gate.is_service_available().await);
    gate.add_replica().await;
    gate.stop_replica(0);
    eventually("a new one shows the same", async || list(&gate).await.as_ref() == Some(&first)).await;
    assert!(gate.is_service_available().await);

    rotate(&gate).await;
    eventually("it is served with the new certificate", async || list(&gate).await.as_ref() == Some(&first))
        .await;
    assert!(gate.is_service_available().await);
}

/// A new authority, and a certificate of it.
async fn rotate(gate: &Gate) {
    let before = trusted(gate.client()).await;
    let secrets: Api<Secret> = Api::namespaced(gate.client().clone(), "butler-system");
    let without: Option<ByteString> = None;
    let patch = Patch::Merge(json!({ "data": { "ca.key": without, "tls.crt": without } }));
    secrets.patch("butler-webhook-certificates", &PatchParams::default(), &patch).await.unwrap();
    eventually("the authority is another one", async || trusted(gate.client()).await != before).await;
    let bundle = "-o=jsonpath={.spec.caBundle}";
    let name = butler_webhook::service::API_SERVICE;
    let expected = serde_json::to_value(ByteString(trusted(gate.client()).await)).unwrap();
    eventually("the APIService trusts the same", async || {
        let said = gate.plane().kubectl(&["get", "apiservice", name, bundle]).await.unwrap();
        expected == said.stdout.as_str()
    })
    .await;
}
