use serde_json::{Value, json};

use crate::facts::Facts;
use crate::fixtures::*;
use crate::review::Review;
use crate::{FactKey, complete};

fn patch(operation: &str, object: Value, old: Value, facts: &Facts) -> Value {
    let body = review_body(operation, "tenantclusters", &object, &old, "ana@example.org");
    let review = Review::parse(body.as_bytes()).expect("review");
    let bytes = complete(&review, facts).patch.to_bytes();
    serde_json::from_slice(&bytes).expect("patch")
}

fn bare(tweak: Value) -> Value {
    let base = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {"name": "new", "namespace": "payments"}
    });
    merged(base, tweak)
}

/// The value that the patch writes at a dotted path.
fn written(patch: &Value, path: &str) -> Value {
    let mut object = json!({});
    for operation in patch.as_array().expect("operations") {
        let pointer = operation["path"].as_str().expect("path").trim_start_matches('/').to_owned();
        let nested = pointer
            .rsplit('/')
            .fold(operation["value"].clone(), |value, part| json!({part.replace("~1", "/"): value}));
        object = merged(object, nested);
    }
    path.split('.').fold(object, |value, part| value[part].clone())
}

#[test]
fn an_empty_cluster_is_completed() {
    let facts = facts_with(&[config(json!({"spec": {"defaultProviderConfigRef": {"name": "harvester-a"}}}))]);
    let patch = patch("CREATE", bare(json!({})), Value::Null, &facts);
    assert_eq!(
        patch,
        json!([
            {"op": "add", "path": "/spec", "value": {
                "teamRef": {"name": "payments"},
                "providerConfigRef": {"name": "harvester-a", "namespace": "butler-system"},
                "workers": {
                    "machineTemplate": {"os": {"type": "talos", "version": "v1.9.3"}, "cpu": 4, "memory": "16Gi", "diskSize": "100Gi"},
                    "replicas": 3
                },
                "kubernetesVersion": "v1.31.4",
                "networking": {"podCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/12"},
                "controlPlane": {"replicas": 1, "serviceType": "LoadBalancer"}
            }},
            {"op": "add", "path": "/metadata/annotations", "value": {
                "butler.butlerlabs.dev/creator-email": "ana@example.org",
                "butler.butlerlabs.dev/owner": "ana@example.org",
                "butler.butlerlabs.dev/filled-in": "spec.teamRef.name,spec.providerConfigRef.name,\
                    spec.providerConfigRef.namespace,spec.workers.machineTemplate.os.type,\
                    spec.workers.machineTemplate.os.version,spec.kubernetesVersion,spec.workers.replicas,\
                    spec.workers.machineTemplate.cpu,spec.workers.machineTemplate.memory,\
                    spec.workers.machineTemplate.diskSize,spec.networking.podCIDR,spec.networking.serviceCIDR,\
                    spec.controlPlane.replicas,spec.controlPlane.serviceType"
            }}
        ])
    );
}

#[test]
fn the_nearest_default_counts() {
    let facts = facts_with(&[
        config(
            json!({"spec": {"clusterDefaults": {"workerCount": 9, "workerCPU": 9, "workerMemoryGi": 9, "workerDiskGi": 90}}}),
        ),
        team(json!({"spec": {
            "clusterDefaults": {"kubernetesVersion": "v1.30.2", "workerCount": 5, "workerCPU": 5},
            "resourceLimits": {"defaultMemoryPerNode": "7Gi"},
            "environments": [{"name": "dev", "clusterDefaults": {"workerCount": 1}}]
        }})),
    ]);
    let labelled = bare(json!({"metadata": {"labels": {"butler.butlerlabs.dev/environment": "dev"}}}));
    let patch = patch("CREATE", labelled, Value::Null, &facts);
    assert_eq!(written(&patch, "spec.kubernetesVersion"), "v1.30.2");
    assert_eq!(written(&patch, "spec.workers.replicas"), 1);
    assert_eq!(written(&patch, "spec.workers.machineTemplate.cpu"), 5);
    assert_eq!(written(&patch, "spec.workers.machineTemplate.memory"), "7Gi");
    assert_eq!(written(&patch, "spec.workers.machineTemplate.diskSize"), "90Gi");
}

#[test]
fn a_default_that_cannot_be_used_is_passed_over() {
    let team = team(json!({"spec": {
        "clusterDefaults": {"kubernetesVersion": "v1.99.0"}, "resourceLimits": {"allowedKubernetesVersions": ["v1.29.0", "v1.30.1"]}
    }}));
    let patch = patch("CREATE", bare(json!({})), Value::Null, &facts_with(&[team]));
    assert_eq!(written(&patch, "spec.kubernetesVersion"), "v1.30.1");
    let rocky = bare(json!({"spec": {"workers": {"machineTemplate": {"os": {"type": "rocky"}}}}}));
    let patch = self::patch("CREATE", rocky, Value::Null, &facts());
    assert_eq!(written(&patch, "spec.kubernetesVersion"), "v1.30.2");
    assert_eq!(written(&patch, "spec.workers.machineTemplate.os.version"), "9.5");
}

#[test]
fn on_an_update_a_field_that_is_left_out_keeps_its_old_value() {
    let old = cluster_json(json!({"spec": {
        "kubernetesVersion": "v1.30.2", "workers": {"replicas": 7},
        "controlPlane": {"replicas": 3}, "networking": {"podCIDR": "10.64.0.0/16"}
    }}));
    let new = cluster_json(
        json!({"spec": {"kubernetesVersion": null, "workers": {"replicas": null, "machineTemplate": null}}}),
    );
    let patch = patch("UPDATE", new, old, &facts());
    assert_eq!(written(&patch, "spec.kubernetesVersion"), "v1.30.2");
    assert_eq!(written(&patch, "spec.workers.replicas"), 7);
    assert_eq!(written(&patch, "spec.workers.machineTemplate.memory"), "16Gi");
    assert_eq!(written(&patch, "spec.workers.machineTemplate.os.type"), "talos");
    assert_eq!(written(&patch, "spec.controlPlane.replicas"), 3);
    assert_eq!(written(&patch, "spec.networking.podCIDR"), "10.64.0.0/16");
}

#[test]
fn addons_come_from_the_defaults_and_versions_from_platform_and_catalogue() {
    let facts = facts_with(&[
        config(json!({"spec": {"defaultAddonVersions": {"cilium": "1.17.0"}}})),
        team(
            json!({"spec": {"clusterDefaults": {"defaultAddons": ["argocd", "velero", "longhorn", "unheard-of"]}}}),
        ),
        definition(json!({"metadata": {"name": "velero"}})),
    ]);
    let object = bare(json!({"spec": {"addons": {"cni": {}, "storage": {"provider": "linstor"}}}}));
    let patch = patch("CREATE", object, Value::Null, &facts);
    assert_eq!(
        written(&patch, "spec.addons"),
        json!({
            "cni": {"version": "1.17.0"}, "gitops": {"provider": "argocd", "version": "7.7.5"}
        })
    );
    let annotations = written(&patch, "metadata.annotations");
    assert_eq!(annotations["butler.butlerlabs.dev/default-addons"], "velero");
}

#[test]
fn policies_give_defaults_and_pins() {
    let facts = facts_with(&[creation_policy(json!({"spec": {"options": {
        "image": {"values": ["default/approved"]}, "network": {"mode": "default", "default": "default/vlan7"}
    }}}))]);
    let object = bare(json!({"spec": {"providerConfigRef": {"name": "harvester-a"}}}));
    let patch = patch("CREATE", object, Value::Null, &facts);
    assert_eq!(
        written(&patch, "spec.infrastructureOverride"),
        json!({"harvester": {"imageName": "default/approved", "networkName": "default/vlan7"}})
    );
}

#[test]
fn what_was_looked_for_and_not_found_is_said() {
    let body = review_body(
        "CREATE",
        "tenantclusters",
        &bare(json!({"metadata": {"namespace": "late"}})),
        &Value::Null,
        "ana",
    );
    let review = Review::parse(body.as_bytes()).expect("review");
    assert_eq!(complete(&review, &facts()).missing, [FactKey::Team("late".into())]);
}

#[test]
fn a_change_of_finalizers_alone_fills_nothing() {
    let old = bare(json!({}));
    let new = bare(json!({"metadata": {"finalizers": ["butler.butlerlabs.dev/tenantcluster"]}}));
    assert_eq!(patch("UPDATE", new, old, &facts()), json!([]));
}

#[test]
fn what_a_policy_once_gave_stays_when_the_provider_is_gone() {
    let image = json!({"harvester": {"imageName": "default/approved"}});
    let old = cluster_json(json!({"spec": {"infrastructureOverride": image}}));
    let new = cluster_json(json!({"spec": {"timeServers": ["ntp.example.org"]}}));
    let mut facts = facts();
    let provider =
        butler_api::reference::NsRef { name: "harvester-a".into(), namespace: "butler-system".into() };
    facts.learn(FactKey::Provider(provider), crate::facts::Fact::Absent);
    let patch = patch("UPDATE", new, old, &facts);
    assert_eq!(written(&patch, "spec.infrastructureOverride"), image);
}
