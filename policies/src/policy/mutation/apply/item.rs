//! By what an item of a list is known.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::super::number::go_text;
use super::super::schema::{By, List, Schema};

/// What tells an item of a list apart from the others: its key fields, or itself. Comparable, with numbers equal that
/// are equal whatever they are written like.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    parts: Vec<(String, Part)>,
    /// As it is shown in a path.
    pub(super) shown: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Whole(i64),
    /// The bits of a double that is no whole number, and whole ones beyond the integers.
    Double(u64),
    Text(String),
    Bool(bool),
    /// Lists, objects and null are no keys that anybody would use; they are told apart by their text.
    Other(String),
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl Eq for Identity {}

impl PartialOrd for Identity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Identity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts.cmp(&other.parts)
    }
}

impl Identity {
    /// The identity of an item.
    pub(super) fn of(schema: &Schema, list: &List, item: &Value) -> Result<Self, String> {
        match &list.by {
            By::Keys(keys) if !keys.is_empty() => keyed(schema, list, keys, item),
            By::Keys(_) | By::Value => itself(item),
            By::Place => Err("invalid indexing of non-associative list".to_owned()),
        }
    }
}

fn keyed(schema: &Schema, list: &List, keys: &[String], item: &Value) -> Result<Identity, String> {
    let fields: &Map<String, Value> = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let map = schema.get(list.items).map.as_ref();
    let mut parts = Vec::with_capacity(keys.len());
    for key in keys {
        let default = || map.and_then(|map| map.fields.get(key)).and_then(|field| field.default.as_ref());
        // An item without one of its keys is another than any that has it.
        parts.extend(fields.get(key).or_else(default).map(|value| (key.clone(), value)));
    }
    if parts.is_empty() {
        let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values \
             for any key fields)",
            keys.join(" ")
        ));
    }
    parts.sort_by(|left, right| left.0.cmp(&right.0));
    let shown: Vec<String> = parts.iter().map(|(key, value)| format!("{key}={}", text(value))).collect();
    let shown = format!("[{}]", shown.join(","));
    Ok(Identity { parts: parts.into_iter().map(|(key, value)| (key, part(value))).collect(), shown })
}

fn itself(item: &Value) -> Result<Identity, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => {
            Ok(Identity { parts: vec![(String::new(), part(scalar))], shown: format!("[={}]", text(scalar)) })
        }
    }
}

fn part(value: &Value) -> Part {
    match value {
        Value::Bool(value) => Part::Bool(*value),
        Value::String(text) => Part::Text(text.clone()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Part::Whole(number),
            #[expect(clippy::cast_possible_truncation, reason = "only whole doubles that fit are cast")]
            (None, Some(number)) if number.fract() == 0.0 && number.abs() < 9e18 => {
                Part::Whole(number as i64)
            }
            (None, number) => Part::Double(number.unwrap_or_default().to_bits()),
        },
        other => Part::Other(other.to_string()),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Number(number) => go_text(number),
        other => other.to_string(),
    }
}
