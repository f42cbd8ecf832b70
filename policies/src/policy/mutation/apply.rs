//! An apply configuration laid over an object, as server-side apply merges them.
//!
//! The configuration is held against the schema, then looked through for what is atomic, which may not be set at all:
//! whoever means to change one field of it would remove the others. Then the two are merged.

mod check;
mod item;
mod merge;

use serde_json::Value;

use super::schema::{Scalar, Schema, Type};

/// The object with the configuration laid over it.
///
/// # Errors
///
/// What is wrong with either, in Kubernetes' words.
pub(crate) fn apply(schema: &Schema, object: &Value, configuration: &Value) -> Result<Value, String> {
    let found = check::check(schema, configuration, check::Duplicates::AreWrong);
    if let Some(errors) = joined(found) {
        return Err(format!("failed to convert patch object to typed object: {errors}"));
    }
    let atomics = check::atomics(schema, configuration);
    if !atomics.is_empty() {
        let atomics = atomics.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {atomics}"
        ));
    }
    let found = check::check(schema, object, check::Duplicates::Pass);
    if let Some(errors) = joined(found) {
        return Err(format!("failed to convert original object to typed object: {errors}"));
    }
    match merge::merge(schema, object, configuration) {
        Ok(merged) => Ok(merged),
        Err(errors) => Err(format!("failed to merge patch: {}", joined(errors).unwrap_or_default())),
    }
}

/// Something that does not fit the schema: its path and what is wrong there.
#[derive(Debug)]
struct Misfit {
    path: String,
    message: String,
}

impl Misfit {
    fn here(message: impl Into<String>) -> Vec<Self> {
        vec![Self { path: String::new(), message: message.into() }]
    }
}

/// The same misfits, seen from what is around them.
fn below(element: &str, mut misfits: Vec<Misfit>) -> Vec<Misfit> {
    for misfit in &mut misfits {
        misfit.path.insert_str(0, element);
    }
    misfits
}

fn joined(misfits: Vec<Misfit>) -> Option<String> {
    let line = |misfit: &Misfit| match misfit.path.as_str() {
        "" => misfit.message.clone(),
        path => format!("{path}: {}", misfit.message),
    };
    match misfits.as_slice() {
        [] => None,
        [one] => Some(line(one)),
        several => {
            Some(several.iter().fold("errors:".to_owned(), |text, misfit| text + "\n  " + &line(misfit)))
        }
    }
}

/// What a value is taken for, of all that its type allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Map,
    Scalar,
    List,
    /// Its type allows nothing.
    Nothing,
}

/// Which of its forms a value takes of its type: its own if the type has it, else the first there is, and it will be
/// found not to fit.
fn taken(of: &Type, value: Option<&Value>) -> Taken {
    let own = match value {
        Some(Value::Object(_)) if of.map.is_some() => Some(Taken::Map),
        Some(Value::Array(_)) if of.list.is_some() => Some(Taken::List),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if of.scalar.is_some() => {
            Some(Taken::Scalar)
        }
        _ => None,
    };
    own.unwrap_or(match of {
        Type { map: Some(_), .. } => Taken::Map,
        Type { scalar: Some(_), .. } => Taken::Scalar,
        Type { list: Some(_), .. } => Taken::List,
        _ => Taken::Nothing,
    })
}

/// What is wrong with a value as a scalar.
fn misfit_of(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Number, Value::Number(_))
        | (Scalar::Text, Value::String(_))
        | (Scalar::Bool, Value::Bool(_))
        | (Scalar::Any, Value::Bool(_) | Value::Number(_) | Value::String(_)) => None,
        (Scalar::Number, value) => Some(format!("expected numeric (int or float), got {}", go_type(value))),
        (Scalar::Text, value) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(value)))
        }
        (Scalar::Bool, value) => Some(format!("expected boolean, got {}", shown(value))),
        (Scalar::Any, value) => Some(format!("expected any scalar, got {}", shown(value))),
    }
}

/// A value as Go's `%v` prints it there.
fn shown(value: &Value) -> String {
    fn plain(value: &Value) -> String {
        match value {
            Value::Null => "<nil>".to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
            Value::Object(fields) => {
                let entries: Vec<String> =
                    fields.iter().map(|(key, value)| format!("{key}:{}", plain(value))).collect();
                format!("map[{}]", entries.join(" "))
            }
            other => other.to_string(),
        }
    }
    format!("&{{{}}}", plain(value))
}

/// A value as Go's `%#v` prints it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let entries: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key:?}:{}", go_syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }
        Value::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests;
