//! Clusters that were admitted once, and then a platform that turned against them: nothing is frozen.

use butler_bench::ControlPlane;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::harness;
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
spec: {multiTenancy: {mode: Enforced}, defaultProviderConfigRef: {name: harvester-a}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ProviderConfig
metadata: {name: harvester-a, namespace: butler-system}
spec: {provider: harvester, credentialsRef: {name: harvester-a}, harvester: {networkName: default/vlan40}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: AddonDefinition
metadata: {name: argocd}
spec:
  displayName: Argo CD
  description: GitOps
  category: gitops
  chart: {repository: https://charts.example.org, name: argo-cd, defaultVersion: 7.7.5}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: {name: payments}
spec: {access: {users: [{name: ana@example.org, role: admin}]}}
";

/// Every field that a default may have filled in is filled in; the finalizer is what the engine puts there.
fn cluster(name: &str) -> String {
    format!(
        "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantCluster
metadata: {{name: {name}, namespace: payments, finalizers: [butler.butlerlabs.dev/tenantcluster]}}
spec: {{addons: {{cni: {{version: 1.17.0}}, storage: {{provider: longhorn}}}}}}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantAddon
metadata: {{name: {name}-argocd, namespace: payments, finalizers: [butler.butlerlabs.dev/tenantaddon]}}
spec: {{clusterRef: {{name: {name}}}, addon: argocd}}
"
    )
}

/// Makes the platform one on which none of the clusters could be made, as far as its administrators can.
async fn turn(plane: &ControlPlane) {
    let hostile = [
        (
            "butlerconfig",
            "butler",
            "",
            json!({"spec": {
                "multiTenancy": {"mode": "Disabled"}, "supportedKubernetes": {"lowest": "v1.33"},
                "chartSources": {"allowedRepositories": []}, "defaultProviderConfigRef": null
            }}),
        ),
        (
            "team",
            "payments",
            "",
            json!({"spec": {
                "environments": [{"name": "prod"}],
                "resourceLimits": {
                    "maxClusters": 0, "maxNodesPerCluster": 0, "maxTotalNodes": 0, "maxCPUCores": "0",
                    "allowedKubernetesVersions": ["v1.33.0"], "allowedProviders": ["none"], "deniedAddons": ["longhorn", "argocd"]
                }
            }}),
        ),
        (
            "providerconfig",
            "harvester-a",
            "butler-system",
            json!({"spec": {
                "credentialsRef": {"name": "lost"}, "scope": {"type": "team", "teamRef": {"name": "payments"}}
            }}),
        ),
        (
            "addondefinition",
            "argocd",
            "",
            json!({"spec": {
                "platform": true, "chart": {"defaultVersion": "9.0.0"}, "valuesSchema": {"type": "object", "required": ["domain"]}
            }}),
        ),
    ];
    for (kind, name, namespace, change) in hostile {
        let (change, namespace) = (change.to_string(), format!("--namespace={namespace}"));
        let patch = ["patch", kind, name, &namespace, "--type=merge", "-p", &change];
        plane.kubectl(&patch).await.unwrap().success().unwrap();
    }
    let policy = "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ClusterCreationPolicy
metadata: {name: images}
spec: {scope: {platformWide: {}}, options: {image: {mode: pin, values: [default/other]}}}
";
    plane.apply(policy).await.unwrap();
}

async fn stored(gate: &harness::Gate, kind: &str, name: &str) -> DynamicObject {
    objects_of(gate.client(), kind, "payments").get(name).await.unwrap()
}

#[tokio::test]
async fn a_cluster_that_was_admitted_once_can_be_changed_and_deleted_whatever_became_of_the_platform() {
    let gate = harness::start().await;
    let plane = gate.plane();
    plane.apply(PLATFORM).await.unwrap();
    for name in ["orders", "ledger"] {
        plane.apply(&cluster(name)).await.unwrap();
    }
    turn(plane).await;
    let new = cluster("late").replace("finalizers: [butler.butlerlabs.dev/tenantcluster]", "");
    eventually("the gate has seen the new platform", async || plane.apply(&new).await.is_err()).await;

    // Its labels, its size, its version of nothing in particular, and what the engine writes about it.
    let kubectl = async |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--namespace=payments"]).collect();
        plane.kubectl(&args).await.unwrap().success().unwrap()
    };
    kubectl(&["label", "tenantcluster", "orders", "example.org/owner=them"]).await;
    kubectl(&["annotate", "tenantcluster", "orders", "butler.butlerlabs.dev/description=ours"]).await;
    kubectl(&["scale", "tenantcluster", "orders", "--replicas=2"]).await;
    kubectl(&[
        "patch",
        "tenantcluster",
        "orders",
        "--type=merge",
        "-p",
        r#"{"spec":{"timeServers":["ntp.example.org"]}}"#,
    ])
    .await;
    kubectl(&["label", "tenantaddon", "orders-argocd", "example.org/owner=them"]).await;
    kubectl(&["annotate", "tenantaddon", "orders-argocd", "butler.butlerlabs.dev/description=ours"]).await;
    for (kind, name) in [("TenantCluster", "orders"), ("TenantAddon", "orders-argocd")] {
        let status = Patch::Merge(json!({"status": {"phase": "Failed"}}));
        let api = objects_of(gate.client(), kind, "payments");
        api.patch_status(name, &PatchParams::default(), &status).await.unwrap();
    }
    let kept = stored(&gate, "TenantCluster", "orders").await;
    assert_eq!(kept.data["spec"]["workers"]["replicas"], 2, "{kept:?}");
    assert_eq!(kept.data["spec"]["kubernetesVersion"], "v1.31.4", "{kept:?}");

    // A worse change is still refused.
    let worse = [
        "patch",
        "tenantcluster",
        "orders",
        "--namespace=payments",
        "--type=merge",
        "-p",
        r#"{"spec":{"kubernetesVersion":"v1.32.0"}}"#,
    ];
    assert!(!plane.kubectl(&worse).await.unwrap().status.success());

    // Deletion, then the finalizers, as the engine does it; once with the cluster before its addon and once after it.
    for (first, second) in [
        (("TenantCluster", "orders"), ("TenantAddon", "orders-argocd")),
        (("TenantAddon", "ledger-argocd"), ("TenantCluster", "ledger")),
    ] {
        for (kind, name) in [first, second] {
            let api = objects_of(gate.client(), kind, "payments");
            api.delete(name, &DeleteParams::default()).await.unwrap();
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            api.patch(name, &PatchParams::default(), &free).await.unwrap();
            eventually("it is gone", async || api.get_opt(name).await.unwrap().is_none()).await;
        }
    }
}

/// Settings that were stored before there was a gate, or by one that knew less.
#[tokio::test]
async fn settings_and_teams_that_make_no_sense_can_be_repaired_and_deleted() {
    let gate = harness::start().await;
    let plane = gate.plane();
    // The nonsense comes in while nobody is asked.
    let kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations";
    let registered = plane.kubectl(&["get", kinds, "-o", "json"]).await.unwrap().success().unwrap();
    plane.kubectl(&["delete", kinds, "--all"]).await.unwrap().success().unwrap();
    let nonsense = "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ButlerConfig
metadata: {name: butler}
spec:
  multiTenancy: {mode: Enforced}
  defaultNamespace: kube-system
  controlPlaneExposure: {mode: Gateway}
  supportedKubernetes: {lowest: v1.99, highest: sometimes}
  clusterDefaults: {kubernetesVersion: latest}
  defaultTeamLimits: {maxTotalCPU: '-1'}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: {name: kube-public}
spec:
  resourceLimits: {maxMemory: 1Gi, maxTotalMemory: 2Gi, maxStorage: -1Gi, allowedKubernetesVersions: [never]}
  environments: [{name: dev, access: {users: [{name: stranger@example.org}]}}]
  clusterDefaults: {kubernetesVersion: latest}
";
    eventually("nobody is asked", async || plane.apply(nonsense).await.is_ok()).await;
    let mut registered: Value = serde_json::from_str(&registered).unwrap();
    for registration in registered["items"].as_array_mut().unwrap() {
        let metadata = registration["metadata"].as_object_mut().unwrap();
        metadata.retain(|field, _| field == "name" || field == "labels");
    }
    let put_back = plane.kubectl_with_input(&["create", "-f", "-"], &registered.to_string()).await.unwrap();
    put_back.success().unwrap();
    let probe = "apiVersion: butler.butlerlabs.dev/v1alpha1\nkind: ButlerConfig\nmetadata: {name: probe}";
    let probe = async || {
        let tried =
            plane.kubectl_with_input(&["create", "--dry-run=server", "-f", "-"], probe).await.unwrap();
        !tried.status.success()
    };
    eventually("the gate is asked again", probe).await;
    let patched = async |kind: &str, name: &str, change: Value| {
        let change = change.to_string();
        plane.kubectl(&["patch", kind, name, "--type=merge", "-p", &change]).await.unwrap()
    };
    // One thing at a time, then all of it; each makes something better and nothing worse.
    for change in [
        json!({"metadata": {"annotations": {"butler.butlerlabs.dev/description": "to be repaired"}}}),
        json!({"spec": {"defaultNamespace": "tenants"}}),
        json!({"spec": {"controlPlaneExposure": {"mode": "LoadBalancer"}}}),
        json!({"spec": {"supportedKubernetes": null, "clusterDefaults": null, "defaultTeamLimits": null}}),
    ] {
        patched("butlerconfig", "butler", change).await.success().unwrap();
    }
    for change in [
        json!({"metadata": {"annotations": {"butler.butlerlabs.dev/description": "to be repaired"}}}),
        json!({"spec": {"resourceLimits": {"maxTotalMemory": null, "maxStorage": "1Gi"}}}),
        json!({"spec": {"environments": null, "clusterDefaults": null}}),
    ] {
        patched("team", "kube-public", change).await.success().unwrap();
    }
    let worse = patched("butlerconfig", "butler", json!({"spec": {"defaultNamespace": "kube-system"}})).await;
    assert!(!worse.status.success(), "{worse:?}");
    for (kind, name) in [("team", "kube-public"), ("butlerconfig", "butler")] {
        plane.kubectl(&["delete", kind, name]).await.unwrap().success().unwrap();
    }
}
