//! Asking beforehand: would this be admitted, and why.

use butler_bench::ControlPlane;
use serde_json::{Value, json};

use super::{MASTER, front_proxy, identity, start, write_policy};
use crate::direct::{send, trusted};
use crate::harness::Gate;
use crate::objects::{eventually, objects_of, read};

const REVIEWS: &str = "/apis/policy.butler.butlerlabs.dev/v1alpha1/reviews";

/// Somebody who may ask about clusters of a namespace, and somebody who may also make them.
const ROLES: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: asker, namespace: team-a }
rules: [{ apiGroups: [policy.butler.butlerlabs.dev], resources: [localreviews], verbs: [create] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: maker, namespace: team-a }
rules: [{ apiGroups: [butler.butlerlabs.dev], resources: [tenantclusters], verbs: [create] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: asker, namespace: team-a }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: asker }
subjects:
- { apiGroup: rbac.authorization.k8s.io, kind: User, name: asker@example.com }
- { apiGroup: rbac.authorization.k8s.io, kind: User, name: maker@example.com }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: maker, namespace: team-a }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: maker }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: maker@example.com }]
";

fn review(kind: &str, spec: Value) -> String {
    json!({ "apiVersion": "policy.butler.butlerlabs.dev/v1alpha1", "kind": kind, "spec": spec }).to_string()
}

fn cluster(change: Value) -> Value {
    let mut cluster: Value = serde_saphyr::from_str(&read("manifests/samples/tenant-cluster.yaml")).unwrap();
    json_patch::merge(&mut cluster, &change);
    cluster
}

async fn create(plane: &ControlPlane, review: &str) -> Result<Value, String> {
    let said = plane.kubectl_with_input(&["create", "-o", "json", "-f", "-"], review).await.unwrap();
    if said.status.success() { Ok(serde_json::from_str(&said.stdout).unwrap()) } else { Err(said.stderr) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_kubectl_is_told_beforehand_and_nothing_is_stored() {
    let gate = start(1).await;
    let plane = gate.plane();
    for sample in ["namespaces", "provider-config", "butler-config", "teams", "addon-definitions"] {
        plane.apply(&read(&format!("manifests/samples/platform/{sample}.yaml"))).await.unwrap();
    }
    plane.apply(ROLES).await.unwrap();
    what_is_fine_is_shown_as_it_would_be_stored(&gate).await;
    every_mistake_is_told_with_where_it_comes_from(&gate).await;
    nobody_learns_more_than_admission_would_tell_them(&gate).await;
    bad_input_is_refused(&gate).await;
    let clusters = objects_of(gate.client(), "TenantCluster", "team-a");
    assert_eq!(clusters.list(&Default::default()).await.unwrap().items.len(), 0);
}

async fn what_is_fine_is_shown_as_it_would_be_stored(gate: &Gate) {
    let sample = cluster(json!({}));
    let asked = review("Review", json!({ "object": sample }));
    // kubectl checks by our schema, which the API server has a moment after it knows of us; and the gate learns of the
    // platform a moment after it is stored.
    eventually("the cluster is admitted", async || {
        create(gate.plane(), &asked).await.is_ok_and(|answer| answer["status"]["allowed"] == true)
    })
    .await;
    let answer = create(gate.plane(), &asked).await.unwrap();
    let dry = gate
        .plane()
        .kubectl_with_input(&["create", "--dry-run=server", "-o", "json", "-f", "-"], &sample.to_string())
        .await
        .unwrap();
    let dry: Value = serde_json::from_str(&dry.success().unwrap()).unwrap();
    assert_eq!(answer["status"]["object"]["spec"], dry["spec"]);
    assert_eq!(answer["status"]["object"]["metadata"]["annotations"], dry["metadata"]["annotations"]);
    assert!(answer["status"]["patch"].as_array().unwrap().len() > 2, "{answer}");
}

async fn every_mistake_is_told_with_where_it_comes_from(gate: &Gate) {
    write_policy(gate, "three-workers");
    let wrong = cluster(json!({ "spec": {
        "kubernetesVersion": "v1.36.0",
        "workers": { "replicas": 1, "machineTemplate": { "memory": "512Mi" } },
    }}));
    let asked = review("Review", json!({ "object": wrong }));
    eventually("the policy is in force", async || {
        create(gate.plane(), &asked).await.unwrap()["status"]["policies"][0]["result"] == "denied"
    })
    .await;
    let status = create(gate.plane(), &asked).await.unwrap()["status"].clone();
    println!("{status:#}");
    let findings = status["findings"].as_array().unwrap();
    let found: Vec<String> = findings.iter().map(|it| format!("{} {}", it["policy"], it["field"])).collect();
    assert_eq!(
        found,
        [
            r#""rule.kubernetes-version" "spec.kubernetesVersion""#,
            r#""rule.worker-size" "spec.workers.machineTemplate.memory""#,
            r#""validating.three-workers" null"#,
        ]
    );
    assert!(findings[2]["file"].as_str().unwrap().ends_with("/three-workers.yaml"), "{}", findings[2]);
    assert_eq!((&findings[2]["line"], &status["code"]), (&json!(1), &json!(422)));
    assert!(status["cost"].as_i64().unwrap() > 0);
    // Every word of it is what kubectl prints in earnest.
    let tried = ["create", "--dry-run=server", "-f", "-"];
    let said = gate.plane().kubectl_with_input(&tried, &wrong.to_string()).await.unwrap().stderr;
    for finding in findings {
        let message = finding["message"].as_str().unwrap();
        assert!(said.contains(message), "{message} is not in\n{said}");
    }
}

async fn nobody_learns_more_than_admission_would_tell_them(gate: &Gate) {
    let plane = gate.plane();
    let asked = review(
        "LocalReview",
        json!({ "object": cluster(json!({ "spec": { "kubernetesVersion": "v1.36.0" } })) }),
    );
    let ask = async |name: &str, review: &str, namespace: &str| {
        let user = plane.user(&format!("{name}@example.com"), &[]).unwrap();
        let kubeconfig = format!("--kubeconfig={}", user.kubeconfig().display());
        // To check what is only ever created, kubectl wants to list CustomResourceDefinitions, which few may.
        let arguments =
            ["create", "--validate=false", &*kubeconfig, "-n", namespace, "-o", "json", "-f", "-"];
        plane.kubectl_with_input(&arguments, review).await.unwrap()
    };
    let status = async |name: &str| {
        let said = ask(name, &asked, "team-a").await;
        serde_json::from_str::<Value>(&said.stdout).unwrap_or_else(|_| panic!("{}", said.stderr))["status"]
            .clone()
    };
    eventually("roles are in force", async || ask("maker", &asked, "team-a").await.status.success()).await;
    // Who may make clusters is told what is wrong with this one.
    eventually("the right is known", async || status("maker").await["reason"] == "Invalid").await;
    // Who may not is told that, and nothing else.
    let denied = status("asker").await;
    assert_eq!(denied["allowed"], false);
    assert_eq!(
        denied["message"],
        "tenantclusters.butler.butlerlabs.dev is forbidden: User \"asker@example.com\" cannot create resource \
         \"tenantclusters\" in API group \"butler.butlerlabs.dev\" in the namespace \"team-a\""
    );
    assert!(denied.get("findings").is_none() && denied.get("object").is_none(), "{denied}");
    // Nobody asks elsewhere, about everything, or as somebody else without the right.
    let elsewhere =
        review("LocalReview", json!({ "object": cluster(json!({ "metadata": { "namespace": "team-b" } })) }));
    assert!(ask("maker", &elsewhere, "team-b").await.stderr.contains("(Forbidden)"));
    let about = ask("maker", &elsewhere, "team-a").await.stderr;
    assert!(about.contains("spec.object.metadata.namespace"), "{about}");
    let any = review("Review", json!({ "object": cluster(json!({})) }));
    assert!(ask("maker", &any, "team-a").await.stderr.contains("(Forbidden)"));
    let spec = json!({ "object": cluster(json!({})), "user": "asker@example.com" });
    let other = ask("maker", &review("LocalReview", spec.clone()), "team-a").await.stderr;
    assert!(other.contains("cannot impersonate resource \"users\""), "{other}");
    // An administrator may.
    let answer = create(plane, &review("Review", spec)).await.unwrap();
    assert!(answer["status"]["message"].as_str().unwrap().contains("User \"asker@example.com\""), "{answer}");
}

async fn bad_input_is_refused(gate: &Gate) {
    let good = cluster(json!({}));
    let cases = [
        (json!({ "object": { "apiVersion": "v1", "kind": "Pod" } }), "is not judged here"),
        (json!({ "operation": "UPDATE", "object": good }), "spec.oldObject: Invalid value: UPDATE needs one"),
        (json!({ "operation": "DELETE", "object": good }), "spec.object: Invalid value: DELETE has none"),
        (json!({ "operation": "CONNECT", "object": good }), "`CONNECT` is none of"),
        (json!({ "object": good, "users": "ana" }), "unknown field `users`"),
    ];
    for (spec, why) in cases {
        let arguments = ["create", "--validate=false", "-f", "-"];
        let said = gate.plane().kubectl_with_input(&arguments, &review("Review", spec)).await.unwrap();
        assert!(said.stderr.contains(why), "{why} is not in {}", said.stderr);
    }
    let (bundle, proxy) = (trusted(gate.client()).await, front_proxy(gate));
    let large = "x".repeat((3 << 20) + 1);
    let posts = [
        ("application/json", "{\"broken", 400),
        ("application/json", "{}", 400),
        ("application/yaml", "a: [b", 400),
        ("application/vnd.kubernetes.protobuf", "k8s", 415),
        ("application/json", &*large, 413),
    ];
    for (media_type, body, expected) in posts {
        let request = format!(
            "POST {REVIEWS} HTTP/1.1\r\nHost: service\r\nConnection: close\r\n{MASTER}Content-Type: {media_type}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let port = gate.replicas()[0].service_port();
        let (answer, _) = send(port, &bundle, identity(&proxy), &request).await;
        let head = String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned();
        assert_eq!(head, format!("HTTP/1.1 {expected}"), "{media_type}");
    }
}
