use serde_json::json;

use super::*;
use crate::cel::{Declarations, EXPRESSION_LIMIT, Program, Tree};

fn cluster() -> Json {
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1",
        "kind": "TenantCluster",
        "metadata": {"name": "a", "namespace": "b", "labels": {"team": "x"}},
        "spec": {"kubernetesVersion": "v1.31.4", "workers": {"replicas": 1}},
    })
}

fn mutated(patch_type: PatchType, expression: &str) -> Result<Option<Json>, Failed> {
    let program = Program::compile(expression, &Declarations::admission().mutation()).unwrap();
    let object = cluster();
    let texts = [object.to_string(), "null".into(), "null".into(), "null".into(), "null".into()];
    let trees: Vec<Tree<'_>> = texts.iter().map(|text: &String| Tree::parse(text).unwrap()).collect();
    let variables: Vec<Value<'_>> = trees.iter().map(Value::of).collect();
    let value = program.evaluate(&variables, EXPRESSION_LIMIT).value.unwrap();
    let schema = Schema::of(butler_api::GROUP, butler_api::VERSION, "TenantCluster").unwrap();
    mutate_by(patch_type, schema, &object, &value)
}

#[test]
fn a_configuration_is_laid_over_the_object_which_then_gets_its_defaults() {
    let expression = r#"Object{
        kind: "Other",
        metadata: Object.metadata{labels: {"cost-centre": "42"}},
        spec: Object.spec{workers: Object.spec.workers{replicas: 3}, workspaces: Object.spec.workspaces{}},
    }"#;
    let changed = mutated(PatchType::ApplyConfiguration, expression).unwrap().unwrap();
    assert_eq!(changed["kind"], "TenantCluster");
    assert_eq!(changed["metadata"]["labels"], json!({"team": "x", "cost-centre": "42"}));
    assert_eq!(changed["spec"]["workers"]["replicas"], 3);
    assert_eq!(changed["spec"]["workspaces"]["autoStopAfter"], Json::Null);
    assert!(changed["spec"]["workspaces"].as_object().is_some_and(|fields| !fields.is_empty()), "{changed}");
}

#[test]
fn a_patch_is_applied_unless_its_test_fails() {
    let expression = r#"[
        JSONPatch{op: "test", path: "/spec/workers/replicas", value: object.spec.workers.replicas},
        JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "c"},
    ]"#;
    let changed = mutated(PatchType::JsonPatch, expression).unwrap().unwrap();
    assert_eq!(changed["metadata"]["labels"], json!({"team": "x", "a/b": "c"}));
    let expression = r#"[JSONPatch{op: "test", path: "/spec/workers/replicas", value: 7}]"#;
    assert_eq!(mutated(PatchType::JsonPatch, expression), Ok(None));
}

#[test]
fn mistakes_are_told_in_kubernetes_words() {
    assert_eq!(
        mutated(PatchType::ApplyConfiguration, "Object{spec: Object.spec{replicasx: 1}}"),
        Err(Failed::Policy(
            "error applying patch: failed to convert patch object to typed object: .spec.replicasx: field not declared in \
             schema"
                .to_owned()
        ))
    );
    assert_eq!(
        mutated(PatchType::JsonPatch, r#"[JSONPatch{op: "remove", path: "/spec/none"}]"#),
        Err(Failed::Policy(
            "JSON Patch: error in remove for path: '/spec/none': Unable to remove nonexistent key: none: missing value"
                .to_owned()
        ))
    );
    assert_eq!(
        mutated(PatchType::JsonPatch, r#"[JSONPatch{op: "replace", path: "", value: {"a": 1}}]"#),
        Err(Failed::Request("Internal error occurred: Object 'Kind' is missing in '{\"a\":1}'".to_owned()))
    );
}
