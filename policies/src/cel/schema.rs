//! Types from a schema: what `object`, `oldObject` and `params` are when the kind is known.
//!
//! Policies are evaluated without them, as in Kubernetes, because one policy may see several kinds. With them a check
//! finds fields that do not exist and bounds what an evaluation can cost.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::declare::{Declarations, ObjectType};
use super::types::Type;
use super::words::is_taken;

/// What a request may be at most, in bytes: nothing in it is larger.
pub(crate) const MAXIMUM_REQUEST: u64 = 3 << 20;

/// How large a value can be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bound {
    /// Characters, elements or entries at most.
    pub(crate) size: u64,
    /// Bytes of its JSON at least, which bounds how many of it fit into a request.
    least: u64,
    /// Of an object, the fields.
    fields: BTreeMap<String, Bound>,
    /// Of a list or a map, each element or value.
    each: Option<Box<Bound>>,
    /// Of a map, characters of a key at most.
    key: u64,
}

impl Bound {
    fn simple(size: u64, least: u64) -> Self {
        Self { size, least, ..Self::default() }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.fields.get(name).or(self.each.as_deref())
    }

    pub(crate) fn each(&self) -> Option<&Self> {
        self.each.as_deref()
    }

    /// What the bound of each key of a map is.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }
}

/// What of a variable's schema is known.
struct Described {
    of: Type,
    bound: Bound,
}

impl Declarations {
    /// Gives a variable the type that the structural schema of a kind describes. `apiVersion`, `kind` and `metadata` are
    /// known of every kind.
    ///
    /// For checking only: what is refused with these declarations alone is worth a warning, and no more.
    #[must_use]
    pub fn described(mut self, variable: &str, schema: &Value) -> Self {
        let mut reader = Reader { objects: Vec::new() };
        let root = with_metadata(schema);
        let Some(Described { of, bound }) = reader.value(&root, variable) else { return self };
        for (name, object) in reader.objects {
            self = self.object(&name, object);
        }
        self.variable(variable, of).bounded(variable, bound)
    }
}

struct Reader {
    objects: Vec<(String, ObjectType)>,
}

impl Reader {
    /// The type of a schema and how large a value of it is at most; nothing when the schema says nothing.
    fn value(&mut self, schema: &Value, path: &str) -> Option<Described> {
        let flag = |name: &str| schema.get(name).and_then(Value::as_bool).unwrap_or(false);
        let number = |name: &str| schema.get(name).and_then(Value::as_u64);
        let whole = MAXIMUM_REQUEST - 2;
        let simple = |of: Type, size: u64, least: u64| Described { of, bound: Bound::simple(size, least) };
        if flag("x-kubernetes-int-or-string") {
            return Some(simple(Type::Dyn, number("maxLength").unwrap_or(whole), 1));
        }
        if flag("x-kubernetes-preserve-unknown-fields") && schema.get("properties").is_none() {
            return Some(simple(Type::Dyn, whole, 1));
        }
        let mut described = match kind(schema)? {
            "array" => {
                let each = self.value(schema.get("items")?, &format!("{path}[]"))?;
                let size = number("maxItems").unwrap_or(whole / (each.bound.least + 1));
                let bound = Bound { size, least: 2, each: Some(Box::new(each.bound)), ..Bound::default() };
                Described { of: Type::List(Box::new(each.of)), bound }
            }
            "object" => match schema.get("additionalProperties").filter(|of| of.is_object()) {
                Some(of) => {
                    let each = self.value(of, &format!("{path}[]"))?;
                    // A key with its quotes, a colon and a comma beside each value.
                    let size = number("maxProperties").unwrap_or(whole / (each.bound.least + 6));
                    let each_bound = Some(Box::new(each.bound));
                    let bound = Bound { size, least: 2, each: each_bound, key: whole, ..Bound::default() };
                    Described { of: Type::Map(Box::new(Type::String), Box::new(each.of)), bound }
                }
                None => self.object(schema, path),
            },
            "string" => match schema.get("format").and_then(Value::as_str) {
                Some("byte") => simple(Type::Bytes, number("maxLength").unwrap_or(whole), 2),
                Some("duration") => simple(Type::Duration, 1, 4),
                Some("date" | "date-time") => simple(Type::Timestamp, 1, 12),
                _ => {
                    let longest = || {
                        let values = schema.get("enum")?.as_array()?.iter().filter_map(Value::as_str);
                        values.map(|value| value.chars().count() as u64).max()
                    };
                    let size = number("maxLength").or_else(longest).unwrap_or(whole);
                    simple(Type::String, size, 2)
                }
            },
            "boolean" => simple(Type::Bool, 1, 4),
            "number" => simple(Type::Double, 1, 1),
            "integer" => simple(Type::Int, 1, 1),
            _ => return None,
        };
        // `null` is a value of it, and comparing with `null` no mistake.
        if flag("nullable") || is_also_null(schema) {
            described.of = Type::Dyn;
        }
        Some(described)
    }

    fn object(&mut self, schema: &Value, path: &str) -> Described {
        let mut object = ObjectType::default();
        let mut bound = Bound::simple(1, 2);
        let required: Vec<&str> = match schema.get("required").and_then(Value::as_array) {
            Some(names) => names.iter().filter_map(Value::as_str).collect(),
            None => Vec::new(),
        };
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let Some(field) = self.value(property, &format!("{path}.{name}")) else { continue };
            if required.contains(&name.as_str()) && property.get("default").is_none() {
                bound.least += name.len() as u64 + field.bound.least + 4;
            }
            // A policy that sees any kind writes a name as it is; one written for a typed object escapes it.
            for spelled in escape(name).into_iter().chain([name.clone()]) {
                object.fields.insert(spelled.clone(), field.of.clone());
                bound.fields.insert(spelled, field.bound.clone());
            }
        }
        self.objects.push((path.to_owned(), object));
        Described { of: Type::Object(path.into()), bound }
    }
}

/// The type that a schema names, of several the one beside `null`.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => None,
    }
}

fn is_also_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => false,
    }
}

/// The name of a field as an identifier, as Kubernetes escapes it; nothing when it has no such name.
pub(crate) fn escape(name: &str) -> Option<String> {
    if is_taken(name) {
        return Some(format!("__{name}__"));
    }
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match next {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            '_' => out.push('_'),
            other if other.is_ascii_alphanumeric() => out.push(other),
            _ => return None,
        }
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
    Some(out)
}

/// The schema of a kind with what every object has. Sizes are those that the API server enforces before policies.
fn with_metadata(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let text = |length: u64| serde_json::json!({"type": "string", "maxLength": length});
    let metadata = || {
        let any = serde_json::json!({"type": "string"});
        let texts = |length: u64| serde_json::json!({"type": "object", "additionalProperties": text(length)});
        let time = serde_json::json!({"type": "string", "format": "date-time"});
        let number = serde_json::json!({"type": "integer"});
        let yes = serde_json::json!({"type": "boolean"});
        let owner: Map<String, Value> = [
            ("apiVersion", &any),
            ("kind", &any),
            ("name", &any),
            ("uid", &any),
            ("controller", &yes),
            ("blockOwnerDeletion", &yes),
        ]
        .into_iter()
        .map(|(name, of)| (name.to_owned(), of.clone()))
        .collect();
        let unknown = serde_json::json!({"x-kubernetes-preserve-unknown-fields": true});
        serde_json::json!({"type": "object", "properties": {
            "name": text(253), "generateName": text(253), "namespace": text(63), "uid": text(64), "selfLink": any,
            "resourceVersion": any, "generation": number, "creationTimestamp": time, "deletionTimestamp": time,
            "deletionGracePeriodSeconds": number, "labels": texts(63), "annotations": texts(256 << 10),
            "finalizers": {"type": "array", "items": any},
            "ownerReferences": {"type": "array", "items": {"type": "object", "properties": owner}},
            "managedFields": {"type": "array", "items": unknown},
        }})
    };
    let Some(root) = schema.as_object_mut() else { return schema };
    root.entry("type").or_insert_with(|| "object".into());
    let properties = root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    let Some(properties) = properties.as_object_mut() else { return schema };
    for name in ["apiVersion", "kind"] {
        properties.entry(name).or_insert_with(|| text(253));
    }
    let described = properties.get("metadata").is_some_and(|metadata| metadata.get("properties").is_some());
    if !described {
        properties.insert("metadata".to_owned(), metadata());
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::escape;
    use crate::cel::{Declarations, Program};

    fn declarations() -> Declarations {
        Declarations::admission().described(
            "object",
            &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "replicas": {"type": "integer"},
                "share": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "owner": {"type": "string", "nullable": true},
                "names": {"type": "array", "items": {"type": "string"}},
                "pools": {"type": "array", "items": {"type": "object", "properties": {"size": {"type": "integer"}}}},
                "tags": {"type": "object", "additionalProperties": {"type": "number"}},
                "since": {"type": "string", "format": "date-time"},
                "period": {"type": "string", "format": "duration"},
                "key": {"type": "string", "format": "byte"},
                "namespace": {"type": "string"},
                "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            }}}}),
        )
    }

    #[test]
    fn what_a_schema_describes_is_checked() {
        for text in [
            "object.spec.replicas + 1 > 2",
            "object.spec.share == 1 || object.spec.share == '1%'",
            "object.spec.owner == null",
            "object.spec.names[0].startsWith('a')",
            "object.spec.pools.all(pool, pool.size > 0)",
            "object.spec.tags.all(name, object.spec.tags[name] > 1.5)",
            "object.spec.since < timestamp('2020-01-01T00:00:00Z')",
            "object.spec.period < duration('1h')",
            "object.spec.key == b'a'",
            "object.spec.namespace == object.spec.__namespace__",
            "object.spec.anything.at.all",
            "object.metadata.labels['a'] == object.metadata.name",
            "object.metadata.ownerReferences.exists(owner, owner.controller)",
        ] {
            assert!(Program::compile(text, &declarations()).is_ok(), "{text}");
        }
        for (text, expected) in [
            ("object.spec.replica > 1", "undefined field 'replica'"),
            (
                "object.spec.replicas == '1'",
                "found no matching overload for '_==_' applied to '(int, string)'",
            ),
            ("object.spec.pools[0].name", "undefined field 'name'"),
            ("object.metadata.label", "undefined field 'label'"),
        ] {
            let found = Program::compile(text, &declarations()).unwrap_err();
            assert_eq!(found[0].message, expected, "{text}");
        }
    }

    #[test]
    fn names_are_escaped_as_kubernetes_escapes_them() {
        for (name, escaped) in [
            ("plain_name", Some("plain_name")),
            ("namespace", Some("__namespace__")),
            ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
            ("a__b", Some("a__underscores__b")),
            ("$ref", None),
            ("1a", None),
            ("", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
        }
    }
}
