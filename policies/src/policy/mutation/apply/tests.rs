use serde_json::json;

use super::*;

fn schema() -> Schema {
    Schema::compile(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer"},
            "name": {"type": "string"},
            "when": {"type": "string", "format": "date-time"},
            "on": {"type": "boolean"},
            "amount": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "numbers": {"type": "array", "items": {"type": "number"}, "x-kubernetes-list-type": "set"},
            "keyed": {
                "type": "array",
                "items": {"type": "object", "properties": {
                    "id": {"type": "string"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "x": {"type": "integer"},
                    "y": {"type": "integer"},
                }},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["id", "protocol"],
            },
            "bare": {
                "type": "array",
                "items": {"type": "object", "properties": {"x": {"type": "integer"}}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["id", "name"],
            },
            "plain": {"type": "array", "items": {"type": "integer"}},
            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
                "a": {"type": "integer"}, "b": {"type": "integer"},
            }},
            "granular": {"type": "object", "x-kubernetes-map-type": "granular", "additionalProperties": {"type": "string"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
        }},
    }}))
}

fn merged(object: Value, configuration: Value) -> Result<Value, String> {
    let (object, configuration) = (json!({"spec": object}), json!({"spec": configuration}));
    apply(&schema(), &object, &configuration).map(|mut merged| merged["spec"].take())
}

#[test]
fn objects_are_merged_and_scalars_replaced() {
    let object = json!({"size": 1, "name": "a", "granular": {"a": "1", "b": "2"}});
    let configuration = json!({"size": 2, "on": true, "granular": {"b": "3", "c": "4"}});
    let expected = json!({"size": 2, "name": "a", "on": true, "granular": {"a": "1", "b": "3", "c": "4"}});
    assert_eq!(merged(object, configuration), Ok(expected));
}

#[test]
fn items_of_a_list_are_known_by_their_keys() {
    let object = json!({"keyed": [{"id": "a", "x": 1}, {"id": "b", "protocol": "UDP"}, {"id": "c"}]});
    let configuration = json!({"keyed": [
        {"id": "d"}, {"id": "b", "protocol": "UDP", "y": 2}, {"id": "a", "protocol": "TCP", "y": 3},
    ]});
    // What both have comes in the order of the configuration.
    let expected = json!({"keyed": [
        {"id": "d"}, {"id": "b", "protocol": "UDP", "y": 2}, {"id": "c"}, {"id": "a", "protocol": "TCP", "x": 1, "y": 3},
    ]});
    assert_eq!(merged(object, configuration), Ok(expected));
}

#[test]
fn items_of_a_set_are_known_by_themselves() {
    assert_eq!(
        merged(json!({"set": ["a", "b"]}), json!({"set": ["c", "a"]})),
        Ok(json!({"set": ["c", "a", "b"]}))
    );
    assert_eq!(
        merged(json!({"numbers": [1, 2]}), json!({"numbers": [2.0]})),
        Ok(json!({"numbers": [1, 2.0]}))
    );
}

#[test]
fn what_the_object_has_twice_is_replaced_by_what_comes_for_it() {
    let object = json!({"keyed": [{"id": "a", "x": 1}, {"id": "a", "x": 2}, {"id": "b"}]});
    let untouched = merged(object.clone(), json!({"size": 1})).unwrap();
    assert_eq!(untouched["keyed"], object["keyed"]);
    assert_eq!(
        merged(object, json!({"keyed": [{"id": "a", "y": 3}]})),
        Ok(json!({"keyed": [{"id": "a", "y": 3}, {"id": "b"}]}))
    );
}

#[test]
fn within_what_has_no_schema_objects_are_merged_and_lists_replaced() {
    let object = json!({"free": {"a": {"b": 1}, "l": [1, 2]}, "any": {"x": 1}});
    let configuration = json!({"free": {"a": {"c": 2}, "l": [3]}, "any": {"y": 2}});
    // A list without a schema is atomic, and not seen: nobody looks into what is no field.
    let expected = json!({"free": {"a": {"b": 1, "c": 2}, "l": [3]}, "any": {"x": 1, "y": 2}});
    assert_eq!(merged(object, configuration), Ok(expected));
}

#[test]
fn what_is_atomic_may_not_be_set() {
    let message = |paths: &str| {
        Err(format!("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {paths}"))
    };
    assert_eq!(merged(json!({}), json!({"plain": [1]})), message(".spec.plain"));
    assert_eq!(
        merged(json!({}), json!({"whole": {"a": 1}, "plain": []})),
        message(".spec.plain, .spec.whole")
    );
    assert_eq!(merged(json!({}), json!({"amount": [1]})), message(".spec.amount"));
    let owner = json!({"metadata": {"ownerReferences": [{"uid": "u"}]}});
    assert_eq!(apply(&schema(), &json!({}), &owner), message(".metadata.ownerReferences[0]"));
}

#[test]
fn metadata_is_merged_like_everything() {
    let object =
        json!({"metadata": {"labels": {"a": "1"}, "finalizers": ["x"], "managedFields": [{"time": null}]}});
    let over = json!({"metadata": {"labels": {"b": "2"}, "finalizers": ["y"]}});
    let expected = json!({"metadata": {
        "labels": {"a": "1", "b": "2"}, "finalizers": ["x", "y"], "managedFields": [{"time": null}],
    }});
    assert_eq!(apply(&schema(), &object, &over), Ok(expected));
}

#[test]
fn what_does_not_fit_the_schema_is_refused_in_kubernetes_words() {
    let table = [
        (json!({"sizes": 1}), ".spec.sizes: field not declared in schema"),
        (json!({"size": "x"}), ".spec.size: expected numeric (int or float), got string"),
        (json!({"name": 3}), ".spec.name: expected string, got &value.valueUnstructured{Value:3}"),
        (json!({"on": "x"}), ".spec.on: expected boolean, got &{x}"),
        (json!({"when": []}), ".spec.when: expected any scalar, got &{[]}"),
        (json!({"set": {"a": 1}}), ".spec.set: expected list, got &{map[a:1]}"),
        (json!({"whole": 1}), ".spec.whole: expected map, got &{1}"),
        (json!({"set": ["a", "a"]}), ".spec.set: duplicate entries for key [=\"a\"]"),
        (
            json!({"bare": [{"x": 1}]}),
            ".spec.bare: element 0: associative list with keys has an element that omits all key fields [\"id\" \
             \"name\"] (and doesn't have default values for any key fields)",
        ),
        (
            json!({"keyed": [{"id": "a", "x": "y"}]}),
            ".spec.keyed[id=\"a\",protocol=\"TCP\"].x: expected numeric (int or float), got string",
        ),
        (
            json!({"name": 3, "size": "x"}),
            "errors:\n  .spec.name: expected string, got &value.valueUnstructured{Value:3}\n  .spec.size: expected \
             numeric (int or float), got string",
        ),
    ];
    for (configuration, expected) in table {
        let message = format!("failed to convert patch object to typed object: {expected}");
        assert_eq!(merged(json!({}), configuration), Err(message));
    }
    assert_eq!(
        merged(json!({"size": "x"}), json!({"size": 1})),
        Err("failed to convert original object to typed object: .spec.size: expected numeric (int or float), got string"
            .to_owned())
    );
}

#[test]
fn every_kind_of_butler_has_a_schema() {
    for definition in butler_api::crd::all() {
        let kind = definition.spec.names.kind;
        let schema = Schema::of(butler_api::GROUP, butler_api::VERSION, &kind).expect(&kind);
        assert!(
            schema.get(schema.root()).map.as_ref().is_some_and(|map| map.fields.contains_key("spec")),
            "{kind}"
        );
    }
    assert!(Schema::of("apps", "v1", "Deployment").is_none());
}
