//! Messages: what an expression of a mutation makes, an object or one operation of a patch.

use std::sync::Arc;

use super::{Made, Map, Text, Value};

/// A message of a named type.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    name: Arc<str>,
    fields: Map<'a>,
}

impl<'a> Object<'a> {
    pub(crate) fn made(name: &Arc<str>, fields: Made<'a>) -> Value<'a> {
        match Map::made(fields) {
            Value::Map(fields) => Value::Object(Arc::new(Self { name: Arc::clone(name), fields })),
            other => other,
        }
    }

    /// The name of its type: `Object`, `Object.spec`, `JSONPatch`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it was made of.
    #[must_use]
    pub fn fields(&self) -> &Map<'a> {
        &self.fields
    }

    /// Whether it is an operation of a patch, whose fields are known.
    #[must_use]
    pub fn is_patch(&self) -> bool {
        &*self.name == "JSONPatch"
    }

    pub(crate) fn depth(&self) -> u32 {
        self.fields.depth()
    }

    /// A field as it is seen from outside; an empty one of a patch is none.
    pub(crate) fn field(&self, name: &str) -> Option<Value<'a>> {
        let value = self.fields.get(name)?;
        if self.is_patch() {
            return Some(value)
                .filter(|value| !matches!(value, Value::String(text) if text.is_empty() && name != "value"));
        }
        Some(plain(value))
    }

    /// What stands for a field that was not given.
    pub(crate) fn empty(&self, name: &str) -> Value<'a> {
        if self.is_patch() && name != "value" { Value::String(Text::Borrowed("")) } else { Value::Null }
    }

    /// The fields as a map, those of objects within too.
    pub(crate) fn plain(&self) -> Value<'a> {
        let mut made = Made::default();
        for (key, value) in self.fields.iter() {
            made.insert(key, plain(value));
        }
        Map::made(made)
    }
}

/// A value of an object as the API would have it: objects are maps, and optionals what they hold.
fn plain(value: Value<'_>) -> Value<'_> {
    match value {
        // An object's depth is bounded where it is made, so this recursion is too.
        Value::Object(object) if !object.is_patch() => object.plain(),
        Value::Optional(Some(inner)) => plain((*inner).clone()),
        Value::Optional(None) => Value::Null,
        Value::List(list) if list.iter().any(|item| matches!(item, Value::Object(_))) => {
            super::List::made(list.iter().map(plain).collect())
        }
        other => other,
    }
}
