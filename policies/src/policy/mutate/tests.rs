use serde_json::json;

use super::super::{Nothing, SourceFile, complete as complete_request};
use super::*;
use crate::fixtures::{cluster_json, facts, review_body};
use crate::review::Review;

/// A policy with its binding; `spec` is indented by two.
fn policy(name: &str, spec: &str) -> String {
    let meta = "apiVersion: admissionregistration.k8s.io/v1\n";
    format!(
        "{meta}kind: MutatingAdmissionPolicy\nmetadata:\n  name: {name}\nspec:\n  matchConstraints:\n    resourceRules:\n    \
         - apiGroups: [butler.butlerlabs.dev]\n      apiVersions: [v1alpha1]\n      operations: [CREATE, UPDATE]\n      \
         resources: [tenantclusters]\n{spec}---\n{meta}kind: MutatingAdmissionPolicyBinding\nmetadata:\n  name: \
         {name}-everywhere\nspec:\n  policyName: {name}\n---\n"
    )
}

fn sets(name: &str, more: &str, expression: &str) -> String {
    let reinvocation = if more.contains("reinvocationPolicy") { "" } else { "  reinvocationPolicy: Never\n" };
    policy(
        name,
        &format!(
            "{reinvocation}{more}  mutations:\n  - patchType: ApplyConfiguration\n    applyConfiguration:\n      \
             expression: |\n        {expression}\n"
        ),
    )
}

fn patches(name: &str, more: &str, expression: &str) -> String {
    policy(
        name,
        &format!(
            "  reinvocationPolicy: Never\n{more}  mutations:\n  - patchType: JSONPatch\n    jsonPatch:\n      expression: \
             |\n        {expression}\n"
        ),
    )
}

fn label(key: &str, value: &str) -> String {
    format!("Object{{metadata: Object.metadata{{labels: {{\"{key}\": {value}}}}}}}")
}

fn loaded(text: String) -> PolicySet {
    match PolicySet::load(&[SourceFile { path: "policies.yaml".to_owned(), text }]) {
        Ok(loaded) => loaded.set,
        Err(problems) => panic!("{problems:?}"),
    }
}

fn mutated(files: &[String], object: &Json) -> Mutated {
    let set = loaded(files.concat());
    let mut request = json!({
        "resource": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": "tenantclusters"},
        "kind": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "kind": "TenantCluster"},
        "operation": "CREATE", "name": "orders", "namespace": "payments", "userInfo": {"username": "ana"},
        "object": object,
    });
    complete_request(&mut request);
    let text = request.to_string();
    mutate(&set, &Request::read(&text).unwrap(), &Nothing)
}

fn labels(mutated: &Mutated) -> Json {
    mutated.object.as_ref().map(|object| object["metadata"]["labels"].clone()).unwrap_or_default()
}

#[test]
fn policies_follow_each_other_by_name() {
    let files = [
        sets(
            "b",
            "",
            &label("order", "(has(object.metadata.labels) ? object.metadata.labels.order : '') + 'b'"),
        ),
        sets("a", "", &label("order", "'a'")),
    ];
    let mutated = mutated(&files, &cluster_json(json!({})));
    assert_eq!(labels(&mutated), json!({"order": "ab"}));
    let results: Vec<(&str, Outcome)> =
        mutated.evaluations.iter().map(|evaluation| (&*evaluation.policy, evaluation.result)).collect();
    assert_eq!(results, [("a", Outcome::Changed), ("b", Outcome::Changed)]);
}

#[test]
fn mutations_of_a_policy_see_what_those_before_did() {
    let spec = "  reinvocationPolicy: Never\n  variables:\n  - name: replicas\n    expression: object.spec.workers.replicas\n  \
                mutations:\n  - patchType: JSONPatch\n    jsonPatch:\n      expression: '[JSONPatch{op: \"replace\", path: \
                \"/spec/workers/replicas\", value: variables.replicas + 1}]'\n  - patchType: ApplyConfiguration\n    \
                applyConfiguration:\n      expression: 'Object{spec: Object.spec{workers: Object.spec.workers{replicas: \
                variables.replicas * 10}}}'\n";
    let mutated = mutated(&[policy("grow", spec)], &cluster_json(json!({})));
    assert_eq!(mutated.object.unwrap()["spec"]["workers"]["replicas"], 40);
}

#[test]
fn what_may_be_needed_again_runs_twice_and_never_three_times() {
    let count = "'x' + (has(object.metadata.labels) && has(object.metadata.labels.n) ? object.metadata.labels.n : '')";
    let again = sets("a", "  reinvocationPolicy: IfNeeded\n", &label("n", count));
    assert_eq!(labels(&mutated(std::slice::from_ref(&again), &cluster_json(json!({})))), json!({"n": "xx"}));
    let once = sets("a", "", &label("n", count));
    let other = sets("b", "  reinvocationPolicy: IfNeeded\n", &label("m", "'y'"));
    assert_eq!(
        labels(&mutated(&[once, other.clone()], &cluster_json(json!({})))),
        json!({"n": "x", "m": "y"})
    );
    assert_eq!(labels(&mutated(&[again, other], &cluster_json(json!({})))), json!({"n": "xx", "m": "y"}));
}

#[test]
fn what_does_not_meet_the_conditions_changes_nothing() {
    let more = "  matchConditions:\n  - name: big\n    expression: object.spec.workers.replicas > 5\n";
    let mutated = mutated(&[sets("a", more, &label("n", "'x'"))], &cluster_json(json!({})));
    assert_eq!((mutated.object, mutated.refusals), (None, Vec::new()));
    assert_eq!(mutated.evaluations[0].result, Outcome::Skipped);
}

#[test]
fn an_error_denies_unless_the_policy_lets_it_pass() {
    let wrong = "Object{spec: Object.spec{nodes: 3}}";
    let mutated_by = |more: &str| {
        mutated(&[sets("a", more, wrong), sets("b", "", &label("n", "'x'"))], &cluster_json(json!({})))
    };
    let denied = mutated_by("");
    let messages: Vec<String> = denied.refusals.iter().map(Refusal::message).collect();
    assert_eq!(
        messages,
        [
            "policy 'a' with binding 'a-everywhere' denied request: error applying patch: failed to convert patch object to \
          typed object: .spec.nodes: field not declared in schema"
        ]
    );
    assert_eq!((denied.refusals[0].code(), denied.refusals[0].reason()), (403, Reason::Invalid));
    assert_eq!(denied.object, None);
    let passed = mutated_by("  failurePolicy: Ignore\n");
    assert_eq!((labels(&passed), passed.refusals), (json!({"n": "x"}), Vec::new()));
    assert_eq!(passed.evaluations[0].result, Outcome::Ignored);
}

#[test]
fn what_is_refused_is_told_once_although_policies_would_run_again() {
    let fails = "  matchConditions:\n  - name: fails\n    expression: object.spec.none == 1\n";
    let both = [sets("a", fails, &label("n", "'x'")), sets("b", "", &label("m", "'y'"))];
    let mutated = mutated(&both, &cluster_json(json!({})));
    let messages: Vec<String> = mutated.refusals.iter().map(Refusal::message).collect();
    assert_eq!(
        messages,
        [
            "policy 'a' with binding 'a-everywhere' denied request: expression 'object.spec.none == 1' resulted in error: \
          no such key: none"
        ]
    );
}

#[test]
fn an_expression_that_fails_says_which_and_why() {
    let mutated = mutated(&[sets("a", "", &label("n", "object.spec.none"))], &cluster_json(json!({})));
    let message = mutated.refusals[0].message();
    assert!(
        message.starts_with("policy 'a' with binding 'a-everywhere' denied request: expression 'Object{")
            && message.ends_with("' resulted in error: no such key: none"),
        "{message}"
    );
}

#[test]
fn a_patch_that_leaves_no_object_fails_the_request_whatever_the_policy_says() {
    let remove = r#"[JSONPatch{op: "remove", path: "/kind"}]"#;
    let files = [patches("a", "  failurePolicy: Ignore\n", remove)];
    let mutated = mutated(&files, &cluster_json(json!({})));
    let [refusal] = mutated.refusals.as_slice() else { panic!("{mutated:?}") };
    assert!(refusal.message().starts_with("Internal error occurred: Object 'Kind' is missing in '{"));
    assert_eq!((refusal.code(), refusal.reason()), (500, Reason::InternalError));
}

fn completed(files: &[String], object: &Json) -> Option<Completed> {
    let set = loaded(files.concat());
    let body = review_body("CREATE", "tenantclusters", object, &Json::Null, "ana@example.org");
    let review = Review::parse(body.as_bytes()).unwrap();
    complete(&set, &review, &facts(), &Nothing)
}

fn patched(object: &Json, completed: &Completed) -> Json {
    let operations: Vec<Json> = serde_json::from_slice(&completed.patch).unwrap();
    let operations: Vec<super::super::mutation::Operation> = operations
        .iter()
        .map(|operation| super::super::mutation::Operation {
            op: operation["op"].as_str().unwrap().to_owned(),
            path: operation["path"].as_str().unwrap().to_owned(),
            from: String::new(),
            value: operation.get("value").cloned(),
        })
        .collect();
    super::super::mutation::apply_patch(object.clone(), &operations).unwrap()
}

#[test]
fn policies_come_before_defaults_and_see_them_when_they_run_again() {
    let object = cluster_json(
        json!({"spec": {"workers": {"replicas": null}, "networking": null, "controlPlane": null}}),
    );
    let files = [
        sets(
            "a",
            "",
            "has(object.spec.workers.replicas) ? Object{} : Object{spec: Object.spec{workers: Object.spec.workers{replicas: 7}}}",
        ),
        sets(
            "b",
            "  reinvocationPolicy: IfNeeded\n",
            &label("pods", "object.?spec.?networking.?podCIDR.orValue('none').replace('/', '-')"),
        ),
    ];
    let first = completed(&files, &object).unwrap();
    let after = patched(&object, &first);
    assert_eq!(after["spec"]["workers"]["replicas"], 7, "{}", String::from_utf8_lossy(&first.patch));
    assert_ne!(after["metadata"]["labels"]["pods"], "none");
    assert!(
        first.filled.contains("spec.networking.podCIDR") && !first.filled.contains("spec.workers.replicas")
    );
    // Asking again changes nothing.
    let second = completed(&files, &after).unwrap();
    assert_eq!((second.patch, second.refusals), (Vec::new(), Vec::new()));
}

#[test]
fn without_a_policy_about_it_the_review_takes_the_short_way() {
    assert_eq!(completed(&[], &cluster_json(json!({}))), None);
}
