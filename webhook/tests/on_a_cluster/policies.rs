//! Policies of a directory, with params and Namespaces that are in the cluster.

use std::fs;

use crate::harness::{Gate, Setup};
use crate::objects::eventually;

/// Which categories an addon may have is in a ConfigMap of another namespace; a pool needs a namespace with an owner; and
/// what is marked stays.
const POLICIES: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: categories}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [butler.butlerlabs.dev], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], resources: [addondefinitions]}
  validations:
  - expression: object.spec.category in params.data.categories.split(' ')
    messageExpression: "'one of ' + params.data.categories"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: categories}
spec:
  policyName: categories
  validationActions: [Deny]
  paramRef: {name: addons, namespace: platform-params, parameterNotFoundAction: Deny}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owned}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [butler.butlerlabs.dev], apiVersions: [v1alpha1], operations: [CREATE], resources: [networkpools]}
  validations:
  - expression: namespaceObject.metadata.?labels[?'example.com/owner'].hasValue()
    messageExpression: "'nobody owns ' + namespaceObject.metadata.name + ', which is ' + namespaceObject.status.phase"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: owned}
spec: {policyName: owned, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: protected}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [butler.butlerlabs.dev], apiVersions: [v1alpha1], operations: [DELETE], resources: ['*']}
  validations:
  - expression: "!(oldObject.metadata.?annotations[?'example.com/keep'].hasValue())"
    message: remove the annotation first
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: protected}
spec: {policyName: protected, validationActions: [Deny]}
"#;

const ADDON: &str = r#"
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: AddonDefinition
metadata: {name: velero, annotations: {example.com/keep: "yes"}}
spec:
  displayName: Velero
  description: Cluster backup
  category: backup
  chart: {repository: "https://charts.example.org", name: velero, defaultVersion: 8.1.0}
"#;

const POOL: &str = r#"
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: NetworkPool
metadata: {name: vlan40, namespace: default}
spec: {cidr: 10.51.0.0/24}
"#;

const RIGHTS: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: butler-webhook-params, namespace: platform-params}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: butler-webhook-params, namespace: platform-params}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: butler-webhook-params}
subjects: [{kind: ServiceAccount, name: butler-webhook, namespace: butler-system}]
"#;

/// What kubectl says on trying to create something.
async fn tried(gate: &Gate, object: &str) -> String {
    let arguments = ["create", "--dry-run=server", "-f", "-"];
    let said = gate.plane().kubectl_with_input(&arguments, object).await.unwrap();
    format!("{}{}", said.stdout, said.stderr)
}

async fn says(gate: &Gate, object: &str, what: &str) {
    eventually(what, async || tried(gate, object).await.contains(what)).await;
}

async fn categories(gate: &Gate, categories: &str) {
    let params = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: addons, namespace: platform-params}}\ndata: {{categories: {categories}}}\n"
    );
    gate.plane().apply(&params).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_see_params_and_namespaces_of_the_cluster_and_deletions() {
    let gate = Gate::start(Setup { policies: true, ..Setup::default() }).await;
    let plane = gate.plane();
    plane.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: platform-params}\n").await.unwrap();
    plane.apply(ADDON).await.unwrap();
    categories(&gate, "network").await;
    fs::write(gate.policy_directory().join("all.yaml"), POLICIES).unwrap();

    // The manifests give no right to read ConfigMaps, and who has not read what a policy needs does not know.
    let other = ADDON.replace("name: velero,", "name: other,");
    says(&gate, &other, "paramKind kind `v1, Kind=ConfigMap` not yet synced to use for admission").await;
    eventually("the log says why", async || {
        let log = gate.replicas()[0].log();
        log.lines()
            .any(|line| line.contains("Forbidden") && line.contains("v1, Kind=ConfigMap in platform-params"))
    })
    .await;
    let metrics = gate.replicas()[0].metrics().await;
    assert!(
        metrics.contains("butler_facts_watch_failures_total{kind=\"param\",reason=\"Forbidden\"}"),
        "{metrics}"
    );

    plane.apply(RIGHTS).await.unwrap();
    says(&gate, &other, "'categories' with binding 'categories' denied request: one of network").await;
    categories(&gate, "network backup").await;
    says(&gate, &other, "addondefinition.butler.butlerlabs.dev/other created").await;
    plane
        .kubectl(&["delete", "configmap", "addons", "-n", "platform-params"])
        .await
        .unwrap()
        .success()
        .unwrap();
    says(&gate, &other, "no params found for policy binding with `Deny` parameterNotFoundAction").await;

    says(&gate, POOL, "denied request: nobody owns default, which is Active").await;
    plane
        .kubectl(&["label", "namespace", "default", "example.com/owner=ana"])
        .await
        .unwrap()
        .success()
        .unwrap();
    says(&gate, POOL, "networkpool.butler.butlerlabs.dev/vlan40 created").await;

    let delete = async || plane.kubectl(&["delete", "addondefinition", "velero"]).await.unwrap();
    let refused = delete().await;
    assert!(!refused.status.success());
    assert!(refused.stderr.contains("denied request: remove the annotation first"), "{}", refused.stderr);

    // Whoever no longer judges by a policy does not watch what it wanted, and the file's end is told of like its beginning.
    fs::remove_file(gate.policy_directory().join("all.yaml")).unwrap();
    eventually("it can go", async || delete().await.status.success()).await;
    let events = async || {
        let arguments = [
            "get",
            "events",
            "-n",
            "butler-system",
            "-o",
            "jsonpath={range .items[*]}{.reason} {.message}{\"\\n\"}{end}",
        ];
        plane.kubectl(&arguments).await.unwrap().success().unwrap()
    };
    eventually("events tell of it", async || events().await.contains("PoliciesLoaded")).await;
}
