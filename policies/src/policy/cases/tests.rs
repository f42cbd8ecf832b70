use serde_json::json;

use super::{Cases, Ran, Seen, Side};
use crate::policy::fixtures::{FILE, MUTATING, loaded, told, tweaked};
use crate::policy::{PolicySet, SourceFile};

/// Cases of the policy in [`FILE`].
const CASES: &str = r#"object:
  apiVersion: butler.butlerlabs.dev/v1alpha1
  kind: TenantCluster
  metadata: {name: one, namespace: team-a}
  spec: {workers: {replicas: 3}}
cases:
  - name: few workers
    admitted: true
  - name: too many workers
    change: {spec: {workers: {replicas: 6}}}
    denied: "failed expression: object.spec.workers.replicas <= 5"
"#;

fn source(text: &str) -> SourceFile {
    SourceFile { path: "cases.yaml".to_owned(), text: text.to_owned() }
}

fn ran(cases: &str, set: &PolicySet) -> Vec<Ran> {
    let file = source(cases);
    let cases = Cases::read(&file)
        .unwrap_or_else(|problems| panic!("{}", told(&problems, std::slice::from_ref(&file)).join("\n")));
    cases.cases.iter().map(|case| case.run(set)).collect()
}

fn mistakes(text: &str) -> Vec<String> {
    let file = source(text);
    told(&Cases::read(&file).unwrap_err(), &[file])
}

#[test]
fn a_case_is_held_against_what_the_policies_say() {
    let set = loaded(FILE).set;
    let all = ran(CASES, &set);
    assert!(all.iter().all(Ran::passed), "{all:?}");

    let wrong = tweaked(CASES, "replicas: 6", "replicas: 5");
    let [_, failed] = &*ran(&wrong, &set) else { panic!() };
    assert_eq!(failed.actual, json!({"admitted": true, "warnings": [], "patched": {}}));
    let expected = json!({"denied": ["failed expression: object.spec.workers.replicas <= 5"], "warnings": [], "patched": {}});
    assert_eq!(failed.expected, expected);
    assert!(!failed.passed());
}

#[test]
fn a_message_may_be_written_with_the_names_of_policy_and_binding() {
    let set = loaded(FILE).set;
    let introduction =
        "ValidatingAdmissionPolicy 'few-workers' with binding 'everywhere' denied request: failed expression";
    let whole = tweaked(CASES, "failed expression", introduction);
    assert!(ran(&whole, &set).iter().all(Ran::passed));
    let other = whole.replace("'everywhere'", "'nowhere'");
    assert!(!ran(&other, &set)[1].passed());
}

#[test]
fn what_is_known_comes_from_the_case() {
    let expression = "team.spec.displayName == 'A' && usage.nodes == 3 && config == null \
         && namespaceObject.metadata.labels.env == 'prod' && request.userInfo.username == 'ana@example.org' \
         && params.data.size == '3'";
    let policy = tweaked(FILE, "object.spec.workers.replicas <= 5", expression);
    let policy = tweaked(&policy, "spec:\n", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n");
    let reference = "  policyName: few-workers\n  paramRef: {name: sizes, parameterNotFoundAction: Deny}\n";
    let set = loaded(&tweaked(&policy, "  policyName: few-workers\n", reference)).set;
    let cases = format!(
        r#"{}facts:
  team: {{spec: {{displayName: A}}}}
  usage: {{nodes: 3}}
request: {{userInfo: {{username: ana@example.org}}}}
params:
  - {{apiVersion: v1, kind: ConfigMap, metadata: {{name: sizes, namespace: team-a}}, data: {{size: "3"}}}}
cases:
  - name: all is as it should be
    namespace: {{metadata: {{labels: {{env: prod}}}}}}
    admitted: true
  - name: a case changes what stands at the top
    namespace: {{metadata: {{labels: {{env: prod}}}}}}
    facts: {{usage: {{nodes: 4}}}}
    denied: "failed expression: {expression}"
  - name: no params
    params: []
    denied: "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
"#,
        CASES.split("cases:").next().unwrap()
    );
    for ran in ran(&cases, &set) {
        assert_eq!(ran.actual, ran.expected);
    }
}

#[test]
fn every_operation_is_sent_as_the_api_server_sends_it() {
    let policy = tweaked(FILE, "[CREATE, UPDATE]", "['*']");
    let policy = tweaked(&policy, "[tenantclusters]", "[tenantclusters, tenantclusters/scale]");
    let message = "validations:\n  - messageExpression: >-\n      request.operation + ' ' + request.?subResource.orValue('-') + ' ' +\n      \
                   string(object == null ? 0 : object.kind == 'Scale' ? object.spec.replicas : object.spec.workers.replicas) + ' ' +\n      \
                   string(oldObject == null ? 0 : oldObject.kind == 'Scale' ? oldObject.spec.replicas : oldObject.spec.workers.replicas)\n   ";
    let policy = tweaked(&policy, "validations:\n  -", message);
    let set = loaded(&tweaked(&policy, "object.spec.workers.replicas <= 5", "request.name == 'another'")).set;
    let head = CASES.split("cases:").next().unwrap();
    let cases = format!(
        "{head}cases:\n  \
           - {{name: a, change: {{spec: {{workers: {{replicas: 4}}}}}}, denied: CREATE - 4 0}}\n  \
           - {{name: b, operation: update, old: {{spec: {{workers: {{replicas: 4}}}}}}, denied: UPDATE - 3 4}}\n  \
           - {{name: c, operation: delete, denied: DELETE - 0 3}}\n  \
           - {{name: d, operation: scale, replicas: 7, denied: UPDATE scale 7 3}}\n"
    );
    for ran in ran(&cases, &set) {
        assert_eq!(ran.actual, ran.expected);
    }
}

#[test]
fn warnings_audit_and_what_is_patched_are_asserted() {
    let policy = tweaked(FILE, "[Deny]", "[Warn, Audit]");
    let policy = tweaked(
        &policy,
        "  validations:",
        "  auditAnnotations:\n  - {key: size, valueExpression: 'string(object.spec.workers.replicas)'}\n  validations:",
    );
    let mutating =
        tweaked(MUTATING, "path: \"/metadata/labels/a\", value: \"b\"", "path: \"/spec/size\", value: 7");
    let set = loaded(&format!("{policy}---\n{mutating}")).set;
    let message = "failed expression: object.spec.workers.replicas <= 5";
    let cases = format!(
        "{}cases:\n  - name: warned\n    change: {{spec: {{workers: {{replicas: 6}}}}}}\n    admitted: true\n    \
         warnings: ['{message}']\n    audit: {{size: '6', validation_failure: '{message}'}}\n    patched: {{spec: {{size: 7}}}}\n",
        CASES.split("cases:").next().unwrap()
    );
    let [only] = &*ran(&cases, &set) else { panic!() };
    assert_eq!(only.actual, only.expected);
    let forgotten = tweaked(&cases, "    patched: {spec: {size: 7}}\n", "");
    let [only] = &*ran(&forgotten, &set) else { panic!() };
    assert_eq!(
        (&only.actual["patched"], &only.expected["patched"]),
        (&json!({"spec": {"size": 7}}), &json!({}))
    );
    let silent = tweaked(&cases, &format!("warnings: ['{message}']"), "warnings: []");
    assert!(!ran(&silent, &set)[0].passed());
}

#[test]
fn what_no_case_has_shown_is_told() {
    let policy = format!("{FILE}---\n{}", MUTATING.replace("operations: [CREATE]", "operations: [UPDATE]"));
    let set = loaded(&policy).set;
    let mut seen = Seen::default();
    let sides = |seen: &Seen| -> Vec<(String, Side)> {
        seen.missing(&set).into_iter().map(|unseen| (unseen.policy, unseen.side)).collect()
    };
    assert_eq!(sides(&seen).len(), 4);
    ran(CASES, &set).iter().for_each(|ran| seen.note(ran));
    let label = |side| ("label".to_owned(), side);
    assert_eq!(sides(&seen), [label(Side::True), label(Side::False)]);
    let labelled = "  metadata: {name: one, namespace: team-a, labels: {c: d}}";
    let cases = tweaked(CASES, "  metadata: {name: one, namespace: team-a}", labelled);
    let cases = format!(
        "{}cases:\n  - {{name: a, operation: update, admitted: true, patched: {{metadata: {{labels: {{a: b}}}}}}}}\n",
        cases.split("cases:").next().unwrap()
    );
    ran(&cases, &set).iter().for_each(|ran| seen.note(ran));
    assert_eq!(sides(&seen), [label(Side::False)]);
    let there = tweaked(&cases, "labels: {c: d}", "labels: {a: b}")
        .replace(", patched: {metadata: {labels: {a: b}}}", "");
    ran(&there, &set).iter().for_each(|ran| seen.note(ran));
    assert_eq!(sides(&seen), []);
}

#[test]
fn a_mistake_is_told_at_its_place() {
    for (from, to, expected) in [
        (
            "    admitted: true",
            "    admited: true\n    admitted: true",
            "8:5 error unknown-field: `cases[0].admited`: there is no such field (did you mean `admitted`?)",
        ),
        (
            "    admitted: true\n",
            "",
            "7:5 error invalid-value: cases[0]: has neither `admitted` nor `denied`; exactly one says what has to come of it",
        ),
        (
            "admitted: true",
            "admitted: 1",
            "8:15 error wrong-type: cases[0].admitted: is a number; it has to be a boolean",
        ),
        (
            "name: few workers",
            "name: too many workers",
            "9:11 error duplicate-name: cases[1].name: `too many workers` is there twice",
        ),
        (
            "TenantCluster",
            "Deployment",
            "3:9 error unknown-kind: object.kind: `Deployment` of `butler.butlerlabs.dev/v1alpha1` is nothing that is sent to Butler \
             (sent are TenantCluster, TenantAddon, Team, ButlerConfig, ProviderConfig, NetworkPool, AddonDefinition, \
             ClusterCreationPolicy of `butler.butlerlabs.dev/v1alpha1`)",
        ),
        (
            "    admitted: true",
            "    admitted: true\n    request: {userInfo: {user: ana}}",
            "9:26 error unknown-field: `cases[0].request.userInfo.user`: there is no such field (there are: username, uid, groups, extra)",
        ),
        (
            "    admitted: true",
            "    admitted: true\n    facts: {teams: {}}",
            "9:13 error unknown-field: `cases[0].facts.teams`: there is no such field (did you mean `team`?)",
        ),
        (
            "    admitted: true",
            "    admitted: true\n    operation: patch",
            "9:16 error invalid-value: cases[0].operation: is `patch`; allowed are create, update, delete, scale",
        ),
        (
            "    admitted: true",
            "    admitted: true\n    old: {}",
            "9:5 error invalid-value: cases[0].old: there is no old object of one that is created (set `operation: update`, or remove it)",
        ),
        (
            "    admitted: true",
            "    admitted: true\n    operation: scale",
            "7:5 error invalid-value: cases[0].replicas: has to be set with `operation: scale`",
        ),
    ] {
        assert_eq!(mistakes(&tweaked(CASES, from, to)), [expected], "{to}");
    }
    assert_eq!(mistakes(""), ["1:1 error missing-field: cases: has to be set"]);
    assert_eq!(mistakes("cases: [{name: a, admitted: true}]").len(), 1);
}
