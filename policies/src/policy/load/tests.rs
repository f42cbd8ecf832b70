use super::super::fixtures::{FILE, MUTATING, files, loaded, told, tweaked};
use super::super::{Extra, Kind, PolicySet, SourceFile, Stated};

/// All that is said of a file.
fn problems(text: &str) -> Vec<String> {
    let files = files(text);
    match PolicySet::load(&files) {
        Ok(loaded) => told(&loaded.problems, &files),
        Err(problems) => told(&problems, &files),
    }
}

#[test]
fn a_policy_with_its_binding_is_loaded() {
    let set = loaded(&format!("{FILE}---\n{MUTATING}")).set;
    let [validating, mutating] = set.policies() else { panic!("{:?}", set.policies()) };
    assert_eq!(
        (validating.name.as_str(), validating.kind, validating.line),
        ("few-workers", Kind::Validating, 1)
    );
    assert_eq!(validating.bindings[0].name, "everywhere");
    assert_eq!(validating.bindings[0].line, 15);
    let stated = |stated: &Stated| (stated.text.clone(), stated.line);
    let expressions: Vec<_> = validating.expressions.iter().map(stated).collect();
    assert_eq!(expressions, [("object.spec.workers.replicas <= 5".to_owned(), 13)]);
    assert_eq!((mutating.name.as_str(), mutating.kind), ("label", Kind::Mutating));
    assert_eq!(set.hash().len(), 64);
    assert!(problems(FILE).is_empty());
}

#[test]
fn each_way_to_be_wrong() {
    let spec = "  validations:\n  - expression: object.spec.workers.replicas <= 5\n";
    for (from, to, expected) in [
        (
            "validations:",
            "validation:",
            vec![
                "6:3 error missing-field: spec.validations: has to have an item, or `auditAnnotations` has to, or the policy does nothing",
                "12:3 error unknown-field: `spec.validation`: there is no such field (did you mean `validations`?)",
            ],
        ),
        (
            "  name: few-workers",
            "  name: Few",
            vec![
                "4:9 error invalid-value: metadata.name: is `Few`; it has to be lower-case letters, digits, `-` and `.`, with a letter or digit at both ends",
                "4:9 warning unbound-policy: ValidatingAdmissionPolicy `Few` has no binding, so it does nothing (add a binding with `policyName: Few`)",
                "20:15 error unknown-policy: spec.policyName: there is no ValidatingAdmissionPolicy `few-workers`",
            ],
        ),
        (
            "  name: few-workers",
            "  name: 5",
            vec![
                "4:9 error wrong-type: metadata.name: is a number; it has to be a string (put it in quotes)",
            ],
        ),
        (
            "policyName: few-workers",
            "policyName: other",
            vec![
                "4:9 warning unbound-policy: ValidatingAdmissionPolicy `few-workers` has no binding, so it does nothing (add a binding with `policyName: few-workers`)",
                "20:15 error unknown-policy: spec.policyName: there is no ValidatingAdmissionPolicy `other`",
            ],
        ),
        (
            "[Deny]",
            "[Deny, Warn]",
            vec![
                "21:3 error invalid-value: spec.validationActions: has both `Deny` and `Warn`, which would tell the user twice; keep one",
            ],
        ),
        (
            "[Deny]",
            "[Denied]",
            vec![
                "21:23 error invalid-value: spec.validationActions[0]: is `Denied`; allowed are Deny, Warn, Audit",
            ],
        ),
        (
            "[Deny]",
            "[Deny, Deny]",
            vec!["21:29 error duplicate-name: spec.validationActions[1]: `Deny` is there twice"],
        ),
        (
            "[CREATE, UPDATE]",
            "[CREATE, create]",
            vec![
                "10:28 error invalid-value: spec.matchConstraints.resourceRules[0].operations[1]: is `create`; allowed are CREATE, UPDATE, DELETE, CONNECT, *",
            ],
        ),
        (
            "[tenantclusters]",
            "['*', tenantclusters, tenantclusters/scale]",
            vec![
                "11:24 error invalid-value: spec.matchConstraints.resourceRules[0].resources[1]: `tenantclusters` is among `*` already; keep one of them",
            ],
        ),
        (
            "[CREATE, UPDATE]",
            "['*', UPDATE]",
            vec![
                "10:7 error invalid-value: spec.matchConstraints.resourceRules[0].operations: `*` stands for all of them, so it has to stand alone",
            ],
        ),
        (
            "[tenantclusters]",
            "[pods]",
            vec![
                "6:3 warning unmatched-kind: spec.matchConstraints: ValidatingAdmissionPolicy `few-workers` is about nothing that is sent to Butler, so it does nothing here (sent are tenantclusters, tenantaddons, teams, butlerconfigs, providerconfigs, networkpools, addondefinitions, clustercreationpolicies of `butler.butlerlabs.dev/v1alpha1`)",
            ],
        ),
        (
            "k8s.io/v1\n",
            "k8s.io/v1beta1\n",
            vec![
                "1:13 error unknown-kind: apiVersion: is `admissionregistration.k8s.io/v1beta1`; it has to be `admissionregistration.k8s.io/v1`",
            ],
        ),
        (
            "kind: ValidatingAdmissionPolicy\n",
            "kind: ValidatingWebhookConfiguration\n",
            vec![
                "2:7 error unknown-kind: kind: `ValidatingWebhookConfiguration` is nothing that is loaded here (there are ValidatingAdmissionPolicy, MutatingAdmissionPolicy and a Binding of each)",
            ],
        ),
        (
            "<= 5",
            "<= 5\n    message: |\n      a\n      b",
            vec![
                "15:7 error invalid-value: spec.validations[0].message: has several lines; it has to be one (write it after `>-`, which joins lines)",
            ],
        ),
        (
            "<= 5",
            "<= 5\n    reason: Bad",
            vec![
                "14:13 error invalid-value: spec.validations[0].reason: is `Bad`; allowed are Forbidden, Invalid, RequestEntityTooLarge",
            ],
        ),
        (
            "object.spec.workers.replicas <= 5",
            "object.spec.fine",
            vec![
                "13:17 error wrong-result: spec.validations[0].expression: comes to `dyn`; it has to come to `bool` (the type of a field is not known beforehand; compare it, as in `… == true`, or convert it)",
            ],
        ),
        (
            "object.spec.workers.replicas <= 5",
            "params.x == 1",
            vec![
                "13:17 error cel: spec.validations[0].expression: undeclared reference to 'params' (in container '') (there are params only in a policy with `paramKind`)",
            ],
        ),
        (
            "object.spec.workers.replicas <= 5",
            "true && authorizer.path('/').check('get').allowed()",
            vec![
                "13:25 error authorizer: spec.validations[0].expression: `authorizer` is not available: policies are judged without asking an API server",
            ],
        ),
        (
            spec,
            "  variables:\n  - name: a\n    expression: variables.b\n  - name: b\n    expression: '1'\n  validations:\n  - expression: variables.a == 1\n",
            vec![
                "14:27 error cel: spec.variables[0].expression: undefined field 'b' (a variable can use only those that are written before it)",
                "18:27 error cel: spec.validations[0].expression: undefined field 'a' (a variable can use only those that are written before it)",
            ],
        ),
        (
            spec,
            "  variables:\n  - name: 1a\n    expression: '1'\n  validations:\n  - expression: 'true'\n",
            vec!["13:11 error invalid-value: spec.variables[0].name: is `1a`, which no expression can name"],
        ),
        (
            "  validations:",
            "  matchConditions:\n  - name: a b\n    expression: variables.a\n  validations:",
            vec![
                "13:11 error invalid-value: spec.matchConditions[0].name: is `a b`; it has to be letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
                "14:17 error cel: spec.matchConditions[0].expression: undeclared reference to 'variables' (in container '') (conditions come before variables, so they cannot use them)",
            ],
        ),
        (
            "  validations:",
            "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations:",
            vec![
                "16:1 warning missing-params: spec.paramRef: is not set, although the policy takes params; they are null to it (set `paramRef`)",
            ],
        ),
        (
            "  policyName",
            "  paramRef: {name: a, parameterNotFoundAction: Deny}\n  policyName",
            vec![
                "20:14 error unused-params: spec.paramRef: the policy takes no params (set `paramKind` of the policy, or remove it)",
            ],
        ),
        (
            "  policyName",
            "  paramRef: {parameterNotFoundAction: Never}\n  policyName",
            vec![
                "20:14 error invalid-value: spec.paramRef: has neither `name` nor `selector`; set one of them",
                "20:39 error invalid-value: spec.paramRef.parameterNotFoundAction: is `Never`; allowed are Allow, Deny",
            ],
        ),
        (
            "  policyName",
            "  matchResources: {objectSelector: {matchExpressions: [{key: a, operator: In}]}}\n  policyName",
            vec![
                "20:57 error invalid-value: spec.matchResources.objectSelector.matchExpressions[0].values: has to have values with this operator",
            ],
        ),
    ] {
        let told = problems(&tweaked(FILE, from, to));
        assert_eq!(told, expected, "{to}");
    }
}

#[test]
fn mutations_are_read_strictly_too() {
    for (from, to, expected) in [
        (
            "  reinvocationPolicy: Never\n",
            "",
            vec!["5:1 error missing-field: spec.reinvocationPolicy: has to be set"],
        ),
        (
            "patchType: JSONPatch",
            "patchType: ApplyConfiguration",
            vec![
                "14:5 error missing-field: spec.mutations[0].applyConfiguration: has to be set",
                "15:5 error invalid-value: spec.mutations[0].jsonPatch: has to be left out with this patchType",
            ],
        ),
        (
            "\"b\"}]",
            "\"b\"}][0]",
            vec![
                "16:20 error wrong-result: spec.mutations[0].jsonPatch.expression: comes to `JSONPatch`; it has to come to `list(JSONPatch)`",
            ],
        ),
    ] {
        assert_eq!(
            problems(&tweaked(MUTATING, from, to)).len(),
            expected.len(),
            "{:?}",
            problems(&tweaked(MUTATING, from, to))
        );
        for (told, expected) in problems(&tweaked(MUTATING, from, to)).iter().zip(expected) {
            assert_eq!(told.split_once(' ').unwrap().1, expected.split_once(' ').unwrap().1);
        }
    }
}

#[test]
fn a_mistake_is_shown_under_its_characters_in_every_style() {
    for (written, expected) in [
        ("object.spec.workers.replicas <= nothing", "13:49"),
        ("\"object.spec.workers.replicas <= nothing\"", "13:50"),
        ("'object.metadata.name == ''a'' && nothing'", "13:51"),
        ("|\n      object.spec.workers.replicas <= 5 &&\n      nothing\n", "15:7"),
        (">-\n      object.spec.workers.replicas <= 5 &&\n      nothing", "15:7"),
        ("object.spec.workers.replicas <= 5\n      && nothing", "14:10"),
    ] {
        let told = problems(&tweaked(FILE, "object.spec.workers.replicas <= 5", written));
        let place = format!(
            "{expected} error cel: spec.validations[0].expression: undeclared reference to 'nothing' (in container '')"
        );
        assert_eq!(told, [place], "{written}");
    }
}

#[test]
fn problems_are_rendered_with_a_caret() {
    let text = tweaked(FILE, "replicas <= 5", "replicas <= five");
    let files = files(&text);
    let problems = PolicySet::load(&files).unwrap_err();
    let expected = "\
error[cel]: spec.validations[0].expression: undeclared reference to 'five' (in container '')
  --> policy.yaml:13:49
   |
13 |   - expression: object.spec.workers.replicas <= five
   |                                                 ^^^^";
    assert_eq!(problems[0].render(&files), expected);
}

#[test]
fn lists_json_and_static_names_are_loaded() {
    let json = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
         "metadata": {"name": "a.static.k8s.io"}, "spec": {
           "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]},
           "validations": [{"expression": "object != null"}]}},
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
         "metadata": {"name": "b.static.k8s.io"},
         "spec": {"policyName": "a.static.k8s.io", "validationActions": ["Audit"]}}]}"#;
    let loaded = loaded(json);
    assert_eq!(loaded.set.policies()[0].bindings[0].name, "b.static.k8s.io");
    assert!(loaded.problems.is_empty());
}

#[test]
fn what_kubernetes_does_not_have_makes_a_policy_ours_only() {
    let text =
        tweaked(FILE, "replicas <= 5", "replicas <= 5 && usage.nodes < 10 && [1].all(team, team == 1)");
    let loaded = loaded(&text);
    let ours = loaded.set.policies()[0].ours_only.clone().unwrap();
    assert_eq!((ours.extra, ours.place), (Extra::Usage, (13, 54)));
    let local = tweaked(FILE, "replicas <= 5", "replicas <= 5 && [1].all(team, team == 1)");
    assert!(super::super::fixtures::loaded(&local).set.policies()[0].ours_only.is_none());
}

#[test]
fn params_are_in_files_or_in_the_cluster() {
    let with = |reference: &str, object: &str| {
        let text =
            tweaked(FILE, "  validations:", "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  validations:");
        let text = tweaked(
            &text,
            "  policyName",
            &format!("  paramRef: {{{reference}, parameterNotFoundAction: Deny}}\n  policyName"),
        );
        text + object
    };
    let map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: butler-system}\ndata: {most: '5'}\n";
    let here = loaded(&with("name: limits, namespace: butler-system", map));
    assert!(here.set.param_kinds().is_empty() && here.problems.is_empty());
    let elsewhere = loaded(&with("name: limits, namespace: other", map));
    assert_eq!(elsewhere.set.param_kinds().len(), 1);
    assert_eq!(elsewhere.set.wanted_params().len(), 1);
    assert_eq!(elsewhere.problems[0].code, "live-params");
    let twice = problems(&with("name: limits", &format!("{map}{map}")));
    assert_eq!(
        twice,
        ["32:18 error duplicate-name: metadata.name: there is another object `limits` of this kind"]
    );
    let nowhere = problems(&format!("{FILE}{map}"));
    let expected = "25:18 warning unused-object: no policy takes `ConfigMap` of `v1` as its params, so `limits` does nothing (set `paramKind` of a policy, or remove it)";
    assert_eq!(nowhere, [expected]);
}

#[test]
fn names_are_unique_over_all_files() {
    let file = |path: &str| SourceFile { path: path.to_owned(), text: FILE.to_owned() };
    let files = [file("a.yaml"), file("b.yaml")];
    let problems = PolicySet::load(&files).unwrap_err();
    assert_eq!(
        told(&problems, &files),
        [
            "4:9 error duplicate-name: metadata.name: there is another ValidatingAdmissionPolicy `few-workers`",
            "18:9 error duplicate-name: metadata.name: there is another binding `everywhere`",
        ]
    );
    assert!(problems.iter().all(|problem| problem.file == "b.yaml"));
}

#[test]
fn the_hash_tells_sets_apart() {
    let hash = |text: &str| loaded(text).set.hash().to_owned();
    assert_eq!(hash(FILE), hash(FILE));
    assert_ne!(hash(FILE), hash(&tweaked(FILE, "<= 5", "<= 6")));
}

#[test]
fn the_hash_does_not_depend_on_where_the_directory_is() {
    let of = |paths: &[&str]| {
        let file = |path: &&str| SourceFile { path: (*path).to_owned(), text: String::new() };
        super::hash(&paths.iter().map(file).collect::<Vec<_>>())
    };
    assert_eq!(of(&["/etc/policies/a.yaml", "/etc/policies/b/c.yaml"]), of(&["b/c.yaml", "a.yaml"]));
    assert_eq!(of(&["here/a.yaml"]), of(&["a.yaml"]));
    assert_ne!(of(&["a.yaml", "b/c.yaml"]), of(&["a.yaml", "c.yaml"]));
}

#[test]
fn hostile_files_are_refused_cleanly() {
    let many = (0..500).map(|number| format!("    bad{number}: 1\n")).collect::<String>();
    let many = problems(&tweaked(FILE, "  validations:", &format!("{many}  validations:")));
    assert_eq!(many.last().map(String::as_str), Some("0:0 error more: and 400 more problems"));
    assert_eq!(many.len(), 101, "{:?}", &many[98..]);

    let variables =
        (0..2_000).map(|number| format!("  - name: v{number}\n    expression: '1'\n")).collect::<String>();
    let told =
        problems(&tweaked(FILE, "  validations:", &format!("  variables:\n{variables}  validations:")));
    assert_eq!(told, ["12:3 error too-many: spec.variables: has 2000 items; 1000 are allowed"]);

    let cycle = "  variables:\n  - name: a\n    expression: variables.a + 1\n  validations:";
    assert_eq!(problems(&tweaked(FILE, "  validations:", cycle)).len(), 1);

    let long = format!("'{}'", "a".repeat(5 << 20));
    assert_eq!(
        problems(&tweaked(FILE, "few-workers", &long)),
        ["1:1 error too-large: the file is larger than 4194304 bytes"]
    );

    for text in [
        "",
        "---\n",
        "a",
        "[]",
        "{}",
        "\u{feff}a: 1",
        "- - - -",
        "\0",
        "a: \u{1}",
        "%YAML 9",
        "&a *a",
        "? [a]\n: b",
    ] {
        let _ = problems(text);
    }
}
