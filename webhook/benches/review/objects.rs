//! The reviews that are sent, and the platform that they are judged on.

use std::sync::Arc;

use butler_api::reference::NsRef;
use butler_policies::facts::{Fact, FactKey, Facts, NamespaceFact};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const ADDONS: &[(&str, &str)] = &[
    ("cilium", "1.17.0"),
    ("metallb", "0.14.9"),
    ("longhorn", "1.7.2"),
    ("traefik", "34.3.0"),
    ("cert-manager", "v1.16.2"),
    ("flux", "2.14.1"),
];

/// A platform with teams, providers, a catalogue and that many clusters, a hundred to a team.
pub(crate) fn platform(clusters: usize) -> Facts {
    fn typed<T: DeserializeOwned>(object: Value) -> Arc<T> {
        Arc::new(serde_json::from_value(object).unwrap())
    }
    let at = |namespace: &str, name: &str| NsRef { name: name.to_owned(), namespace: namespace.to_owned() };
    let mut facts = Facts::default();
    let config = json!({"metadata": {"name": "butler"}, "spec": {
        "multiTenancy": {"mode": "Enforced"}, "defaultProviderConfigRef": {"name": "harvester-a", "namespace": "butler-system"}}});
    facts.learn(FactKey::Config, Fact::Config(typed(config)));
    let provider = json!({"metadata": {"name": "harvester-a", "namespace": "butler-system"}, "spec": {
        "provider": "harvester", "credentialsRef": {"name": "harvester-a"},
        "harvester": {"networkName": "default/vlan40", "imageName": "default/talos"}}, "status": {"ready": true}});
    facts.learn(FactKey::Provider(at("butler-system", "harvester-a")), Fact::Provider(typed(provider)));
    facts.learn(FactKey::Secret(at("butler-system", "harvester-a")), Fact::Secret);
    for (name, version) in ADDONS {
        let definition = json!({"metadata": {"name": name}, "spec": {
            "displayName": name, "description": name, "category": "other",
            "chart": {"repository": "https://charts.example.org", "name": name, "defaultVersion": version}}});
        facts.learn(FactKey::Definition((*name).to_owned()), Fact::Definition(typed(definition)));
    }
    for team in
        std::iter::once("payments".to_owned()).chain((0..clusters / 100).map(|it| format!("team-{it}")))
    {
        let object = json!({"metadata": {"name": team}, "spec": {
            "access": {"users": [{"name": "ana@example.org", "role": "admin"}]},
            "resourceLimits": {"allowedKubernetesVersions": ["v1.31.4", "v1.30.2"]},
            "clusterDefaults": {"kubernetesVersion": "v1.31.4", "workerCount": 3}}});
        let namespace = NamespaceFact { team: Some(team.clone()), object: None };
        facts.learn(FactKey::Namespace(team.clone()), Fact::Namespace(namespace));
        facts.learn(FactKey::Team(team), Fact::Team(typed(object)));
    }
    for number in 0..clusters {
        let team = if number < 10 { "payments".to_owned() } else { format!("team-{}", number / 100) };
        let name = format!("cluster-{number}");
        let mut object = cluster();
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(team);
        object["spec"]["teamRef"]["name"] = json!(team);
        facts.learn(FactKey::Cluster(at(&team, &name)), Fact::Cluster(typed(object)));
    }
    facts
}

/// A cluster whose every choice is made: nothing is left to fill in.
fn cluster() -> Value {
    with_metadata(json!({
        "kubernetesVersion": "v1.31.4",
        "teamRef": {"name": "payments"},
        "providerConfigRef": {"name": "harvester-a", "namespace": "butler-system"},
        "controlPlane": {"replicas": 3, "serviceType": "LoadBalancer", "certSANs": ["api.orders.example.org"]},
        "workers": {"replicas": 3, "machineTemplate": {
            "cpu": 8, "memory": "32Gi", "diskSize": "200Gi", "os": {"type": "talos", "version": "v1.9.3"}}},
        "networking": {
            "podCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/12",
            "loadBalancerPool": {"start": "10.40.1.10", "end": "10.40.1.20"}},
        "addons": {
            "cni": {"provider": "cilium", "version": "1.17.0", "values": {"hubble": {"enabled": true}}},
            "loadBalancer": {"provider": "metallb", "version": "0.14.9"},
            "storage": {"provider": "longhorn", "version": "1.7.2"},
            "ingress": {"enabled": true, "provider": "traefik", "version": "34.3.0"},
            "certManager": {"enabled": true, "version": "v1.16.2"},
            "gitops": {"provider": "fluxcd", "version": "2.14.1", "repository": {
                "url": "https://git.example.org/fleet.git", "branch": "stable", "path": "clusters/orders"}}},
    }))
}

/// The same cluster from somebody who leaves to the platform what the platform can choose.
fn brief_cluster() -> Value {
    with_metadata(json!({
        "workers": {"replicas": 3},
        "networking": {"loadBalancerPool": {"start": "10.40.1.10", "end": "10.40.1.20"}},
        "addons": {
            "cni": {"provider": "cilium", "values": {
                "hubble": {"enabled": true, "relay": {"enabled": true}, "ui": {"enabled": true, "replicas": 2}},
                "operator": {"replicas": 2, "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]},
                "bandwidthManager": {"enabled": true, "bbr": true}, "kubeProxyReplacement": true}},
            "loadBalancer": {"provider": "metallb"},
            "storage": {"provider": "longhorn"},
            "ingress": {"enabled": true, "provider": "traefik", "values": {
                "ports": {"web": {"port": 8000, "exposedPort": 80}, "websecure": {"port": 8443, "exposedPort": 443}},
                "deployment": {"replicas": 2}}},
            "gitops": {"provider": "fluxcd", "repository": {
                "url": "https://git.example.org/fleet.git", "branch": "stable", "path": "clusters/orders"}}},
    }))
}

/// The metadata of an object that kubectl applied.
fn with_metadata(spec: Value) -> Value {
    let managed = managed_fields(&spec);
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {
            "name": "orders", "namespace": "payments", "uid": "6f0e4b9c-5a52-4d3f-9c8e-0d6d9b1f7a21", "generation": 1,
            "creationTimestamp": "2026-05-02T10:00:00Z",
            "labels": {"app.kubernetes.io/managed-by": "kustomize", "example.org/cost-centre": "4711"},
            "annotations": {
                "example.org/contact": "payments-on-call@example.org",
                "example.org/runbook": "https://wiki.example.org/payments/clusters/orders"},
            "managedFields": [{
                "manager": "kubectl", "operation": "Apply", "apiVersion": "butler.butlerlabs.dev/v1alpha1",
                "time": "2026-05-02T10:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {
                    "f:metadata": {"f:annotations": {"f:example.org/contact": {}, "f:example.org/runbook": {}},
                        "f:labels": {"f:app.kubernetes.io/managed-by": {}, "f:example.org/cost-centre": {}}},
                    "f:spec": managed}}]},
        "spec": spec,
    })
}

/// Who manages what, as the API server notes it: every field again, under a prefix.
fn managed_fields(value: &Value) -> Value {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(name, value)| (format!("f:{name}"), managed_fields(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// A creation with nothing left to fill in.
pub(crate) fn creation() -> Vec<u8> {
    review("CREATE", &cluster(), &Value::Null)
}

/// A creation with much to fill in.
pub(crate) fn brief_creation() -> Vec<u8> {
    review("CREATE", &brief_cluster(), &Value::Null)
}

/// Two more workers.
pub(crate) fn update() -> Vec<u8> {
    let old = cluster();
    let mut new = old.clone();
    new["spec"]["workers"]["replicas"] = json!(5);
    review("UPDATE", &new, &old)
}

/// The fields come in the order in which the API server writes them.
fn review(operation: &str, object: &Value, old: &Value) -> Vec<u8> {
    let kind = json!({"group": "butler.butlerlabs.dev", "version": "v1alpha1", "kind": "TenantCluster"});
    let resource =
        json!({"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": "tenantclusters"});
    let user = json!({"username": "ana@example.org", "uid": "7f1c", "groups": ["oidc:payments", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": ["X509SHA256=63d6b4f8a1c2"]}});
    let options = json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl",
        "fieldValidation": "Strict"});
    let uid = "705ab4f5-6393-11e8-b7cc-42010a800002";
    let fields = [
        ("uid", json!(uid)),
        ("kind", kind.clone()),
        ("resource", resource.clone()),
        ("requestKind", kind),
        ("requestResource", resource),
        ("name", json!("orders")),
        ("namespace", json!("payments")),
        ("operation", json!(operation)),
        ("userInfo", user),
        ("object", object.clone()),
        ("oldObject", old.clone()),
        ("dryRun", json!(false)),
        ("options", options),
    ];
    let request: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    let head = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"#;
    format!("{head}{}}}}}", request.join(",")).into_bytes()
}
