//! Maps: of a document, or made while evaluating.

use std::collections::HashMap;
use std::sync::Arc;

use super::{MAXIMUM_DEPTH, Text, Value, double_to_int, double_to_uint, too_deep};
use crate::cel::tree::{Children, Tree};

/// A map.
#[derive(Clone, Debug)]
pub struct Map<'a>(Kind<'a>);

#[derive(Clone, Debug)]
enum Kind<'a> {
    Document { tree: &'a Tree<'a>, children: Children },
    Constant(&'a Made<'a>),
    Made(Arc<Made<'a>>),
}

/// Entries in the order they were written, found by hash once there are many.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made<'a> {
    entries: Vec<(Value<'a>, Value<'a>)>,
    places: HashMap<Key, usize>,
    depth: u32,
}

/// A key by which entries are told apart; equal numbers of different types are different keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(u64),
    String(Arc<str>),
}

/// Below this, looking at every entry is faster than hashing.
const FEW: usize = 8;

impl<'a> Made<'a> {
    pub(crate) fn insert(&mut self, key: Value<'a>, value: Value<'a>) {
        match self.place(&key) {
            Some(place) => {
                if let Some((_, old)) = self.entries.get_mut(place) {
                    self.depth = self.depth.max(value.depth() + 1);
                    *old = value;
                }
            }
            None => {
                self.depth = self.depth.max(value.depth() + 1).max(key.depth() + 1);
                self.entries.push((key, value));
                if self.entries.len() == FEW + 1 {
                    self.places = self
                        .entries
                        .iter()
                        .enumerate()
                        .filter_map(|(at, (key, _))| Some((owned(key)?, at)))
                        .collect();
                } else if self.entries.len() > FEW
                    && let Some((key, _)) = self.entries.last()
                    && let Some(key) = owned(key)
                {
                    self.places.insert(key, self.entries.len() - 1);
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &Value<'a>) {
        if let Some(place) = self.place(key) {
            self.entries.remove(place);
            let rest = std::mem::take(&mut self.entries);
            self.places.clear();
            for (key, value) in rest {
                self.insert(key, value);
            }
        }
    }

    fn place(&self, key: &Value<'_>) -> Option<usize> {
        if self.entries.len() > FEW {
            return self.places.get(&owned(key)?).copied();
        }
        self.entries.iter().position(|(own, _)| same_key(own, key))
    }

    fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        self.entries.get(self.place(key)?).map(|(_, value)| value)
    }

    fn text(&self, key: &str) -> Option<&Value<'a>> {
        if self.entries.len() > FEW {
            return self.get(&Value::text(key));
        }
        let same = |own: &Value<'_>| matches!(own, Value::String(text) if **text == *key);
        self.entries.iter().find(|(own, _)| same(own)).map(|(_, value)| value)
    }
}

fn owned(key: &Value<'_>) -> Option<Key> {
    Some(match key {
        Value::Null => Key::Null,
        Value::Bool(value) => Key::Bool(*value),
        Value::Int(value) => Key::Int(*value),
        Value::Uint(value) => Key::Uint(*value),
        // Both zeros are one key; no key equals one that is no number.
        Value::Double(value) if !value.is_nan() => Key::Double((value + 0.0).to_bits()),
        Value::String(text) => Key::String(Arc::from(&**text)),
        _ => return None,
    })
}

fn same_key(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::String(left), Value::String(right)) => **left == **right,
        (Value::Int(left), Value::Int(right)) => left == right,
        (Value::Uint(left), Value::Uint(right)) => left == right,
        (Value::Double(left), Value::Double(right)) => left == right,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Null, Value::Null) => true,
        _ => false,
    }
}

impl<'a> Map<'a> {
    pub(crate) fn document(tree: &'a Tree<'a>, children: Children) -> Self {
        Self(Kind::Document { tree, children })
    }

    /// The map without counting references.
    pub(crate) fn borrowed(&'a self) -> Self {
        match &self.0 {
            Kind::Made(made) => Self(Kind::Constant(made)),
            _ => self.clone(),
        }
    }

    /// A map of what was gathered, or an error when it nests too deeply.
    pub(crate) fn made(made: Made<'a>) -> Value<'a> {
        if made.depth > MAXIMUM_DEPTH {
            return too_deep();
        }
        Value::Map(Self(Kind::Made(Arc::new(made))))
    }

    /// The map with one more entry, in place when nobody else holds it; a key that is there already is an error.
    pub(crate) fn inserted(self, key: Value<'a>, value: Value<'a>) -> Value<'a> {
        if self.find(&key).is_some() {
            return Value::error(format!("insert failed: key {} already exists", key.plain()));
        }
        let mut made = match self.0 {
            Kind::Made(made) => made,
            other => {
                let mut made = Made::default();
                for (key, value) in Self(other).iter() {
                    made.insert(key, value);
                }
                Arc::new(made)
            }
        };
        let map = Arc::make_mut(&mut made);
        map.insert(key, value);
        if map.depth > MAXIMUM_DEPTH {
            return too_deep();
        }
        Value::Map(Self(Kind::Made(made)))
    }

    /// Whether it is part of a document, and not made by an expression.
    pub(crate) fn is_document(&self) -> bool {
        matches!(self.0, Kind::Document { .. })
    }

    /// How many entries it has.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Document { children, .. } => children.len(),
            Kind::Constant(made) => made.entries.len(),
            Kind::Made(made) => made.entries.len(),
        }
    }

    /// Whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn depth(&self) -> u32 {
        match &self.0 {
            Kind::Document { .. } => 0,
            Kind::Constant(made) => made.depth,
            Kind::Made(made) => made.depth,
        }
    }

    /// The value under a text.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        match &self.0 {
            Kind::Document { tree, children } => {
                tree.find(*children, key).map(|node| Value::node(tree, node))
            }
            Kind::Constant(made) => made.text(key).map(Value::borrowed),
            Kind::Made(made) => made.text(key).cloned(),
        }
    }

    /// The value under any key; a number finds an equal one of another type.
    pub(crate) fn find(&self, key: &Value<'_>) -> Option<Value<'a>> {
        if let Value::String(text) = key {
            return self.get(text);
        }
        let made = match &self.0 {
            Kind::Document { .. } => return None,
            Kind::Constant(made) => made,
            Kind::Made(made) => made.as_ref(),
        };
        if let Some(value) = made.get(key) {
            return Some(value.clone());
        }
        let other = match key {
            Value::Double(value) => {
                let signed = double_to_int(*value).and_then(|value| made.get(&Value::Int(value)));
                if let Some(value) = signed {
                    return Some(value.clone());
                }
                Value::Uint(double_to_uint(*value)?)
            }
            Value::Int(value) => Value::Uint(u64::try_from(*value).ok()?),
            Value::Uint(value) => Value::Int(i64::try_from(*value).ok()?),
            _ => return None,
        };
        made.get(&other).cloned()
    }

    /// The key and value at `index`, in the order they were written.
    pub(crate) fn entry(&self, index: usize) -> Option<(Value<'a>, Value<'a>)> {
        match &self.0 {
            Kind::Document { tree, children } => {
                let node = tree.children(*children).get(index)?;
                Some((Value::String(Text::Borrowed(&node.key)), Value::node(tree, node)))
            }
            Kind::Constant(made) => {
                let (key, value) = made.entries.get(index)?;
                Some((key.borrowed(), value.borrowed()))
            }
            Kind::Made(made) => made.entries.get(index).cloned(),
        }
    }

    /// All entries, in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = (Value<'a>, Value<'a>)> + '_ {
        (0..self.len()).filter_map(|index| self.entry(index))
    }
}
