use serde_json::json;

use super::*;

fn operations(list: Value) -> Vec<Operation> {
    let text = |operation: &Value, name: &str| operation[name].as_str().unwrap_or_default().to_owned();
    list.as_array()
        .unwrap()
        .iter()
        .map(|operation| Operation {
            op: text(operation, "op"),
            path: text(operation, "path"),
            from: text(operation, "from"),
            value: operation.get("value").cloned(),
        })
        .collect()
}

fn patched(object: Value, patch: Value) -> Value {
    apply(object, &operations(patch)).unwrap()
}

fn refused(object: Value, patch: Value) -> String {
    match apply(object, &operations(patch)).unwrap_err() {
        Halt::Wrong(message) => message,
        Halt::Untrue => "untrue".to_owned(),
    }
}

#[test]
fn operations_follow_each_other() {
    let object = json!({"metadata": {"name": "a"}, "spec": {"list": [1, 2], "old": {"x": 1}}});
    let patch = json!([
        {"op": "test", "path": "/metadata/name", "value": "a"},
        {"op": "add", "path": "/metadata/labels", "value": {}},
        {"op": "add", "path": "/metadata/labels/a~1b~0c", "value": "v"},
        {"op": "add", "path": "/spec/list/1", "value": 9},
        {"op": "add", "path": "/spec/list/-", "value": 3},
        {"op": "replace", "path": "/spec/list/0", "value": 0},
        {"op": "remove", "path": "/spec/list/2"},
        {"op": "copy", "from": "/spec/old", "path": "/spec/copied"},
        {"op": "move", "from": "/spec/old", "path": "/spec/new"},
    ]);
    assert_eq!(
        patched(object, patch),
        json!({
            "metadata": {"name": "a", "labels": {"a/b~c": "v"}},
            "spec": {"list": [0, 9, 3], "new": {"x": 1}, "copied": {"x": 1}},
        })
    );
}

#[test]
fn what_is_not_in_the_standard_is_done_as_kubernetes_does_it() {
    let table = [
        // A key that is missing is replaced all the same.
        (json!({}), json!([{"op": "replace", "path": "/a", "value": 1}]), json!({"a": 1})),
        // Indices count from the end, and behind it when adding.
        (json!({"a": [1, 2]}), json!([{"op": "remove", "path": "/a/-1"}]), json!({"a": [1]})),
        (json!({"a": [1, 2]}), json!([{"op": "add", "path": "/a/-1", "value": 3}]), json!({"a": [1, 2, 3]})),
        (json!({"a": [1, 2]}), json!([{"op": "add", "path": "/a/+1", "value": 3}]), json!({"a": [1, 3, 2]})),
        // No value is null.
        (json!({}), json!([{"op": "add", "path": "/a"}]), json!({"a": null})),
        // A copy of what is not there is null.
        (json!({}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"b": null})),
        // A test without a value holds for what is missing.
        (
            json!({}),
            json!([{"op": "test", "path": "/a"}, {"op": "add", "path": "/b", "value": 1}]),
            json!({"b": 1}),
        ),
        // Numbers are compared as they are written.
        (json!({"a": 3.0}), json!([{"op": "test", "path": "/a", "value": 3}]), json!({"a": 3.0})),
        // The whole object may be replaced.
        (json!({"a": 1}), json!([{"op": "replace", "path": "", "value": {"b": 2}}]), json!({"b": 2})),
        // Whatever stands before the first slash is not looked at.
        (json!({}), json!([{"op": "add", "path": "x/a", "value": 1}]), json!({"a": 1})),
    ];
    for (object, patch, expected) in table {
        assert_eq!(patched(object, patch.clone()), expected, "{patch}");
    }
}

#[test]
fn a_test_that_does_not_hold_stops_the_patch_and_is_no_mistake() {
    let table = [
        (json!({"a": 1}), json!([{"op": "test", "path": "/a", "value": 2}])),
        (json!({"a": null}), json!([{"op": "test", "path": "/a", "value": null}])),
        (json!({}), json!([{"op": "test", "path": "/a", "value": null}])),
        (json!({"a": 1}), json!([{"op": "test", "path": "/a"}])),
        (json!({"a": {"b": 1}}), json!([{"op": "test", "path": "/a", "value": {"b": 1, "c": 2}}])),
        (json!({"a": [1, 2]}), json!([{"op": "test", "path": "/a", "value": [1]}])),
        (json!({"a": "1"}), json!([{"op": "test", "path": "/a", "value": 1}])),
    ];
    for (object, patch) in table {
        assert_eq!(refused(object, patch.clone()), "untrue", "{patch}");
    }
}

#[test]
fn what_cannot_be_applied_says_why() {
    let missing = "missing value";
    let table = [
        (
            json!([{"op": "add", "path": "/a/b", "value": 1}]),
            format!("add operation does not apply: doc is missing path: \"/a/b\": {missing}"),
        ),
        (
            json!([{"op": "add", "path": "/s/b", "value": 1}]),
            format!("add operation does not apply: doc is missing path: \"/s/b\": {missing}"),
        ),
        (
            json!([{"op": "add", "path": "", "value": 1}]),
            format!("add operation does not apply: doc is missing path: \"\": {missing}"),
        ),
        (
            json!([{"op": "remove", "path": "/a"}]),
            format!("error in remove for path: '/a': Unable to remove nonexistent key: a: {missing}"),
        ),
        (
            json!([{"op": "remove", "path": "/l/2"}]),
            "error in remove for path: '/l/2': Unable to access invalid index: 2: invalid index referenced".to_owned(),
        ),
        (
            json!([{"op": "add", "path": "/l/x", "value": 1}]),
            "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": \
             invalid syntax"
                .to_owned(),
        ),
        (
            json!([{"op": "add", "path": "/l/4", "value": 1}]),
            "error in add for path: '/l/4': Unable to access invalid index: 4: invalid index referenced".to_owned(),
        ),
        (
            json!([{"op": "replace", "path": "/l/-", "value": 1}]),
            format!("replace operation does not apply: doc is missing key: /l/-: {missing}"),
        ),
        (
            json!([{"op": "test", "path": "/a/b", "value": 1}]),
            format!("test operation does not apply: is missing path: /a/b: {missing}"),
        ),
        (
            json!([{"op": "move", "from": "/a", "path": "/b"}]),
            format!("error in move for path: 'a': Unable to remove nonexistent key: a: {missing}"),
        ),
        (
            json!([{"op": "copy", "path": "/b"}]),
            format!("copy operation failed to decode from: operation, missing from field: {missing}"),
        ),
        (json!([{"op": "merge", "path": "/b"}]), "Unexpected kind: merge".to_owned()),
    ];
    for (patch, expected) in table {
        assert_eq!(refused(json!({"s": "text", "l": [1, 2]}), patch.clone()), expected, "{patch}");
    }
}

#[test]
fn an_object_does_not_grow_without_end() {
    let deeper = |count| vec![json!({"op": "copy", "from": "/a", "path": "/a/a"}); count];
    let message = refused(json!({"a": {}}), Value::Array(deeper(600)));
    assert_eq!(
        message,
        "error while adding value during copy: the object would nest more than 512 levels deep"
    );
    let wide: Vec<Value> = (0..40)
        .flat_map(|at| {
            [
                json!({"op": "copy", "from": "/a", "path": "/b"}),
                json!({"op": "move", "from": "/b", "path": format!("/a/{at}")}),
            ]
        })
        .collect();
    let message = refused(json!({"a": {"text": "x".repeat(1000)}}), Value::Array(wide));
    assert!(
        message.starts_with("Unable to complete the copy, the accumulated size increase of copy is "),
        "{message}"
    );
    let many = vec![json!({"op": "add", "path": "/a/-", "value": 1}); 10_001];
    assert_eq!(
        refused(json!({"a": []}), Value::Array(many)),
        "the patch has 10001 operations, exceeding the limit 10000"
    );
}
