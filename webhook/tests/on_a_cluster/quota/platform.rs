//! The platform that quotas are tried on.

use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::harness::Gate;
use crate::objects::{objects_of, read};

const PLATFORM: &str = "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ButlerConfig
metadata: { name: butler }
spec: { multiTenancy: { mode: Optional }, defaultProviderConfigRef: { name: harvester-prod } }
---
apiVersion: v1
kind: Namespace
metadata: { name: butler-tenants }
";

/// Everything that clusters need, and no limits but those of the provider.
pub(crate) async fn prepare(gate: &Gate) {
    gate.plane().apply(PLATFORM).await.unwrap();
    for sample in ["provider-config", "addon-definitions"] {
        gate.plane().apply(&read(&format!("manifests/samples/platform/{sample}.yaml"))).await.unwrap();
    }
}

/// A Team with its namespace, as a file has them.
pub(crate) fn team(name: &str, spec: Value) -> String {
    let labels = json!({ "app.kubernetes.io/managed-by": "butler", "butler.butlerlabs.dev/team": name });
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } });
    let team = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "metadata": { "name": name }, "spec": spec });
    format!("{namespace}\n---\n{team}")
}

/// Makes a team.
pub(crate) async fn make_team(gate: &Gate, name: &str, spec: Value) {
    let params = PostParams::default();
    let labels = json!({ "app.kubernetes.io/managed-by": "butler", "butler.butlerlabs.dev/team": name });
    let namespace = json!({ "metadata": { "name": name, "labels": labels } });
    let namespaces: Api<Namespace> = Api::all(gate.client().clone());
    namespaces.create(&params, &serde_json::from_value(namespace).unwrap()).await.unwrap();
    let team = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "metadata": { "name": name }, "spec": spec });
    objects_of(gate.client(), "Team", "")
        .create(&params, &serde_json::from_value(team).unwrap())
        .await
        .unwrap();
}

/// A cluster of machines with 2 cores, 16Gi and 20Gi.
pub(crate) fn named(team: &str, name: &str, replicas: i32) -> Value {
    let template = json!({ "cpu": 2, "memory": "16Gi", "diskSize": "20Gi" });
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": { "name": name, "namespace": team },
        "spec": { "kubernetesVersion": "v1.31.4", "teamRef": { "name": team },
            "workers": { "replicas": replicas, "machineTemplate": template } },
    })
}

/// The same as a file has it.
pub(crate) fn cluster(team: &str, name: &str, replicas: i32) -> String {
    named(team, name, replicas).to_string()
}

pub(crate) fn clusters_of(client: &Client, team: &str) -> Api<DynamicObject> {
    objects_of(client, "TenantCluster", team)
}
