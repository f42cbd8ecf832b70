//! Two values merged: what the second has wins, what only the first has stays.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map as Fields, Value};

use super::super::schema::{By, List, Map, Ref, Schema};
use super::item::Identity;
use super::{Misfit, Taken, below, misfit_of, taken};

/// The object with the configuration laid over it.
pub(super) fn merge(schema: &Schema, object: &Value, configuration: &Value) -> Result<Value, Vec<Misfit>> {
    let merged = Merging { schema }.any(schema.root(), Some(object), Some(configuration))?;
    Ok(merged.unwrap_or(Value::Object(Fields::new())))
}

struct Merging<'a> {
    schema: &'a Schema,
}

type Merged = Result<Option<Value>, Vec<Misfit>>;

// As deep as the deeper value, whose depth is bounded where it is read and made. At most one of the two is missing.
impl Merging<'_> {
    fn any(&self, of: Ref, left: Option<&Value>, right: Option<&Value>) -> Merged {
        let kind = self.schema.get(of);
        let (as_left, as_right) = (taken(kind, left), taken(kind, right));
        if right.is_none() {
            return self.as_kind(as_left, of, left, right);
        }
        if left.is_none() || as_left == as_right {
            return self.as_kind(as_right, of, left, right);
        }
        // One became something else. Kubernetes tries both ways for their mistakes and keeps the second's result.
        let first = self.as_kind(as_left, of, left, right);
        let second = self.as_kind(as_right, of, left, right);
        match (first, second) {
            (Ok(_), merged) => merged,
            (Err(mut misfits), second) => {
                misfits.extend(second.err().unwrap_or_default());
                Err(misfits)
            }
        }
    }

    fn as_kind(&self, kind: Taken, of: Ref, left: Option<&Value>, right: Option<&Value>) -> Merged {
        let of = self.schema.get(of);
        match (kind, &of.map, &of.list, of.scalar) {
            (Taken::Map, Some(map), ..) => self.map(map, left, right),
            (Taken::List, _, Some(list), _) => self.list(list, left, right),
            (Taken::Scalar, _, _, Some(scalar)) => {
                let misfit = |side: &str, value: Option<&Value>| {
                    value.and_then(|value| misfit_of(scalar, value)).map(|why| format!("{side}: {why}"))
                };
                match (misfit("lhs", left), misfit("rhs", right)) {
                    (Some(first), Some(second)) => {
                        let mut misfits = Misfit::here(first);
                        misfits.extend(Misfit::here(second));
                        Err(misfits)
                    }
                    _ => Ok(right.or(left).cloned()),
                }
            }
            _ => Err(Misfit::here("schema error: invalid atom: inlined")),
        }
    }

    fn map(&self, map: &Map, left: Option<&Value>, right: Option<&Value>) -> Merged {
        let none = Fields::new();
        let (fields, over) = (
            left.and_then(Value::as_object).unwrap_or(&none),
            right.and_then(Value::as_object).unwrap_or(&none),
        );
        // Kept apart, so that `null` and an empty object stay what they are.
        if map.atomic || fields.is_empty() && over.is_empty() {
            return Ok(right.or(left).cloned());
        }
        let mut merged = Fields::new();
        let mut misfits = Vec::new();
        let added = over.iter().filter(|(key, _)| !fields.contains_key(*key));
        for (key, _) in fields.iter().chain(added) {
            let Some(of) = map.fields.get(key).map(|field| field.of).or(map.others) else {
                misfits.extend(below(&format!(".{key}"), Misfit::here("field not declared in schema")));
                continue;
            };
            match self.any(of, fields.get(key), over.get(key)) {
                Ok(Some(value)) => {
                    merged.insert(key.clone(), value);
                }
                Ok(None) => {}
                Err(inner) => misfits.extend(below(&format!(".{key}"), inner)),
            }
        }
        if !misfits.is_empty() {
            return Err(misfits);
        }
        Ok((!merged.is_empty()).then_some(Value::Object(merged)))
    }

    fn list(&self, list: &List, left: Option<&Value>, right: Option<&Value>) -> Merged {
        let none = Vec::new();
        let (items, over) = (
            left.and_then(Value::as_array).unwrap_or(&none),
            right.and_then(Value::as_array).unwrap_or(&none),
        );
        if list.by == By::Place || items.is_empty() && over.is_empty() {
            return Ok(right.or(left).cloned());
        }
        let (left, right) = (self.index(list, items), self.index(list, over));
        let (left, right) = match (left, right) {
            (Ok(left), Ok(right)) => (left, right),
            (left, right) => {
                let mut misfits = right.err().unwrap_or_default();
                misfits.extend(left.err().unwrap_or_default());
                return Err(misfits);
            }
        };
        let merged = self.interleave(list, items, &left, &right);
        Ok((!merged.is_empty()).then_some(Value::Array(merged)))
    }

    fn index<'a>(&self, list: &List, items: &'a [Value]) -> Result<Index<'a>, Vec<Misfit>> {
        static DUPLICATE: Value = Value::Null;
        let mut index = Index { order: Vec::with_capacity(items.len()), by: BTreeMap::new() };
        let mut misfits = Vec::new();
        for (place, item) in items.iter().enumerate() {
            match Identity::of(self.schema, list, item) {
                Ok(identity) => {
                    // What is there twice is not merged with what comes for it, but replaced.
                    let item = if index.by.contains_key(&identity) { &DUPLICATE } else { item };
                    index.by.insert(identity.clone(), item);
                    index.order.push(identity);
                }
                Err(why) => misfits.extend(Misfit::here(format!("element {place}: {why}"))),
            }
        }
        if misfits.is_empty() { Ok(index) } else { Err(misfits) }
    }

    /// Items that both have follow the second's order, and items that only one has stay near what they were beside.
    fn interleave(&self, list: &List, items: &[Value], left: &Index<'_>, right: &Index<'_>) -> Vec<Value> {
        let mut merged = Vec::with_capacity(items.len().max(right.order.len()));
        let mut shared: VecDeque<&Identity> =
            right.order.iter().filter(|identity| left.by.contains_key(identity)).collect();
        let mut next = shared.pop_front();
        let mut done = BTreeSet::new();
        let (mut at_left, mut at_right) = (0, 0);
        // An item that does not fit was found before; Kubernetes drops such mistakes here.
        let mut push = |first: Option<&Value>, second: Option<&Value>| {
            merged.extend(self.any(list.items, first, second).ok().flatten());
        };
        loop {
            let (one, other) = (left.order.get(at_left), right.order.get(at_right));
            if one.is_none() && other.is_none() {
                break;
            }
            if let (Some(one), Some(other)) = (one, other) {
                if one == other {
                    done.insert(one);
                    push(left.by.get(one).copied(), right.by.get(one).copied());
                    at_left += 1;
                    at_right += 1;
                    next = shared.pop_front();
                    continue;
                }
                if right.by.contains_key(one) && next.is_some_and(|next| next != one) {
                    at_left += 1;
                    continue;
                }
            }
            if let Some(one) = one {
                if !right.by.contains_key(one) {
                    push(items.get(at_left), None);
                    at_left += 1;
                    continue;
                }
                if done.contains(one) {
                    at_left += 1;
                }
            }
            if let Some(other) = other {
                done.insert(other);
                push(left.by.get(other).copied(), right.by.get(other).copied());
                at_right += 1;
                if next == Some(other) {
                    next = shared.pop_front();
                }
            }
        }
        merged
    }
}

/// The items of a list by what they are known by, and in their order.
struct Index<'a> {
    order: Vec<Identity>,
    by: BTreeMap<Identity, &'a Value>,
}
