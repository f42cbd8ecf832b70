//! What callers are told.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::world::{MUTATE, Mount, VALIDATE, World, Written, cluster, creation, labelling, review};

async fn world(files: &[String]) -> (World, Mount) {
    let names: Vec<String> = (0..files.len()).map(|number| format!("{number}.yaml")).collect();
    let files: Vec<_> = names.iter().map(String::as_str).zip(files.iter().cloned()).collect();
    let mount = Mount::of(&files);
    (World::loaded(mount.path()).await, mount)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_come_after_rules_in_one_answer() {
    let (world, _mount) = world(&[Written::default().text()]).await;
    let mut sent = cluster(9);
    sent["spec"]["kubernetesVersion"] = json!("v1.99.0");
    let answer = world.ask(VALIDATE, &review("CREATE", "", &sent, &Value::Null)).await;
    let message = answer["status"]["message"].as_str().unwrap();
    let (rule, policy) = (message.find("spec.kubernetesVersion: `v1.99.0`"), message.find("'few-workers'"));
    assert!(rule.is_some() && rule < policy, "{message}");
    let findings = answer["auditAnnotations"]["findings"].as_str().unwrap();
    assert!(findings.ends_with("policy/few-workers"), "{findings}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_binding_may_warn_and_audit_instead() {
    let (world, _mount) = world(&[Written { actions: "Warn, Audit", ..Written::default() }.text()]).await;
    let old = cluster(9);
    let mut new = old.clone();
    new["metadata"]["labels"]["app"] = json!("other");
    let answer = world.ask(VALIDATE, &review("UPDATE", "", &new, &old)).await;
    assert_eq!(answer["allowed"], true, "{answer}");
    let warning = "Validation failed for ValidatingAdmissionPolicy 'few-workers' with binding 'few-workers': at most five workers";
    assert!(answer["warnings"].as_array().unwrap().contains(&json!(warning)), "{answer}");
    let failure: Value =
        serde_json::from_str(answer["auditAnnotations"]["validation_failure"].as_str().unwrap()).unwrap();
    assert_eq!(failure[0]["policy"], "few-workers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_can_be_forbidden_and_what_is_on_its_way_out_goes() {
    let protected = Written {
        operations: "DELETE, UPDATE",
        validation: "{expression: request.operation != 'DELETE' && !has(oldObject.metadata.deletionTimestamp), message: protected}",
        ..Written::default()
    };
    let (world, _mount) = world(&[protected.text()]).await;
    let answer = world.ask(VALIDATE, &review("DELETE", "", &Value::Null, &cluster(3))).await;
    assert_eq!(answer["allowed"], false);
    assert_eq!(
        answer["status"]["message"],
        "ValidatingAdmissionPolicy 'few-workers' with binding 'few-workers' denied request: protected"
    );
    let mut leaving = cluster(3);
    leaving["metadata"]["deletionTimestamp"] = json!("2026-05-02T10:00:00Z");
    leaving["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let mut free = leaving.clone();
    free["metadata"]["finalizers"] = json!([]);
    let answer = world.ask(VALIDATE, &review("UPDATE", "", &free, &leaving)).await;
    assert_eq!(answer["allowed"], true, "{answer}");
    assert!(answer["warnings"][0].as_str().unwrap().ends_with(": protected"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scaling_goes_through_policies() {
    let scaling = Written {
        operations: "UPDATE",
        resources: "tenantclusters/scale",
        validation: "{expression: object.spec.replicas <= 5, message: at most five workers}",
        ..Written::default()
    };
    let (world, _mount) = world(&[scaling.text()]).await;
    let scale = |replicas: u32| {
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "orders", "namespace": "payments"},
            "spec": {"replicas": replicas}})
    };
    let answer = world.ask(VALIDATE, &review("UPDATE", "scale", &scale(6), &scale(3))).await;
    let message = answer["status"]["message"].as_str().unwrap();
    assert!(message.contains("'few-workers' denied request: at most five workers"), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutating_policies_and_defaults_make_one_patch() {
    let (world, _mount) = world(&[labelling("owner", "owner", "ana")]).await;
    let answer = world.ask(MUTATE, &creation(3)).await;
    assert_eq!(answer["allowed"], true, "{answer}");
    let patch: ByteString = serde_json::from_value(answer["patch"].clone()).unwrap();
    let patch: Vec<Value> = serde_json::from_slice(&patch.0).unwrap();
    let paths: Vec<&str> = patch.iter().map(|step| step["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"/metadata/labels/owner"), "{paths:?}");
    assert!(paths.iter().any(|path| path.starts_with("/spec/")), "{paths:?}");
    let changed = "butler_policies_evaluations_total{policy=\"owner\",kind=\"mutating\",result=\"changed\"}";
    assert_eq!(world.metric(changed), Some(1.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mutating_policy_that_fails_stops_the_request() {
    let wrong = labelling("owner", "owner", "ana").replace("\"ana\"", "object.spec.nobody");
    let (world, _mount) = world(&[wrong]).await;
    let answer = world.ask(MUTATE, &creation(3)).await;
    assert_eq!((&answer["allowed"], &answer["status"]["code"]), (&json!(false), &json!(403)));
    let message = answer["status"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("policy 'owner' with binding 'owner' denied request: expression '"),
        "{message}"
    );
    assert!(message.ends_with("no such key: nobody"), "{message}");
}
