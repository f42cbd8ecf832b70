//! Fills in the defaults of a definition, as the API server does after every mutation.

use serde_json::Value;

use super::schema::{Ref, Schema};

/// Fills in what is missing in the object.
pub(crate) fn fill(schema: &Schema, object: &mut Value) {
    fill_part(schema, schema.root(), object);
}

// As deep as the object, whose depth is bounded where it is read and patched.
fn fill_part(schema: &Schema, of: Ref, value: &mut Value) {
    let of = schema.get(of);
    match value {
        Value::Object(values) => {
            let Some(map) = &of.map else { return };
            for (name, field) in &map.fields {
                let Some(default) = &field.default else { continue };
                // No field of ours may be null.
                if values.get(name).is_none_or(Value::is_null) {
                    values.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in values {
                let inner = map.fields.get(name).map(|field| field.of).or(map.others);
                if let Some(inner) = inner {
                    fill_part(schema, inner, value);
                }
            }
        }
        Value::Array(items) => {
            let Some(list) = &of.list else { return };
            items.iter_mut().for_each(|item| fill_part(schema, list.items, item));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_mutation_adds_gets_its_defaults() {
        let schema = Schema::compile(&json!({"type": "object", "properties": {"spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 3},
                "part": {"type": "object", "properties": {"on": {"type": "boolean", "default": true}}},
                "parts": {"type": "array", "items": {
                    "type": "object", "properties": {"on": {"type": "boolean", "default": false}},
                }},
            },
        }}}));
        let mut object = json!({"spec": {"size": null, "part": {}, "parts": [{}, {"on": true}]}});
        fill(&schema, &mut object);
        let expected =
            json!({"spec": {"size": 3, "part": {"on": true}, "parts": [{"on": false}, {"on": true}]}});
        assert_eq!(object, expected);
        let mut bare = json!({});
        fill(&schema, &mut bare);
        assert_eq!(bare, json!({}));
    }
}
