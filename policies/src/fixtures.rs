//! One minimal valid object per kind; tests tweak it. Each failing case fails for exactly one reason.

use std::sync::Arc;

use butler_api::reference::NsRef;
use butler_api::{AddonDefinition, TenantAddon, TenantCluster};
use serde_json::{Value, json};

use crate::facts::{Fact, FactKey, Facts, NamespaceFact};
use crate::finding::{Finding, Findings};
use crate::review::Caller;
use crate::rules::{Case, Moment};

/// `base` with `tweak` laid over it; `null` removes.
pub(crate) fn merged(mut base: Value, tweak: Value) -> Value {
    lay_over(&mut base, tweak);
    base
}

fn lay_over(base: &mut Value, tweak: Value) {
    match (base, tweak) {
        (Value::Object(base), Value::Object(tweak)) => {
            for (key, value) in tweak {
                if value.is_null() {
                    base.remove(&key);
                } else {
                    lay_over(base.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (base, tweak) => *base = tweak,
    }
}

pub(crate) fn cluster_json(tweak: Value) -> Value {
    let base = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {"name": "orders", "namespace": "payments"},
        "spec": {
            "kubernetesVersion": "v1.31.4",
            "teamRef": {"name": "payments"},
            "providerConfigRef": {"name": "harvester-a"},
            "workers": {"replicas": 3, "machineTemplate": {
                "cpu": 4, "memory": "16Gi", "diskSize": "100Gi", "os": {"type": "talos", "version": "v1.9.3"}
            }},
        }
    });
    merged(base, tweak)
}

pub(crate) fn cluster(tweak: Value) -> TenantCluster {
    serde_json::from_value(cluster_json(tweak)).expect("cluster")
}

pub(crate) fn team(tweak: Value) -> Value {
    let base = json!({
        "kind": "Team", "metadata": {"name": "payments"},
        "spec": {"access": {"users": [{"name": "ana@example.org", "role": "admin"}]}}
    });
    merged(base, tweak)
}

pub(crate) fn config(tweak: Value) -> Value {
    let base = json!({
        "kind": "ButlerConfig", "metadata": {"name": "butler"}, "spec": {"multiTenancy": {"mode": "Enforced"}}
    });
    merged(base, tweak)
}

pub(crate) fn provider(tweak: Value) -> Value {
    let base = json!({
        "kind": "ProviderConfig", "metadata": {"name": "harvester-a", "namespace": "butler-system"},
        "spec": {
            "provider": "harvester", "credentialsRef": {"name": "harvester-a"},
            "harvester": {"networkName": "default/vlan40", "imageName": "default/talos"}
        },
        "status": {"ready": true}
    });
    merged(base, tweak)
}

pub(crate) fn pool(tweak: Value) -> Value {
    let base = json!({
        "kind": "NetworkPool", "metadata": {"name": "vlan50", "namespace": "butler-system"},
        "spec": {"cidr": "10.50.0.0/22"}
    });
    merged(base, tweak)
}

pub(crate) fn definition(tweak: Value) -> Value {
    let base = json!({
        "kind": "AddonDefinition", "metadata": {"name": "argocd"},
        "spec": {
            "displayName": "Argo CD", "description": "GitOps", "category": "gitops",
            "chart": {"repository": "https://charts.example.org", "name": "argo-cd", "defaultVersion": "7.7.5"}
        }
    });
    merged(base, tweak)
}

pub(crate) fn addon_json(tweak: Value) -> Value {
    let base = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
        "metadata": {"name": "orders-argocd", "namespace": "payments"},
        "spec": {"clusterRef": {"name": "orders"}, "addon": "argocd", "version": "7.7.5"}
    });
    merged(base, tweak)
}

pub(crate) fn addon(tweak: Value) -> TenantAddon {
    serde_json::from_value(addon_json(tweak)).expect("addon")
}

pub(crate) fn creation_policy(tweak: Value) -> Value {
    let base = json!({
        "kind": "ClusterCreationPolicy", "metadata": {"name": "images"},
        "spec": {"scope": {"platformWide": {}}, "options": {"image": {"mode": "pin", "values": ["default/talos"]}}}
    });
    merged(base, tweak)
}

/// A platform with one team, one provider with its credentials, and one addon in the catalogue.
pub(crate) fn facts() -> Facts {
    facts_with(&[])
}

/// The same platform, with these objects added or replaced.
pub(crate) fn facts_with(objects: &[Value]) -> Facts {
    let mut facts = Facts::default();
    let secret = json!({"kind": "Secret", "metadata": {"name": "harvester-a", "namespace": "butler-system"}});
    let namespace = json!({
        "kind": "Namespace", "metadata": {"name": "payments", "labels": {"butler.butlerlabs.dev/team": "payments"}}
    });
    let base = [
        config(json!({})),
        team(json!({})),
        provider(json!({})),
        secret,
        namespace,
        definition(json!({})),
        cluster_json(json!({})),
    ];
    for object in base.iter().chain(objects) {
        learn(&mut facts, object);
    }
    facts
}

pub(crate) fn learn(facts: &mut Facts, object: &Value) {
    fn typed<T: serde::de::DeserializeOwned>(object: &Value) -> Arc<T> {
        Arc::new(serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object}")))
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&object["metadata"]["name"]);
    let at = NsRef { name: name.clone(), namespace: text(&object["metadata"]["namespace"]) };
    match object["kind"].as_str() {
        Some("ButlerConfig") => facts.learn(FactKey::Config, Fact::Config(typed(object))),
        Some("Team") => facts.learn(FactKey::Team(name), Fact::Team(typed(object))),
        Some("TenantCluster") => facts.learn(FactKey::Cluster(at), Fact::Cluster(typed(object))),
        Some("TenantAddon") => facts.learn(FactKey::Addon(at), Fact::Addon(typed(object))),
        Some("AddonDefinition") => facts.learn(FactKey::Definition(name), Fact::Definition(typed(object))),
        Some("ProviderConfig") => facts.learn(FactKey::Provider(at), Fact::Provider(typed(object))),
        Some("NetworkPool") => facts.learn(FactKey::Pool(at), Fact::Pool(typed(object))),
        Some("IPAllocation") => facts.learn(FactKey::Allocation(at), Fact::Allocation(typed(object))),
        Some("ClusterCreationPolicy") => {
            facts.learn(FactKey::CreationPolicy(name), Fact::CreationPolicy(typed(object)));
        }
        Some("User") => facts.learn(FactKey::User(text(&object["spec"]["email"])), Fact::User(typed(object))),
        Some("Namespace") => {
            let team = object["metadata"]["labels"]["butler.butlerlabs.dev/team"].as_str().map(str::to_owned);
            facts.learn(FactKey::Namespace(name), Fact::Namespace(NamespaceFact { team, object: None }));
        }
        Some("Secret") => facts.learn(FactKey::Secret(at), Fact::Secret),
        kind => panic!("{kind:?}"),
    }
}

pub(crate) fn caller(name: &'static str) -> Caller<'static> {
    Caller { name: name.into(), groups: vec!["system:authenticated".into()] }
}

pub(crate) fn master() -> Caller<'static> {
    Caller { name: "admin".into(), groups: vec!["system:masters".into()] }
}

type Check<T> = fn(&Case<'_, T>, &mut Findings);

pub(crate) fn on_create<T>(check: Check<T>, object: &T, facts: &Facts) -> Vec<String> {
    on_create_by(&caller("ana@example.org"), check, object, facts)
}

pub(crate) fn on_create_by<T>(by: &Caller<'_>, check: Check<T>, object: &T, facts: &Facts) -> Vec<String> {
    lines(check, &Case::new(object, Moment::Create, Some(by), facts))
}

pub(crate) fn on_update<T>(check: Check<T>, old: &T, new: &T, facts: &Facts) -> Vec<String> {
    on_update_by(&caller("ana@example.org"), check, old, new, facts)
}

pub(crate) fn on_update_by<T>(
    by: &Caller<'_>,
    check: Check<T>,
    old: &T,
    new: &T,
    facts: &Facts,
) -> Vec<String> {
    lines(check, &Case::new(new, Moment::Update { old }, Some(by), facts))
}

fn lines<T>(check: Check<T>, case: &Case<'_, T>) -> Vec<String> {
    let mut findings = Findings::default();
    check(case, &mut findings);
    findings.into_found().kept.iter().map(line).collect()
}

pub(crate) fn line(finding: &Finding) -> String {
    let prefix = if finding.denies() { "" } else { "warning: " };
    format!("{prefix}{}: {}", finding.path, finding.message)
}

/// An AddonDefinition as a typed object.
pub(crate) fn typed_definition(tweak: Value) -> AddonDefinition {
    serde_json::from_value(definition(tweak)).expect("definition")
}

/// The body of an AdmissionReview.
pub(crate) fn review_body(
    operation: &str,
    resource: &str,
    object: &Value,
    old: &Value,
    user: &str,
) -> String {
    let meta = if object.is_null() { &old["metadata"] } else { &object["metadata"] };
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "resource": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": resource},
            "operation": operation, "namespace": meta["namespace"].as_str().unwrap_or_default(),
            "name": meta["name"].as_str().unwrap_or_default(),
            "userInfo": {"username": user, "groups": ["system:authenticated"]},
            "object": object, "oldObject": old, "dryRun": false
        }
    })
    .to_string()
}
