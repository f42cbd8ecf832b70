//! Replicas come and go; as long as one is up, nobody notices.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::harness::{Gate, Setup};
use crate::objects::{eventually, objects_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_replica_is_enough_and_without_any_the_gate_is_shut_until_one_is_back() {
    let setup = Setup { replicas: 3, caller_proof: true, ..Setup::default() };
    let mut gate = Gate::start(setup).await;
    assert_eq!(create(&gate, "with-three").await, Ok(()));
    gate.kill_replica(0);
    // A call that was on its way to that replica may be lost with it; the next one is not.
    eventually("the API server has found out", async || create(&gate, "with-two").await.is_ok()).await;
    gate.stop_replica(0);
    assert_eq!(create(&gate, "with-one").await, Ok(()));
    let metrics = gate.replicas()[0].metrics().await;
    assert!(metrics.contains("butler_admission_reviews_total"), "{metrics}");

    gate.kill_replica(0);
    let refused = create(&gate, "with-none").await.unwrap_err();
    assert!(refused.contains("failed calling webhook \"mteam.kb.io\""), "{refused}");
    let teams = objects_of(gate.client(), "Team", "");
    let finalizers = Patch::Merge(json!({ "metadata": { "finalizers": ["example.com/hold"] } }));
    teams.patch("with-one", &PatchParams::default(), &finalizers).await.unwrap();

    gate.add_replica().await;
    eventually("the gate is open again", async || create(&gate, "with-one-again").await.is_ok()).await;
}

async fn create(gate: &Gate, name: &str) -> Result<(), String> {
    let team = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team",
        "metadata": { "name": name }, "spec": {} });
    let team: DynamicObject = serde_json::from_value(team).unwrap();
    let created = objects_of(gate.client(), "Team", "").create(&PostParams::default(), &team).await;
    created.map(drop).map_err(|error| error.to_string())
}
