//! Maps: of a document, or made while evaluating.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::fast::RandomState;

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
    places: Places,
    depth: u32,
}

/// Entries by the hash of their keys, which stay where they are, however long.
#[derive(Clone, Debug, Default)]
struct Places {
    seed: RandomState,
    /// The last entry of each hash.
    last: HashMap<u64, usize, RandomState>,
    /// For each entry the one before it with the same hash.
    before: Vec<Option<usize>>,
}

impl Places {
    fn add(&mut self, key: &Value<'_>) {
        let before = self.hash(key).and_then(|hash| self.last.insert(hash, self.before.len()));
        self.before.push(before);
    }

    /// The entries whose key may be this one, the last first.
    fn of(&self, key: &Value<'_>) -> impl Iterator<Item = usize> + '_ {
        let last = self.hash(key).and_then(|hash| self.last.get(&hash).copied());
        std::iter::successors(last, |at| self.before.get(*at).copied().flatten())
    }

    /// Nothing for a key that equals no other. Both zeros are one key.
    fn hash(&self, key: &Value<'_>) -> Option<u64> {
        Some(match key {
            Value::Null => 0,
            Value::Bool(value) => self.seed.hash_one(value),
            Value::Int(value) => self.seed.hash_one(value),
            Value::Uint(value) => self.seed.hash_one(value),
            Value::Double(value) if !value.is_nan() => self.seed.hash_one((value + 0.0).to_bits()),
            Value::String(text) => self.seed.hash_one(&**text),
            _ => return None,
        })
    }
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
                if self.entries.len() > FEW {
                    // All of them, the first time.
                    let new = self.entries.get(self.places.before.len()..).unwrap_or_default();
                    new.iter().for_each(|(key, _)| self.places.add(key));
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &Value<'a>) {
        if let Some(place) = self.place(key) {
            self.entries.remove(place);
            let rest = std::mem::take(&mut self.entries);
            self.places = Places::default();
            for (key, value) in rest {
                self.insert(key, value);
            }
        }
    }

    fn place(&self, key: &Value<'_>) -> Option<usize> {
        if self.entries.len() > FEW {
            let is_it = |at: &usize| self.entries.get(*at).is_some_and(|(own, _)| same_key(own, key));
            return self.places.of(key).find(is_it);
        }
        self.entries.iter().position(|(own, _)| same_key(own, key))
    }

    fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        self.entries.get(self.place(key)?).map(|(_, value)| value)
    }

    fn text(&self, key: &str) -> Option<&Value<'a>> {
        if self.entries.len() > FEW {
            return self.get(&Value::String(Text::Borrowed(key)));
        }
        let same = |own: &Value<'_>| matches!(own, Value::String(text) if **text == *key);
        self.entries.iter().find(|(own, _)| same(own)).map(|(_, value)| value)
    }
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
