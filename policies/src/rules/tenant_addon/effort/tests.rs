use serde_json::json;

use super::*;

const TOO_OFTEN: &str = "it applies schemas to the same value too often; let fewer of them apply each other by \
                         `allOf`, `anyOf`, `oneOf` or `$ref`";

/// Definitions that each apply the next one twice.
fn doubling(keyword: &str, times: usize) -> Value {
    let next = |place: usize| json!({"$ref": format!("#/$defs/d{place}")});
    let mut definitions: Map<String, Value> =
        (0..times).map(|at| (format!("d{at}"), json!({keyword: [next(at + 1), next(at + 1)]}))).collect();
    definitions.insert(format!("d{times}"), json!({"type": "object"}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

/// A schema that applies itself twice to what is in `a`.
fn twice_a_level() -> Value {
    json!({"anyOf": [
        {"properties": {"a": {"$ref": "#"}}, "required": ["never"]},
        {"properties": {"a": {"$ref": "#"}}, "required": ["never"]},
    ]})
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({"a": inner}))
}

#[test]
fn doubling_is_refused() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        assert_eq!(check_schema(&doubling(keyword, 26)), Err(TOO_OFTEN.to_owned()), "{keyword}");
        assert_eq!(check_values(&doubling(keyword, 26), &json!({})), Err(TOO_OFTEN.to_owned()), "{keyword}");
        assert_eq!(check_schema(&doubling(keyword, 8)), Ok(()), "{keyword}");
    }
}

#[test]
fn doubling_with_each_level_is_refused_on_deep_values() {
    assert_eq!(check_schema(&twice_a_level()), Ok(()));
    assert_eq!(check_values(&twice_a_level(), &nested(4)), Ok(()));
    assert_eq!(check_values(&twice_a_level(), &nested(30)), Err(TOO_OFTEN.to_owned()));
}

#[test]
fn asking_what_was_looked_at_counts() {
    let schema =
        (0..20).fold(json!({}), |inner, _| json!({"unevaluatedProperties": false, "anyOf": [inner]}));
    assert_eq!(check_schema(&schema), Err(TOO_OFTEN.to_owned()));
}

#[test]
fn a_circle_on_one_value_is_refused_and_one_into_the_value_is_not() {
    let circle =
        json!({"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}, "properties": {"x": {"$ref": "#/$defs/a"}}});
    let message = "it refers to itself without end; remove the circle of `$ref`s";
    assert_eq!(check_schema(&circle), Err(message.to_owned()));
    let tree = json!({"properties": {"children": {"type": "array", "items": {"$ref": "#"}}}});
    assert_eq!(check_schema(&tree), Ok(()));
    assert_eq!(check_values(&tree, &json!({"children": [{"children": []}, {}]})), Ok(()));
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let refused = [
        json!({"$dynamicRef": "#"}),
        json!({"properties": {"a": {"$id": "https://schemas.example.org"}}}),
        json!({"$defs": {"a": {"$anchor": "a"}}, "$ref": "#a"}),
        json!({"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}}),
        json!({"$ref": "https://schemas.example.org"}),
    ];
    for schema in refused {
        assert!(check_schema(&schema).is_err(), "{schema}");
    }
    // Fields of the values may have any name.
    let named = json!({"properties": {"$id": {"type": "string"}, "$dynamicRef": {}, "pattern": {}}});
    assert_eq!(check_schema(&named), Ok(()));
}

#[test]
fn long_chains_many_patterns_and_long_texts_are_refused() {
    let chain: Map<String, Value> =
        (0..1000).map(|at| (format!("d{at}"), json!({"$ref": format!("#/$defs/d{}", at + 1)}))).collect();
    let chain = json!({"$ref": "#/$defs/d0", "$defs": chain});
    assert!(check_schema(&chain).unwrap_err().contains("within each other"));
    let patterns: Vec<Value> = (0..=MOST_PATTERNS).map(|_| json!({"pattern": "a"})).collect();
    assert!(check_schema(&json!({"allOf": patterns})).unwrap_err().contains("patterns"));
    let matched = json!({"additionalProperties": {"pattern": "^a"}});
    assert_eq!(check_values(&matched, &json!({"a": "a".repeat(1000)})), Ok(()));
    assert_eq!(check_values(&matched, &json!({"a": "a".repeat(600_000)})), Err(TOO_OFTEN.to_owned()));
}

#[test]
fn many_values_under_a_wide_schema_are_refused() {
    let choices: Vec<usize> = (0..1000).collect();
    let schema = json!({"items": {"enum": choices, "allOf": vec![true; 1000]}});
    assert_eq!(check_schema(&schema), Ok(()));
    assert_eq!(check_values(&schema, &json!(vec![1; 100])), Ok(()));
    assert_eq!(check_values(&schema, &json!(vec![1; 10_000])), Err(TOO_OFTEN.to_owned()));
}
