use serde_json::json;

use super::*;
use crate::cel::{Declarations, EXPRESSION_LIMIT, Program, Tree};

fn evaluated<T>(expression: &str, then: impl FnOnce(&Value<'_>) -> T) -> T {
    let program = Program::compile(expression, &Declarations::admission().mutation()).unwrap();
    let object = r#"{"spec": {"a": {"b": [1, [2.5, null]]}, "big": 9007199254740993, "n": null}}"#;
    let texts = [object, "null", "null", "null", "null"];
    let trees = texts.map(|text| Tree::parse(text).unwrap());
    let variables: Vec<Value<'_>> = trees.iter().map(Value::of).collect();
    then(&program.evaluate(&variables, EXPRESSION_LIMIT).value.unwrap())
}

fn configured(expression: &str) -> Result<Json, String> {
    evaluated(expression, configuration)
}

fn written(expression: &str) -> Result<Json, String> {
    let expression = format!(r#"[JSONPatch{{op: "add", path: "/x", value: {expression}}}]"#);
    evaluated(&expression, |value| operations(value).map(|mut all| all.remove(0).value.unwrap()))
}

#[test]
fn an_object_becomes_what_it_would_be_in_a_file() {
    let expression = r#"Object{
        metadata: Object.metadata{labels: {"a": "b"}},
        spec: Object.spec{
            n: 1, d: 2.5, t: true, list: [Object.spec.list{x: 1}, Object.spec.list{x: 2}],
            ?missing: optional.none(), ?given: optional.of("x"), copied: object.spec.a,
        },
    }"#;
    let expected = json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "n": 1, "d": 2.5, "t": true, "list": [{"x": 1}, {"x": 2}], "given": "x",
            "copied": {"b": [1, [2.5, null]]},
        },
    });
    assert_eq!(configured(expression), Ok(expected));
}

#[test]
fn an_object_is_named_by_its_place() {
    let message = "type mismatch: unexpected type name \"Object.specx\", expected \"Object.spec\", which matches field \
                   name path from root Object type";
    assert_eq!(configured("Object{spec: Object.specx{a: 1}}"), Err(message.to_owned()));
    assert!(configured("Object{spec: Object.spec{list: [Object.spec{}]}}").is_err());
    assert_eq!(
        configured("Object{spec: Object.spec{map: {\"k\": Object.spec.map{a: 1}}}}"),
        Ok(json!({"spec": {"map": {"k": {"a": 1}}}}))
    );
}

#[test]
fn what_kubernetes_cannot_take_is_refused() {
    let refused = |path: &str, of: &str| {
        Err(format!(
            "error applying patch: failed to convert patch object to typed object: {path}: a value of type {of} cannot be \
             part of an Object"
        ))
    };
    assert_eq!(configured("Object{spec: null}"), refused(".spec", "null_type"));
    assert_eq!(configured("Object{spec: Object.spec{n: object.spec.n}}"), refused(".spec.n", "null_type"));
    assert_eq!(configured("Object{a: 1u}"), refused(".a", "uint"));
    assert_eq!(configured("Object{a: duration('1s')}"), refused(".a", "google.protobuf.Duration"));
    assert_eq!(configured("Object{a: [[1]]}"), refused(".a[0]", "list in a list or map literal"));
    assert_eq!(configured("Object{a: {'b': {'c': 1}}}"), refused(".a.b", "map in a list or map literal"));
}

#[test]
fn the_value_of_an_operation_is_a_protobuf_value() {
    let table = [
        ("1", json!(1)),
        ("1u", json!(1)),
        ("2.0", json!(2)),
        ("2.5", json!(2.5)),
        ("null", json!(null)),
        ("9007199254740991", json!(9_007_199_254_740_991_i64)),
        ("9007199254740992", json!("9007199254740992")),
        ("object.spec.big", json!("9007199254740993")),
        ("b'ab'", json!("YWI=")),
        ("duration('90s')", json!("90s")),
        ("timestamp('2026-01-02T03:04:05Z')", json!("2026-01-02T03:04:05Z")),
        ("[[1], [2]]", json!([[1], [2]])),
        ("{'a': {'b': 1}}", json!({"a": {"b": 1}})),
        ("object.spec.a", json!({"b": [1, [2.5, null]]})),
        ("optional.of(1)", json!(1)),
        ("Object.spec{a: 1, b: [Object.spec.b{c: 2u}]}", json!({"a": 1, "b": [{"c": 2}]})),
    ];
    for (expression, expected) in table {
        assert_eq!(written(expression), Ok(expected), "{expression}");
    }
    for expression in
        ["{1: 2}", "[Object.spec{a: 1}]", "type(1)", "quantity('1')", "optional.none()", "1.0 / 0.0"]
    {
        let refused = written(expression);
        let message = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: ";
        assert!(refused.as_ref().is_err_and(|why| why.starts_with(message)), "{expression}: {refused:?}");
    }
}

#[test]
fn an_operation_has_what_it_was_given() {
    let all = evaluated(
        r#"[JSONPatch{op: "test", path: "/a"}, JSONPatch{op: "move", from: "/a", path: "/" + jsonpatch.escapeKey("b/c")}]"#,
        operations,
    );
    let operation = |op: &str, path: &str, from: &str| Operation {
        op: op.to_owned(),
        path: path.to_owned(),
        from: from.to_owned(),
        value: None,
    };
    assert_eq!(all, Ok(vec![operation("test", "/a", ""), operation("move", "/b~1c", "/a")]));
}
