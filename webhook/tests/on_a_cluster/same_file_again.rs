//! A file that is sent again changes nothing, however it is sent and whatever the defaults have become.

use serde_json::{Value, json};

use crate::harness::{self, Gate};
use crate::objects::{eventually, objects_of};

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
spec:
  multiTenancy: {mode: Enforced}
  defaultProviderConfigRef: {name: harvester-a}
  defaultTeamLimits: {maxClusters: 5, maxTotalCPU: '200'}
  clusterDefaults: {workerCount: 2, workerCPU: 8, defaultAddons: [cilium, argocd]}
  defaultAddonVersions: {cilium: 1.17.0}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ProviderConfig
metadata: {name: harvester-a, namespace: butler-system}
spec: {provider: harvester, credentialsRef: {name: harvester-a}, harvester: {networkName: default/vlan40}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ProviderConfig
metadata: {name: harvester-b, namespace: butler-system}
spec: {provider: harvester, credentialsRef: {name: harvester-a}, harvester: {networkName: default/vlan41}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ClusterCreationPolicy
metadata: {name: images}
spec: {scope: {platformWide: {}}, options: {image: {mode: default, default: default/approved}}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: AddonDefinition
metadata: {name: argocd}
spec:
  displayName: Argo CD
  description: GitOps
  category: gitops
  chart: {repository: https://charts.example.org, name: argo-cd, defaultVersion: 7.7.5, availableVersions: [8.0.0]}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: AddonDefinition
metadata: {name: queue}
spec:
  displayName: Queue
  description: Messages
  category: other
  chart: {repository: https://charts.example.org, name: queue, defaultVersion: 7.7.5, availableVersions: [8.0.0]}
";

/// A team, a cluster and an addon in one file, with as little in them as possible.
const FILE: &str = "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: {name: payments}
spec: {access: {users: [{name: ana@example.org, role: admin}]}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantCluster
metadata: {name: orders, namespace: payments}
spec: {controlPlane: {replicas: 3}, workers: {machineTemplate: {memory: 32Gi}}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantAddon
metadata: {name: orders-queue, namespace: payments}
spec: {clusterRef: {name: orders}, addon: queue}
";

const OBJECTS: [(&str, &str); 3] =
    [("Team", "payments"), ("TenantCluster", "orders"), ("TenantAddon", "orders-queue")];

/// Other defaults for everything.
async fn change_defaults(gate: &Gate) {
    let config = json!({"spec": {
        "defaultProviderConfigRef": {"name": "harvester-b"}, "defaultTeamLimits": {"maxClusters": 50},
        "clusterDefaults": {"workerCount": 7, "workerCPU": 7, "kubernetesVersion": "v1.32.0", "defaultAddons": ["metallb"]},
        "controlPlaneExposure": {"mode": "Ingress", "hostname": "*.k8s.example.org"},
        "defaultAddonVersions": {"cilium": "1.18.0"}
    }});
    let policy = json!({"spec": {"options": {"image": {"default": "default/newer"}}}});
    let definition = json!({"spec": {"chart": {"defaultVersion": "8.0.0", "availableVersions": ["7.7.5"]}}});
    for (kind, name, change) in [
        ("butlerconfig", "butler", config),
        ("clustercreationpolicy", "images", policy),
        ("addondefinition", "queue", definition),
    ] {
        let change = change.to_string();
        kubectl(gate, &["patch", kind, name, "--type=merge", "-p", &change], "").await;
    }
    // A cluster that is made now gets the new ones.
    let late = FILE.split("---").nth(1).unwrap().replace("orders", "late");
    eventually("the gate has seen the new defaults", async || {
        let args = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
        let shown = gate.plane().kubectl_with_input(&args, &late).await.unwrap().stdout;
        ["harvester-b", "default/newer", "v1.32.0"].iter().all(|default| shown.contains(default))
    })
    .await;
}

async fn kubectl(gate: &Gate, args: &[&str], input: &str) -> String {
    let output = gate.plane().kubectl_with_input(args, input).await.unwrap();
    assert!(output.status.success(), "{args:?}: {}", output.stderr);
    output.stdout + &output.stderr
}

/// Version, generation and spec of every object of the file. A Team's version also counts what the gate writes into its
/// status, so it is left out.
async fn stored(gate: &Gate) -> Vec<(Option<String>, Option<i64>, Value)> {
    let mut stored = Vec::new();
    for (kind, name) in OBJECTS {
        let object = objects_of(gate.client(), kind, "payments").get(name).await.unwrap();
        stored.push((
            object.metadata.resource_version.filter(|_| kind != "Team"),
            object.metadata.generation,
            object.data["spec"].clone(),
        ));
    }
    stored
}

#[tokio::test]
async fn applying_a_file_again_from_the_client_says_unchanged() {
    let gate = harness::start().await;
    gate.plane().apply(PLATFORM).await.unwrap();
    let apply = ["apply", "-f", "-"];
    assert_eq!(
        kubectl(&gate, &apply, FILE).await,
        "team.butler.butlerlabs.dev/payments created\n\
         tenantcluster.butler.butlerlabs.dev/orders created\n\
         tenantaddon.butler.butlerlabs.dev/orders-queue created\n"
    );
    let before = stored(&gate).await;
    let unchanged = "team.butler.butlerlabs.dev/payments unchanged\n\
                     tenantcluster.butler.butlerlabs.dev/orders unchanged\n\
                     tenantaddon.butler.butlerlabs.dev/orders-queue unchanged\n";
    assert_eq!(kubectl(&gate, &apply, FILE).await, unchanged);
    assert_eq!(stored(&gate).await, before);
    change_defaults(&gate).await;
    assert_eq!(kubectl(&gate, &apply, FILE).await, unchanged);
    assert_eq!(stored(&gate).await, before);

    // Something that is taken out of the file was written by the user, and is kept all the same.
    let shorter = FILE.replace(
        "spec: {controlPlane: {replicas: 3}, workers: {machineTemplate: {memory: 32Gi}}}",
        "spec: {timeServers: [ntp.example.org]}",
    );
    let said = kubectl(&gate, &apply, &shorter).await;
    assert!(said.contains("tenantcluster.butler.butlerlabs.dev/orders configured"), "{said}");
    let (_, _, spec) = &stored(&gate).await[1];
    assert_eq!(spec["workers"], before[1].2["workers"]);
    assert_eq!(spec["kubernetesVersion"], before[1].2["kubernetesVersion"]);
    assert_eq!(spec["timeServers"], json!(["ntp.example.org"]));
}

#[tokio::test]
async fn applying_a_file_again_on_the_server_stores_nothing() {
    let gate = harness::start().await;
    gate.plane().apply(PLATFORM).await.unwrap();
    let apply = ["apply", "--server-side", "-f", "-"];
    kubectl(&gate, &apply, FILE).await;
    let before = stored(&gate).await;
    kubectl(&gate, &apply, FILE).await;
    assert_eq!(stored(&gate).await, before);
    change_defaults(&gate).await;
    kubectl(&gate, &apply, FILE).await;
    assert_eq!(stored(&gate).await, before);

    let shorter = FILE.replace(", workers: {machineTemplate: {memory: 32Gi}}", "");
    kubectl(&gate, &apply, &shorter).await;
    assert_eq!(stored(&gate).await[1].2, before[1].2);
}

#[tokio::test]
async fn replacing_and_editing_keep_what_the_file_leaves_out() {
    let gate = harness::start().await;
    gate.plane().apply(PLATFORM).await.unwrap();
    kubectl(&gate, &["create", "-f", "-"], FILE).await;
    let before = stored(&gate).await;
    change_defaults(&gate).await;
    let filled_in = |spec: &Value| {
        json!([
            spec["teamRef"],
            spec["providerConfigRef"],
            spec["kubernetesVersion"],
            spec["workers"],
            spec["networking"],
            spec["controlPlane"],
            spec["infrastructureOverride"],
            spec["version"]
        ])
    };

    kubectl(&gate, &["replace", "-f", "-"], FILE).await;
    for ((_, _, after), (_, _, before)) in stored(&gate).await.iter().zip(&before).skip(1) {
        assert_eq!(filled_in(after), filled_in(before));
    }
    // What `kubectl edit` sends when everything that was filled in is deleted in the editor.
    let edited = json!({"spec": {
        "teamRef": null, "providerConfigRef": null, "kubernetesVersion": null, "infrastructureOverride": null,
        "workers": {"replicas": null, "machineTemplate": {"cpu": null}}, "timeServers": ["ntp.example.org"]
    }});
    let edited = edited.to_string();
    let patch = ["patch", "tenantcluster", "orders", "-n", "payments", "--type=merge", "-p", &edited];
    kubectl(&gate, &patch, "").await;
    let (_, _, after) = &stored(&gate).await[1];
    assert_eq!(filled_in(after), filled_in(&before[1].2));
}
