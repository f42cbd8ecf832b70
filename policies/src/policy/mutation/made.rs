//! What an expression made, as JSON.
//!
//! Kubernetes turns it into JSON in two ways, and neither takes everything. Messages (`Object{…}`) become plain Go
//! values, one level of list or map literals at a time; the value of a patch's operation becomes a protobuf value, in
//! which a number is a double. What they do not take is refused here too: a file must not work in one place only.

use serde_json::{Map as Fields, Value as Json};

use super::MAXIMUM_DEPTH;
use super::json_patch::Operation;
use super::number::reread;
use crate::cel::{List, Map, Object, Value};

/// Integers beyond this are text in a protobuf value, since a double has no place for all of their digits.
const MAXIMUM_SAFE: u64 = (1 << 53) - 1;

/// The apply configuration that an expression gave.
///
/// # Errors
///
/// Why it cannot be one.
pub(super) fn configuration(value: &Value<'_>) -> Result<Json, String> {
    let Value::Object(object) = value else {
        let of = value.type_name();
        return Err(format!("unsupported return type from ApplyConfiguration expression: {of}"));
    };
    named_by_their_place(object)?;
    let wrong = |why| format!("error applying patch: failed to convert patch object to typed object: {why}");
    message(object, Kind::Configuration, String::new(), 0).map_err(wrong)
}

/// The operations that an expression gave.
///
/// # Errors
///
/// Why they cannot be ones.
pub(super) fn operations(value: &Value<'_>) -> Result<Vec<Operation>, String> {
    let Value::List(list) = value else {
        return Err("type mismatch: JSONPatchType.expression should evaluate to array".to_owned());
    };
    list.iter().map(|item| operation(&item)).collect()
}

fn operation(value: &Value<'_>) -> Result<Operation, String> {
    let Value::Object(object) = value else {
        let of = value.type_name();
        return Err(format!(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch, got element of {of}"
        ));
    };
    let text = |name| match object.fields().get(name) {
        Some(Value::String(text)) => (*text).to_owned(),
        _ => String::new(),
    };
    let wrong =
        |why| format!("JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}");
    let value = match object.fields().get("value") {
        None => None,
        Some(Value::Object(inner)) if !inner.is_patch() => {
            named_by_their_place(&inner)?;
            Some(message(&inner, Kind::Value, String::new(), 0).map_err(wrong)?)
        }
        Some(value) => Some(protobuf(&value, 0).map_err(wrong)?),
    };
    Ok(Operation { op: text("op"), path: text("path"), from: text("from"), value })
}

/// An `Object` is known by where it is in the outermost: `Object.spec` is its field `spec` and nothing else.
fn named_by_their_place(object: &Object<'_>) -> Result<(), String> {
    let mut misnamed = Vec::new();
    check_names(object, object.name(), &mut misnamed);
    if misnamed.is_empty() { Ok(()) } else { Err(format!("type mismatch: {}", misnamed.join("\n"))) }
}

fn check_names(object: &Object<'_>, expected: &str, misnamed: &mut Vec<String>) {
    let name = object.name();
    if name != expected {
        misnamed.push(format!(
            "unexpected type name {name:?}, expected {expected:?}, which matches field name path from root Object type"
        ));
    }
    for (key, value) in object.fields().iter() {
        let Value::String(key) = key else { continue };
        check_inside(&value, &format!("{expected}.{}", &*key), misnamed);
    }
}

// Lists and maps in between have no names. The depth of what an expression makes is bounded where it is made.
fn check_inside(value: &Value<'_>, expected: &str, misnamed: &mut Vec<String>) {
    match value {
        Value::Object(object) => check_names(object, expected, misnamed),
        Value::List(list) if !list.is_document() => {
            list.iter().for_each(|item| check_inside(&item, expected, misnamed));
        }
        Value::Map(map) if !map.is_document() => {
            map.iter().for_each(|(_, value)| check_inside(&value, expected, misnamed));
        }
        _ => {}
    }
}

/// What a message is made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Held against a schema: whole numbers stay whole.
    Configuration,
    /// The value of an operation: every number is a double.
    Value,
}

type Made = Result<Json, String>;

fn message(object: &Object<'_>, kind: Kind, path: String, depth: usize) -> Made {
    let mut fields = Fields::new();
    for (key, value) in object.fields().iter() {
        let Value::String(key) = key else { continue };
        let path = format!("{path}.{}", &*key);
        fields.insert((*key).to_owned(), field(&value, kind, path, depth + 1)?);
    }
    Ok(Json::Object(fields))
}

/// A field: a list or map that the expression wrote itself is opened, but none within it.
fn field(value: &Value<'_>, kind: Kind, path: String, depth: usize) -> Made {
    match value {
        Value::List(list) if !list.is_document() => {
            let item = |(place, item): (usize, Value<'_>)| {
                native(&item, kind, format!("{path}[{place}]"), depth + 1)
            };
            list.iter().enumerate().map(item).collect::<Result<Vec<Json>, String>>().map(Json::Array)
        }
        Value::Map(map) if !map.is_document() => {
            let mut fields = Fields::new();
            for (key, value) in map.iter() {
                let Value::String(key) = key else {
                    return Err(format!("{path}: map key is of type {}, not string", key.type_name()));
                };
                let path = format!("{path}.{}", &*key);
                fields.insert((*key).to_owned(), native(&value, kind, path, depth + 1)?);
            }
            Ok(Json::Object(fields))
        }
        Value::Optional(Some(inner)) => native(inner, kind, path, depth),
        other => native(other, kind, path, depth),
    }
}

fn native(value: &Value<'_>, kind: Kind, path: String, depth: usize) -> Made {
    if depth > MAXIMUM_DEPTH {
        return Err(format!("nested more than {MAXIMUM_DEPTH} levels deep"));
    }
    let refused = || {
        let of = match value {
            Value::List(_) => "list in a list or map literal",
            Value::Map(_) => "map in a list or map literal",
            other => other.type_name(),
        };
        Err(format!("{path}: a value of type {of} cannot be part of an Object"))
    };
    match value {
        Value::Bool(value) => Ok(Json::Bool(*value)),
        #[expect(clippy::cast_precision_loss, reason = "as Kubernetes does")]
        Value::Int(value) if kind == Kind::Value => reread(*value as f64).map_or_else(refused, Ok),
        Value::Int(value) => Ok((*value).into()),
        #[expect(clippy::cast_precision_loss, reason = "as Kubernetes does")]
        Value::Uint(value) if kind == Kind::Value => reread(*value as f64).map_or_else(refused, Ok),
        Value::Double(value) => double(*value, kind).map_or_else(refused, Ok),
        Value::String(text) => Ok(Json::String((**text).to_owned())),
        Value::Bytes(_) if kind == Kind::Value => base64(value),
        Value::Object(object) if !object.is_patch() => message(object, kind, path, depth),
        Value::List(list) if list.is_document() => document_list(list, kind, depth),
        Value::Map(map) if map.is_document() => document_map(map, kind, depth),
        Value::Optional(Some(inner)) => native(inner, kind, path, depth),
        _ => refused(),
    }
}

fn double(value: f64, kind: Kind) -> Option<Json> {
    match kind {
        Kind::Value => reread(value),
        Kind::Configuration => serde_json::Number::from_f64(value).map(Json::Number),
    }
}

/// What an object of the request holds is JSON already.
fn document(value: &Value<'_>, kind: Kind, depth: usize) -> Made {
    match value {
        Value::Null => Ok(Json::Null),
        Value::List(list) => document_list(list, kind, depth),
        Value::Map(map) => document_map(map, kind, depth),
        other => native(other, kind, String::new(), depth),
    }
}

fn document_list(list: &List<'_>, kind: Kind, depth: usize) -> Made {
    if depth > MAXIMUM_DEPTH {
        return Err(format!("nested more than {MAXIMUM_DEPTH} levels deep"));
    }
    list.iter()
        .map(|item| document(&item, kind, depth + 1))
        .collect::<Result<Vec<Json>, String>>()
        .map(Json::Array)
}

fn document_map(map: &Map<'_>, kind: Kind, depth: usize) -> Made {
    if depth > MAXIMUM_DEPTH {
        return Err(format!("nested more than {MAXIMUM_DEPTH} levels deep"));
    }
    let mut fields = Fields::new();
    for (key, value) in map.iter() {
        if let Value::String(key) = key {
            fields.insert((*key).to_owned(), document(&value, kind, depth + 1)?);
        }
    }
    Ok(Json::Object(fields))
}

/// A value on its own, by the rules of protobuf's JSON.
fn protobuf(value: &Value<'_>, depth: usize) -> Made {
    if depth > MAXIMUM_DEPTH {
        return Err(format!("nested more than {MAXIMUM_DEPTH} levels deep"));
    }
    match value {
        Value::Null => Ok(Json::Null),
        Value::Bool(value) => Ok(Json::Bool(*value)),
        Value::Int(value) if value.unsigned_abs() > MAXIMUM_SAFE => Ok(Json::String(value.to_string())),
        Value::Uint(value) if *value > MAXIMUM_SAFE => Ok(Json::String(value.to_string())),
        Value::Int(value) => Ok((*value).into()),
        Value::Uint(value) => Ok((*value).into()),
        Value::Double(value) => reread(*value).ok_or_else(|| "not a finite number".to_owned()),
        Value::String(text) => Ok(Json::String((**text).to_owned())),
        Value::Bytes(_) => base64(value),
        Value::Duration(_) | Value::Timestamp(_) => Ok(Json::String(value.plain())),
        Value::Optional(Some(inner)) => protobuf(inner, depth),
        Value::List(list) => list
            .iter()
            .map(|item| protobuf(&item, depth + 1))
            .collect::<Result<Vec<Json>, String>>()
            .map(Json::Array),
        Value::Map(map) => {
            let mut fields = Fields::new();
            for (key, value) in map.iter() {
                let Value::String(key) = key else {
                    return Err(format!("a key of type {} is no text", key.type_name()));
                };
                fields.insert((*key).to_owned(), protobuf(&value, depth + 1)?);
            }
            Ok(Json::Object(fields))
        }
        // Also an `Object` inside a list or map, which Kubernetes cannot write.
        other => Err(format!("unsupported type {}", other.type_name())),
    }
}

/// Bytes as text.
fn base64(value: &Value<'_>) -> Made {
    let encoded = value.encode().and_then(|(_, text)| serde_json::from_str(&text).ok());
    encoded.ok_or_else(|| "bytes that cannot be written".to_owned())
}

#[cfg(test)]
mod tests;
