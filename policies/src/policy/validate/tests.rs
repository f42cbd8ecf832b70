use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::fixtures::{FILE, loaded, tweaked};
use super::super::{
    Document, Extra, Judged, Nothing, Outcome, ParamKind, ParamScope, Request, Surroundings, complete,
    validate,
};
use crate::cel::Tree;
use crate::facts::Lookup;

fn request(object: Json) -> Json {
    let mut request = json!({
        "resource": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": "tenantclusters"},
        "kind": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "kind": "TenantCluster"},
        "operation": "CREATE",
        "name": "alpha",
        "namespace": "team-a",
        "userInfo": {"username": "anna@example.com"},
        "dryRun": false,
        "object": object,
    });
    complete(&mut request);
    request
}

fn cluster(replicas: u32) -> Json {
    json!({"metadata": {"name": "alpha", "labels": {"tier": "gold"}}, "spec": {"workers": {"replicas": replicas}}})
}

fn judge_with(file: &str, request: &Json, surroundings: &dyn Surroundings) -> Judged {
    let set = loaded(file).set;
    let text = request.to_string();
    validate(&set, &Request::read(&text).unwrap(), surroundings)
}

fn judge(file: &str, object: Json) -> Judged {
    judge_with(file, &request(object), &Nothing)
}

/// The messages of the denials.
fn denials(judged: &Judged) -> Vec<String> {
    judged.denials.iter().map(|denial| format!("{} {}", denial.reason.code(), denial.message())).collect()
}

fn with_spec(more: &str) -> String {
    tweaked(FILE, "  validations:", &format!("{more}  validations:"))
}

#[test]
fn a_validation_that_does_not_hold_denies_in_kubernetes_words() {
    let judged = judge(FILE, cluster(6));
    assert_eq!(
        denials(&judged),
        [
            "422 ValidatingAdmissionPolicy 'few-workers' with binding 'everywhere' denied request: failed expression: object.spec.workers.replicas <= 5",
        ]
    );
    assert_eq!(judged.evaluations[0].result, Outcome::Denied);
    assert_eq!(judged.decisions[0].held, Some(false));
    let judged = judge(FILE, cluster(5));
    assert!(judged.denials.is_empty());
    assert_eq!((judged.evaluations[0].result, judged.evaluations[0].cost), (Outcome::Allowed, 5));
}

#[test]
fn the_message_is_the_best_that_there_is() {
    let object = "object.spec.workers.replicas";
    for (more, expected) in [
        ("    message: ' too many '\n", "422 too many"),
        ("    message: many\n    reason: Forbidden\n", "403 many"),
        (
            &format!(
                "    messageExpression: \"'has ' + string({object})\"\n    reason: RequestEntityTooLarge\n"
            ),
            "413 has 6",
        ),
        ("    message: many\n    messageExpression: \"object.spec.none + 'x'\"\n", "422 many"),
        ("    message: many\n    messageExpression: \"'  '\"\n", "422 many"),
        ("    message: many\n    messageExpression: \"'a\\\\nb'\"\n", "422 many"),
        ("    messageExpression: \"''\"\n", "422 failed expression: object.spec.workers.replicas <= 5"),
    ] {
        let judged = judge(&tweaked(FILE, "<= 5\n", &format!("<= 5\n{more}")), cluster(6));
        let denial = &judged.denials[0];
        assert_eq!(format!("{} {}", denial.reason.code(), denial.detail), expected);
    }
}

#[test]
fn errors_follow_the_failure_policy() {
    let broken = "{\"spec\": {}}";
    let object: Json = serde_json::from_str(broken).unwrap();
    let judged = judge(FILE, object.clone());
    assert_eq!(
        judged.denials[0].detail,
        "expression 'object.spec.workers.replicas <= 5' resulted in error: no such key: workers"
    );
    assert_eq!((judged.evaluations[0].result, judged.decisions[0].held), (Outcome::Error, None));
    let judged = judge(&with_spec("  failurePolicy: Ignore\n"), object);
    assert!(judged.denials.is_empty());
    assert_eq!(judged.evaluations[0].result, Outcome::Ignored);
}

#[test]
fn bindings_warn_and_audit() {
    let judged = judge(&tweaked(FILE, "[Deny]", "[Warn, Audit]"), cluster(6));
    assert!(judged.denials.is_empty());
    assert_eq!(
        judged.warnings[0].message(),
        "Validation failed for ValidatingAdmissionPolicy 'few-workers' with binding 'everywhere': failed expression: object.spec.workers.replicas <= 5"
    );
    let [(key, value)] = judged.annotations.as_slice() else { panic!("{judged:?}") };
    assert_eq!(key, "validation.policy.admission.k8s.io/validation_failure");
    assert_eq!(
        serde_json::from_str::<Json>(value).unwrap(),
        json!([{
            "message": "failed expression: object.spec.workers.replicas <= 5", "policy": "few-workers",
            "binding": "everywhere", "expressionIndex": 0, "validationActions": ["Warn", "Audit"],
        }])
    );
    assert_eq!(judged.evaluations[0].result, Outcome::Warned);
}

#[test]
fn conditions_decide_before_validations() {
    for (conditions, failure, expected) in [
        ("- {name: a, expression: 'true'}", "Fail", Outcome::Denied),
        ("- {name: a, expression: 'false'}", "Fail", Outcome::Skipped),
        (
            "- {name: a, expression: 'object.none == 1'}\n  - {name: b, expression: 'false'}",
            "Fail",
            Outcome::Skipped,
        ),
        (
            "- {name: a, expression: 'object.none == 1'}\n  - {name: b, expression: 'true'}",
            "Fail",
            Outcome::Error,
        ),
        ("- {name: a, expression: 'object.none == 1'}", "Ignore", Outcome::Skipped),
        ("- {name: a, expression: 'namespaceObject == null'}", "Fail", Outcome::Denied),
    ] {
        let file = with_spec(&format!("  failurePolicy: {failure}\n  matchConditions:\n  {conditions}\n"));
        let judged = judge_with(&file, &request(cluster(6)), &World);
        assert_eq!(judged.evaluations[0].result, expected, "{conditions}");
    }
}

#[test]
fn only_what_is_matched_is_judged() {
    let rules = "- apiGroups: [butler.butlerlabs.dev]\n      apiVersions: [v1alpha1]\n      operations: [CREATE, UPDATE]\n      resources: [tenantclusters]\n";
    let rule = |group: &str, version: &str, operations: &str, resources: &str, more: &str| {
        format!(
            "- {{apiGroups: ['{group}'], apiVersions: ['{version}'], operations: [{operations}], resources: ['{resources}']{more}}}\n"
        )
    };
    let ours = "butler.butlerlabs.dev";
    for (text, expected) in [
        (rule(ours, "v1alpha1", "CREATE", "tenantclusters", ""), true),
        (rule("*", "*", "'*'", "*", ""), true),
        (rule("*", "*", "'*'", "*/*", ""), true),
        (rule("*", "*", "'*'", "tenantclusters/*", ""), true),
        (rule("*", "*", "'*'", "tenantclusters/scale", ""), false),
        (rule("*", "*", "'*'", "*/scale", ""), false),
        (rule("", "*", "'*'", "*", ""), false),
        (rule(ours, "v1", "'*'", "*", ""), false),
        (rule(ours, "*", "UPDATE", "*", ""), false),
        (rule(ours, "*", "CREATE", "teams", ""), false),
        (rule(ours, "*", "CREATE", "*", ", scope: Namespaced"), true),
        (rule(ours, "*", "CREATE", "*", ", scope: Cluster"), false),
        (rule(ours, "*", "CREATE", "*", ", resourceNames: [alpha]"), true),
        (rule(ours, "*", "CREATE", "*", ", resourceNames: [beta]"), false),
        (
            format!(
                "{rules}    excludeResourceRules:\n    {}",
                rule(ours, "*", "'*'", "*", ", resourceNames: [alpha]")
            ),
            false,
        ),
        (format!("{rules}    objectSelector: {{matchLabels: {{tier: gold}}}}\n"), true),
        (format!("{rules}    objectSelector: {{matchLabels: {{tier: silver}}}}\n"), false),
        (
            format!(
                "{rules}    objectSelector: {{matchExpressions: [{{key: tier, operator: NotIn, values: [gold]}}]}}\n"
            ),
            false,
        ),
        (
            format!(
                "{rules}    objectSelector: {{matchExpressions: [{{key: none, operator: DoesNotExist}}]}}\n"
            ),
            true,
        ),
        (format!("{rules}    namespaceSelector: {{matchLabels: {{env: prod}}}}\n"), true),
        (format!("{rules}    namespaceSelector: {{matchLabels: {{env: dev}}}}\n"), false),
    ] {
        let file = tweaked(FILE, rules, &text);
        let judged = judge_with(&file, &request(cluster(6)), &World);
        assert_eq!(!judged.denials.is_empty(), expected, "{text}");
        let bound = tweaked(
            FILE,
            "  policyName",
            &format!("  matchResources:\n    resourceRules:\n    {text}  policyName"),
        );
        let judged = judge_with(&bound, &request(cluster(6)), &World);
        assert_eq!(!judged.denials.is_empty(), expected, "{text}");
    }
}

/// A namespace, a param, and something of each of ours.
struct World;

fn document(json: Json) -> Document {
    let text = json.to_string();
    Arc::new(Tree::parse(&text).unwrap().into_owned())
}

impl Surroundings for World {
    fn namespace(&self, name: &str) -> Lookup<Document> {
        match name {
            "team-a" => Lookup::Found(document(
                json!({"metadata": {"name": name, "labels": {"env": "prod"}}, "spec": {}, "status": {}}),
            )),
            "lost" => Lookup::Unknown,
            _ => Lookup::Absent,
        }
    }

    fn param_scope(&self, kind: &ParamKind) -> Option<ParamScope> {
        (kind.kind == "Limit").then_some(ParamScope::Cluster)
    }

    fn param(&self, _: &ParamKind, _: &str, name: &str) -> Lookup<Document> {
        match name {
            "five" => Lookup::Found(document(json!({"metadata": {"name": "five"}, "most": 5}))),
            "lost" => Lookup::Unknown,
            _ => Lookup::Absent,
        }
    }

    fn params(&self, _: &ParamKind, _: &str) -> Lookup<Vec<(String, Document)>> {
        let limit = |name: &str, most: u32| {
            (
                name.to_owned(),
                document(json!({"metadata": {"name": name, "labels": {"is": "limit"}}, "most": most})),
            )
        };
        Lookup::Found(vec![limit("b", 5), limit("a", 4)])
    }

    fn extra(&self, extra: Extra, _: &Request<'_>) -> Lookup<Document> {
        match extra {
            Extra::Usage => Lookup::Found(document(json!({"nodes": 7}))),
            Extra::Team => Lookup::Unknown,
            _ => Lookup::Absent,
        }
    }
}

#[test]
fn params_come_by_name_or_by_label() {
    for (reference, expected) in [
        ("name: five, parameterNotFoundAction: Deny", vec!["at most 5"]),
        ("name: none, parameterNotFoundAction: Allow", vec![]),
        (
            "name: none, parameterNotFoundAction: Deny",
            vec![
                "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
            ],
        ),
        (
            "name: lost, parameterNotFoundAction: Allow",
            vec![
                "failed to configure binding: paramKind kind `example.com/v1, Kind=Limit` not yet synced to use for admission",
            ],
        ),
        (
            "selector: {matchLabels: {is: limit}}, parameterNotFoundAction: Deny",
            vec!["at most 4", "at most 5"],
        ),
        (
            "name: five, namespace: a, parameterNotFoundAction: Deny",
            vec![
                "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
            ],
        ),
    ] {
        let file = tweaked(
            FILE,
            "  validations:",
            "  paramKind: {apiVersion: example.com/v1, kind: Limit}\n  validations:",
        );
        let file = tweaked(
            &file,
            "replicas <= 5",
            "replicas <= params.most\n    messageExpression: \"'at most ' + string(params.most)\"",
        );
        let file = tweaked(&file, "  policyName", &format!("  paramRef: {{{reference}}}\n  policyName"));
        let judged = judge_with(&file, &request(cluster(6)), &World);
        let details: Vec<&str> = judged.denials.iter().map(|denial| denial.detail.as_str()).collect();
        assert_eq!(details, expected, "{reference}");
    }
}

#[test]
fn a_namespace_that_is_not_there_denies() {
    let file =
        tweaked(FILE, "object.spec.workers.replicas <= 5", "namespaceObject.metadata.labels.env == 'prod'");
    assert!(judge_with(&file, &request(cluster(6)), &World).denials.is_empty());
    let mut elsewhere = request(cluster(6));
    elsewhere["namespace"] = json!("gone");
    let judged = judge_with(&file, &elsewhere, &World);
    assert_eq!(
        (judged.denials[0].reason.code(), judged.denials[0].detail.as_str()),
        (404, "namespaces \"gone\" not found")
    );
}

#[test]
fn what_is_ours_is_null_when_absent_and_an_error_when_unknown() {
    for (expression, expected) in [
        ("usage.nodes < 8", None),
        ("usage.nodes < 7", Some("failed expression: usage.nodes < 7")),
        ("cluster == null && provider == null && config == null", None),
        (
            "team.spec.x == 1",
            Some("expression 'team.spec.x == 1' resulted in error: `team` cannot be read at the moment"),
        ),
    ] {
        let file = tweaked(FILE, "object.spec.workers.replicas <= 5", expression);
        let judged = judge_with(&file, &request(cluster(6)), &World);
        assert_eq!(judged.denials.first().map(|denial| denial.detail.as_str()), expected, "{expression}");
    }
}

#[test]
fn expressions_see_the_request_as_kubernetes_shows_it() {
    for expression in [
        "request.operation == 'CREATE' && request.name == 'alpha' && request.namespace == 'team-a'",
        "request.kind.kind == 'TenantCluster' && request.resource.resource == 'tenantclusters'",
        "request.userInfo.username == 'anna@example.com' && !has(request.userInfo.groups)",
        "!has(request.subResource) && request.dryRun == false",
        "dyn(request).uid == '' && dyn(request).object == null",
        "oldObject == null",
    ] {
        let file = tweaked(FILE, "object.spec.workers.replicas <= 5", &format!("\"{expression}\""));
        assert_eq!(denials(&judge(&file, cluster(1))), Vec::<String>::new(), "{expression}");
    }
}

#[test]
fn variables_are_evaluated_when_they_are_looked_at() {
    let file = with_spec(
        "  variables:\n  - {name: count, expression: object.spec.workers.replicas}\n  - {name: bad, expression: object.none}\n",
    );
    let file =
        tweaked(&file, "object.spec.workers.replicas <= 5", "variables.count <= 5 || variables.bad == 1");
    assert!(judge(&file, cluster(5)).denials.is_empty());
    assert_eq!(
        judge(&file, cluster(6)).denials[0].detail,
        "expression 'variables.count <= 5 || variables.bad == 1' resulted in error: composited variable \"bad\" fails to evaluate: no such key: none"
    );
}

#[test]
fn audit_annotations_are_joined_and_cut() {
    let file = tweaked(
        FILE,
        "---\n",
        "  auditAnnotations:\n  - {key: who, valueExpression: \"'  ' + request.userInfo.username\"}\n  - {key: none, valueExpression: 'null'}\n---\n",
    );
    let judged = judge(&file, cluster(1));
    assert_eq!(judged.annotations, [("few-workers/who".to_owned(), "anna@example.com".to_owned())]);
    let failing = tweaked(&file, "'null'", "'object.none + \"\"'");
    let judged = judge(&failing, cluster(1));
    assert_eq!(
        judged.denials[0].detail,
        "expression 'object.none + \"\"' resulted in error: no such key: none"
    );
    for (longest, kept) in
        [(9, "€€"), (6, "€€"), (5, "€\u{fffd}\u{fffd}"), (4, "€\u{fffd}"), (3, "€"), (0, "")]
    {
        assert_eq!(super::cut("€€".to_owned(), longest), kept);
    }
}

#[test]
fn a_budget_that_is_used_up_is_an_error() {
    let loop_ = "lists.range(900).all(x, lists.range(900).all(y, x + y >= 0))";
    let expensive = |times: usize| {
        let validations: String = (0..times).map(|_| format!("  - expression: {loop_}\n")).collect();
        tweaked(FILE, "  - expression: object.spec.workers.replicas <= 5\n", &validations)
    };
    let judged = judge(&expensive(1), cluster(1));
    assert!(
        judged.denials[0]
            .detail
            .ends_with("resulted in error: operation cancelled: actual cost limit exceeded"),
        "{:?}",
        judged.denials
    );
    let judged = judge(&expensive(11), cluster(1));
    assert_eq!(
        denials(&judged),
        [
            "422 ValidatingAdmissionPolicy 'few-workers' with binding 'everywhere' denied request: validation failed due to running out of cost budget, no further validation rules will be run",
        ]
    );
    assert_eq!(judged.evaluations[0].cost, 10_000_000);
}
