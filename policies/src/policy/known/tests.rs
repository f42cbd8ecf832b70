use serde_json::{Value, json};

use super::{Known, Shown};
use crate::facts::{Fact, FactKey, Facts, NamespaceFact};
use crate::fixtures::{addon_json, cluster_json, facts, review_body as body_of};
use crate::policy::fixtures::{FILE, loaded, tweaked};
use crate::policy::{Request, validate};
use crate::review::Review;
use crate::verdict::answer_verdict;
use crate::{Verdict, judge_by_policies};

fn review_body(operation: &str, object: Option<Value>, old: Option<Value>) -> Vec<u8> {
    let (object, old) = (object.unwrap_or_default(), old.unwrap_or_default());
    let resource = if object["kind"] == "TenantAddon" { "tenantaddons" } else { "tenantclusters" };
    body_of(operation, resource, &object, &old, "ana@example.org").into_bytes()
}

fn policy(expression: &str) -> String {
    let file = tweaked(FILE, "object.spec.workers.replicas <= 5", &format!("\"{expression}\""));
    tweaked(&file, "[tenantclusters]", "['*/*']")
}

/// Whether an expression holds for a review, or why not.
fn holds(expression: &str, body: &[u8], facts: &Facts) -> Result<(), String> {
    let set = loaded(&policy(expression)).set;
    let review = Review::parse(body).unwrap();
    let shown = Shown::default();
    let request = Request::of_review(&review).seen_by(&set);
    let judged = validate(&set, &request, &Known::new(facts, &review, &shown));
    judged.denials.first().map_or(Ok(()), |denial| Err(denial.detail.clone()))
}

fn verdict(file: &str, body: &[u8], facts: &Facts) -> Verdict {
    let set = loaded(file).set;
    judge_by_policies(&Review::parse(body).unwrap(), facts, &set, &Shown::default())
}

#[test]
fn a_cluster_is_seen_with_its_team_its_provider_and_their_usage() {
    let body = review_body("CREATE", Some(cluster_json(json!({"metadata": {"name": "new"}}))), None);
    for expression in [
        "team.metadata.name == 'payments'",
        "config.kind == 'ButlerConfig'",
        "provider.kind == 'ProviderConfig'",
        "cluster == null",
        "usage.clusters == 1 && usage.nodes >= 1 && usage.cpu >= 1",
        "quantity(usage.memory).isGreaterThan(quantity('1Gi')) && isQuantity(usage.storage)",
        "object.metadata.name == 'new'",
    ] {
        assert_eq!(holds(expression, &body, &facts()), Ok(()), "{expression}");
    }
}

/// Only what expressions look at is read of a request, in whatever way they look at it.
#[test]
fn of_a_request_everything_is_seen_that_is_looked_at() {
    let managers = json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {"f:workers": {}}}}]);
    let cluster = cluster_json(json!({"metadata": {"name": "new", "managedFields": managers}}));
    let body = review_body("CREATE", Some(cluster), None);
    for expression in [
        "request.operation == 'CREATE'",
        "request.userInfo.groups == ['system:authenticated'] && request.name == 'new'",
        "request.?resource.?resource.orValue('') == 'tenantclusters'",
        "has(request.dryRun) && !has(request.options)",
        "dyn(request)['operation'] == 'CREATE'",
        "dyn(request).resource.group == 'butler.butlerlabs.dev'",
        "[request].exists(one, one.userInfo.username == 'ana@example.org')",
        "dyn(request).uid == '' && dyn(request).object == null",
        "object.metadata.managedFields[0].manager == 'kubectl' && object.metadata.namespace == request.namespace",
    ] {
        assert_eq!(holds(expression, &body, &facts()), Ok(()), "{expression}");
    }
}

#[test]
fn an_addon_is_seen_with_its_cluster() {
    let body = review_body("CREATE", Some(addon_json(json!({}))), None);
    for expression in [
        "cluster.kind == 'TenantCluster'",
        "team.metadata.name == 'payments'",
        "provider.kind == 'ProviderConfig'",
    ] {
        assert_eq!(holds(expression, &body, &facts()), Ok(()), "{expression}");
    }
}

#[test]
fn what_nobody_can_say_is_an_error() {
    let mut facts = facts();
    facts.learn(FactKey::Team("payments".to_owned()), Fact::Unreadable);
    let body = review_body("CREATE", Some(cluster_json(json!({}))), None);
    let expected = "expression 'team != null' resulted in error: `team` cannot be read at the moment";
    assert_eq!(holds("team != null", &body, &facts), Err(expected.to_owned()));
    assert_eq!(
        holds("namespaceObject != null", &body, &facts),
        Err("namespaces \"payments\" cannot be read".to_owned())
    );
}

#[test]
fn a_namespace_is_seen_if_it_is_kept() {
    let text = r#"{"metadata":{"name":"payments","labels":{"env":"prod"}},"spec":{},"status":{}}"#;
    let object = Some(std::sync::Arc::new(crate::cel::Tree::parse(text).unwrap().into_owned()));
    let mut facts = facts();
    let fact = Fact::Namespace(NamespaceFact { team: Some("payments".to_owned()), object });
    facts.learn(FactKey::Namespace("payments".to_owned()), fact);
    let body = review_body("CREATE", Some(cluster_json(json!({}))), None);
    assert_eq!(holds("namespaceObject.metadata.labels.env == 'prod'", &body, &facts), Ok(()));
}

#[test]
fn objects_are_shown_anew_only_when_they_changed() {
    let shown = Shown::default();
    let show = |version: &str, name: &str| {
        let team: butler_api::Team = serde_json::from_value(crate::fixtures::team(json!({
            "metadata": {"uid": "1", "resourceVersion": version}, "spec": {"displayName": name},
        })))
        .unwrap();
        shown.document(FactKey::Team("payments".to_owned()), &team.metadata, &team).found().unwrap()
    };
    let first = show("1", "a");
    assert!(std::sync::Arc::ptr_eq(&first, &show("1", "b")));
    assert!(!std::sync::Arc::ptr_eq(&first, &show("2", "b")));
}

#[test]
fn rules_and_policies_answer_together() {
    let body = review_body("CREATE", Some(cluster_json(json!({"metadata": {"name": "new"}}))), None);
    let file = tweaked(
        FILE,
        "object.spec.workers.replicas <= 5",
        "'false'\n    message: not today\n    reason: Forbidden",
    );
    let only_policies = verdict(&file.replace("'false'", "1 == 2"), &body, &facts());
    let message =
        "ValidatingAdmissionPolicy 'few-workers' with binding 'everywhere' denied request: not today";
    assert!(!only_policies.allows());
    assert_eq!(
        (only_policies.code(), only_policies.reason(), only_policies.message().as_str()),
        (403, "Forbidden", message)
    );
    let answer: Value = serde_json::from_slice(&answer_verdict("1", &only_policies)).unwrap();
    assert_eq!(answer["response"]["status"]["details"]["causes"], json!([{"message": message}]));
    assert_eq!(answer["response"]["auditAnnotations"], json!({"findings": "policy/few-workers"}));

    let wrong = cluster_json(json!({"metadata": {"name": "new"}, "spec": {"workers": {"replicas": 0}}}));
    let both =
        verdict(&file.replace("'false'", "1 == 2"), &review_body("CREATE", Some(wrong), None), &facts());
    let text = both.message();
    assert!(text.contains("spec.workers.replicas: ") && text.ends_with(message), "{text}");
    assert_eq!(both.code(), 422);
}

#[test]
fn warnings_and_annotations_are_answered() {
    let body = review_body("CREATE", Some(cluster_json(json!({"metadata": {"name": "new"}}))), None);
    let file = tweaked(
        FILE,
        "object.spec.workers.replicas <= 5",
        "1 == 2\n    message: not today\n  auditAnnotations:\n  - {key: who, valueExpression: \"'me'\"}",
    );
    let verdict = verdict(&tweaked(&file, "[Deny]", "[Warn, Audit]"), &body, &facts());
    assert!(verdict.allows());
    let answer: Value = serde_json::from_slice(&answer_verdict("1", &verdict)).unwrap();
    let response = &answer["response"];
    let warnings = response["warnings"].as_array().unwrap();
    assert!(warnings.contains(&json!(
        "Validation failed for ValidatingAdmissionPolicy 'few-workers' with binding 'everywhere': not today"
    )));
    assert_eq!(response["auditAnnotations"]["policy_annotations"], json!("{\"few-workers/who\":\"me\"}"));
    assert!(response["auditAnnotations"]["validation_failure"].as_str().unwrap().starts_with("[{"));
}

#[test]
fn an_object_on_its_way_out_is_never_held_back() {
    let leaving = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}});
    let left = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let body = review_body("UPDATE", Some(cluster_json(left)), Some(cluster_json(leaving)));
    let verdict = verdict(&tweaked(FILE, "object.spec.workers.replicas <= 5", "1 == 2"), &body, &facts());
    assert!(verdict.allows());
    assert_eq!(verdict.policies.warnings.len(), 1);
}
