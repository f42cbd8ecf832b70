//! Quotas on a real API server: what is told, what is lost and comes back, and what a storm leaves.

mod denier;
mod platform;
mod storm;
mod usage;

use std::time::Duration;

use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use self::platform::{cluster, clusters_of, named, prepare, team};
use crate::harness::{Gate, Setup};
use crate::objects::{eventually, objects_of};

async fn created(gate: &Gate, team: &str, object: &Value) -> Result<(), String> {
    let object = serde_json::from_value(object.clone()).unwrap();
    let created = clusters_of(gate.client(), team).create(&PostParams::default(), &object).await;
    created.map(drop).map_err(|error| match error {
        kube::Error::Api(status) => status.message,
        error => error.to_string(),
    })
}

async fn changed(gate: &Gate, team: &str, name: &str, change: Value) -> Result<(), String> {
    let (api, params) = (clusters_of(gate.client(), team), PatchParams::default());
    let changed = api.patch(name, &params, &Patch::Merge(change)).await;
    changed.map(drop).map_err(|error| error.to_string())
}

/// The ledger of a team, once it is settled.
async fn settled(gate: &Gate, team: &str) -> Value {
    let ledgers = objects_of(gate.client(), "QuotaLedger", "butler-system");
    eventually("the ledger is settled", async || {
        ledgers.get(team).await.is_ok_and(|ledger| ledger.data["spec"].get("open").is_none())
    })
    .await;
    ledgers.get(team).await.unwrap().data["spec"].take()
}

/// A Team and its clusters from one file, a limit that is reached in every way there is, and what people are told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_holds_however_it_is_approached() {
    let gate = Gate::start(Setup { request_timeout: Some(10), ..Setup::default() }).await;
    prepare(&gate).await;
    let limits =
        json!({ "maxClusters": 2, "maxTotalNodes": 5, "maxMemory": "96Gi", "maxNodesPerCluster": 4 });
    let file = format!(
        "{}\n---\n{}",
        team("limited", json!({ "resourceLimits": limits })),
        cluster("limited", "one", 3)
    );
    gate.plane().apply(&file).await.unwrap();

    let denied = created(&gate, "limited", &named("limited", "two", 3)).await.unwrap_err();
    assert!(
        denied.ends_with(
            "spec.workers.replicas: the Team `limited` may have 5 nodes; 3 used by 1 cluster, this adds 3, 2 would fit; the \
             platform's administrators can raise `spec.resourceLimits.maxTotalNodes` of the Team `limited`"
        ),
        "{denied}"
    );
    // Nobody was in a hurry, so nothing is reserved for what was denied.
    assert_eq!(created(&gate, "limited", &named("limited", "two", 2)).await, Ok(()));
    let all = created(&gate, "limited", &named("limited", "three", 5)).await.unwrap_err();
    for part in ["2 clusters", "5 nodes;", "96Gi memory", "a cluster of the Team `limited` may have 4 nodes"]
    {
        assert!(all.contains(part), "{all}");
    }
    // By an edit, and by the subresource that autoscalers use.
    let grow = json!({ "spec": { "workers": { "replicas": 4 } } });
    assert!(changed(&gate, "limited", "one", grow).await.unwrap_err().contains("may have 5 nodes"));
    let scaled = gate
        .plane()
        .kubectl(&["scale", "tenantcluster", "one", "-n", "limited", "--replicas=4"])
        .await
        .unwrap();
    assert!(scaled.stderr.contains("the Team `limited` may have 5 nodes"), "{}", scaled.stderr);
    let fatter = json!({ "spec": { "workers": { "machineTemplate": { "memory": "32Gi" } } } });
    assert!(changed(&gate, "limited", "one", fatter).await.unwrap_err().contains("may have 96Gi memory"));
    // What one gives back, the other may have, at once.
    let shrink = json!({ "spec": { "workers": { "replicas": 2 } } });
    assert_eq!(changed(&gate, "limited", "one", shrink).await, Ok(()));
    let scaled = gate
        .plane()
        .kubectl(&["scale", "tenantcluster", "two", "-n", "limited", "--replicas=3"])
        .await
        .unwrap();
    assert!(scaled.status.success(), "{}", scaled.stderr);
    clusters_of(gate.client(), "limited").delete("one", &DeleteParams::default()).await.unwrap();
    assert_eq!(created(&gate, "limited", &named("limited", "three", 2)).await, Ok(()));

    // A dry run is told the same and takes nothing.
    let (dry_run, object) = (["create", "--dry-run=server", "-f", "-"], cluster("limited", "four", 1));
    let dry = gate.plane().kubectl_with_input(&dry_run, &object).await.unwrap();
    assert!(
        dry.stderr.contains("the Team `limited` may have 2 clusters; 2 used by 2 clusters"),
        "{}",
        dry.stderr
    );

    // A lower limit freezes nothing.
    let lower = json!({ "spec": { "resourceLimits": { "maxTotalNodes": 1, "maxClusters": 0 } } });
    let teams = objects_of(gate.client(), "Team", "");
    teams.patch("limited", &PatchParams::default(), &Patch::Merge(lower)).await.unwrap();
    let label = json!({ "metadata": { "annotations": { "butler.butlerlabs.dev/description": "ours" } } });
    assert_eq!(changed(&gate, "limited", "two", label).await, Ok(()));
    let shrink = json!({ "spec": { "workers": { "replicas": 2 } } });
    assert_eq!(changed(&gate, "limited", "two", shrink).await, Ok(()));

    let ledger = settled(&gate, "limited").await;
    assert_eq!(ledger["held"].as_array().map(Vec::len), Some(2), "{ledger}");
    // What it uses is told by the reconciler; that it has a ledger has to be told before there is one.
    assert_eq!(teams.get("limited").await.unwrap().data["status"], json!({ "quotaLedger": "limited" }));
}

/// A ledger that is deleted, or edited, is counted anew; until then nothing grows, and everything else goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_is_lost_or_edited_comes_back() {
    let gate = Gate::start(Setup { request_timeout: Some(4), ..Setup::default() }).await;
    prepare(&gate).await;
    let limits = json!({ "resourceLimits": { "maxTotalNodes": 4 } });
    let file = format!("{}\n---\n{}", team("lossy", limits), cluster("lossy", "one", 2));
    gate.plane().apply(&file).await.unwrap();
    settled(&gate, "lossy").await;
    let ledgers = objects_of(gate.client(), "QuotaLedger", "butler-system");
    let edit = json!({ "spec": { "held": [] } });
    for loss in ["deleted", "edited"] {
        match loss {
            "deleted" => drop(ledgers.delete("lossy", &DeleteParams::default()).await.unwrap()),
            _ => drop(ledgers.patch("lossy", &PatchParams::default(), &Patch::Merge(&edit)).await.unwrap()),
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let denied = created(&gate, "lossy", &named("lossy", "two", 1)).await.unwrap_err();
        assert!(denied.contains("its QuotaLedger was deleted or edited"), "{loss}: {denied}");
        let shrink = json!({ "spec": { "workers": { "replicas": 1 } } });
        assert_eq!(changed(&gate, "lossy", "one", shrink).await, Ok(()), "{loss}");
        let grow = json!({ "spec": { "workers": { "replicas": 2 } } });
        eventually("the ledger is back", async || changed(&gate, "lossy", "one", grow.clone()).await.is_ok())
            .await;
        let denied = created(&gate, "lossy", &named("lossy", "two", 3)).await.unwrap_err();
        assert!(denied.contains("2 used by 1 cluster"), "{loss}: {denied}");
        settled(&gate, "lossy").await;
    }
    // What was made while the gate was away counts, and is not granted.
    let registrations: Api<k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration> =
        Api::all(gate.client().clone());
    let registered = registrations.get("butler-webhook").await.unwrap();
    registrations.delete("butler-webhook", &DeleteParams::default()).await.unwrap();
    eventually("the gate is away", async || {
        created(&gate, "lossy", &named("lossy", "slipped", 9)).await.is_ok()
    })
    .await;
    eventually("it is found", async || {
        let ledger = ledgers.get("lossy").await.unwrap();
        ledger.data["spec"]["held"].to_string().contains("past-the-gate")
    })
    .await;
    drop(registered);
}
