//! Whether a value fits its schema, and what of it is atomic.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::schema::{By, List, Map, Ref, Schema};
use super::item::Identity;
use super::{Misfit, Taken, below, misfit_of, shown, taken};

/// Whether two items of a list may be known by the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    AreWrong,
    /// An object may have been stored with them before its definition forbade them.
    Pass,
}

/// Everything about the value that does not fit.
pub(super) fn check(schema: &Schema, value: &Value, duplicates: Duplicates) -> Vec<Misfit> {
    Checking { schema, duplicates }.any(schema.root(), value)
}

struct Checking<'a> {
    schema: &'a Schema,
    duplicates: Duplicates,
}

// As deep as the value, whose depth is bounded where it is read and made.
impl Checking<'_> {
    fn any(&self, of: Ref, value: &Value) -> Vec<Misfit> {
        let of = self.schema.get(of);
        match taken(of, Some(value)) {
            Taken::Map => of.map.as_ref().map_or_else(Vec::new, |map| self.map(map, value)),
            Taken::List => of.list.as_ref().map_or_else(Vec::new, |list| self.list(list, value)),
            Taken::Scalar => {
                let misfit = of.scalar.and_then(|scalar| misfit_of(scalar, value));
                misfit.map_or_else(Vec::new, Misfit::here)
            }
            Taken::Nothing => Misfit::here("schema error: invalid atom: inlined"),
        }
    }

    fn map(&self, map: &Map, value: &Value) -> Vec<Misfit> {
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return Vec::new(),
            other => return Misfit::here(format!("expected map, got {}", shown(other))),
        };
        let mut misfits = Vec::new();
        for (key, value) in fields {
            let element = format!(".{key}");
            match map.fields.get(key).map(|field| field.of).or(map.others) {
                Some(of) => misfits.extend(below(&element, self.any(of, value))),
                None => {
                    misfits.extend(below(&element, Misfit::here("field not declared in schema")));
                    // Kubernetes looks no further either.
                    break;
                }
            }
        }
        misfits
    }

    fn list(&self, list: &List, value: &Value) -> Vec<Misfit> {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return Vec::new(),
            other => return Misfit::here(format!("expected list, got {}", shown(other))),
        };
        let mut misfits = Vec::new();
        let mut seen = BTreeSet::new();
        for (place, item) in items.iter().enumerate() {
            let element = if list.by == By::Place {
                format!("[{place}]")
            } else {
                let identity = match Identity::of(self.schema, list, item) {
                    Ok(identity) => identity,
                    Err(why) => {
                        misfits.extend(Misfit::here(format!("element {place}: {why}")));
                        return misfits;
                    }
                };
                let shown = identity.shown.clone();
                if !seen.insert(identity) && self.duplicates == Duplicates::AreWrong {
                    misfits.extend(Misfit::here(format!("duplicate entries for key {shown}")));
                }
                shown
            };
            misfits.extend(below(&element, self.any(list.items, item)));
        }
        misfits
    }
}

/// The paths of everything in the value that is atomic.
pub(super) fn atomics(schema: &Schema, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(schema, schema.root(), value, &mut String::new(), &mut found);
    found
}

fn look(schema: &Schema, of: Ref, value: &Value, path: &mut String, found: &mut Vec<String>) {
    let of = schema.get(of);
    let length = path.len();
    match (value, &of.map, &of.list) {
        (Value::Object(fields), Some(map), _) => {
            if map.atomic {
                found.push(path.clone());
            }
            for (key, value) in fields {
                // What is no field of its own, such as a label, is not looked into.
                if let Some(field) = map.fields.get(key) {
                    path.push('.');
                    path.push_str(key);
                    look(schema, field.of, value, path, found);
                    path.truncate(length);
                }
            }
        }
        (Value::Array(items), _, Some(list)) => {
            if list.by == By::Place {
                found.push(path.clone());
            }
            for (place, item) in items.iter().enumerate() {
                path.push_str(&format!("[{place}]"));
                look(schema, list.items, item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
