//! Making lists, maps and messages, at once or piece by piece.

use super::Machine;
use crate::cel::cost::{LIST, MAP, MESSAGE, too_much};
use crate::cel::functions::unfit::unfit;
use crate::cel::functions::{inserted_all, no_such_overload};
use crate::cel::program::Code;
use crate::cel::value::{List, Made, Map, Object, Text, Value};

impl<'a> Machine<'a, '_> {
    pub(super) fn list(&mut self, count: usize, optional: u32) {
        let items = self.stack.split_off(self.stack.len().saturating_sub(count));
        let items = match self.code.optionals.get(optional as usize) {
            None => items,
            Some(optional) => items
                .into_iter()
                .zip(optional)
                .filter_map(|(item, optional)| match item {
                    Value::Optional(inner) if *optional => inner.map(|inner| (*inner).clone()),
                    item => Some(item),
                })
                .collect(),
        };
        self.push(List::made(items));
        self.meter.charge(LIST);
    }

    pub(super) fn map(&mut self, count: usize, optional: u32) {
        let parts = self.stack.split_off(self.stack.len().saturating_sub(2 * count));
        let optional = self.code.optionals.get(optional as usize);
        let mut made = Made::default();
        let mut parts = parts.into_iter();
        let mut at = 0;
        while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            let unwraps = optional.and_then(|optional| optional.get(at)).copied().unwrap_or(false);
            at += 1;
            if !self.meter.read(key.bytes()) {
                return self.push(too_much());
            }
            match value {
                Value::Optional(Some(inner)) if unwraps => made.insert(key, (*inner).clone()),
                Value::Optional(None) if unwraps => made.remove(&key),
                value => made.insert(key, value),
            }
        }
        self.push(Map::made(made));
        self.meter.charge(MAP);
    }

    pub(super) fn message(&mut self, message: u32) {
        let code: &'a Code = self.code;
        let Some(message) = code.messages.get(message as usize) else { return };
        let values = self.stack.split_off(self.stack.len().saturating_sub(message.fields.len()));
        let mut made = Made::default();
        for (value, (name, optional)) in values.into_iter().zip(&message.fields) {
            let name = Value::String(Text::Borrowed(name));
            match value {
                Value::Optional(Some(inner)) if *optional => made.insert(name, (*inner).clone()),
                Value::Optional(None) if *optional => made.remove(&name),
                value => made.insert(name, value),
            }
        }
        self.push(Object::made(&message.name, made));
        self.meter.charge(MESSAGE);
    }

    pub(super) fn append(&mut self, slot: u32, charge: u32) {
        let item = self.pop();
        let so_far = self.take(slot);
        self.meter.charge(u64::from(charge));
        let result = match (so_far, item) {
            (Value::Error(message), _) | (_, Value::Error(message)) => Value::Error(message),
            (Value::List(list), item) => list.pushed(item),
            _ => no_such_overload(),
        };
        self.push(result);
    }

    pub(super) fn insert_all(&mut self, slot: u32) {
        let more = self.pop();
        // Dropped, so that the one in its place is the only one, and is changed instead of copied.
        let is_error = match self.pop() {
            Value::Error(message) => Some(Value::Error(message)),
            _ => None,
        };
        self.meter.charge(1);
        let result = match (is_error, more) {
            (Some(error), _) => error,
            (None, Value::Error(message)) => Value::Error(message),
            (None, Value::Map(more)) => match self.take(slot) {
                Value::Map(map) => inserted_all(map, &more, &mut self.meter),
                _ => no_such_overload(),
            },
            (None, other) => unfit("cel.@mapInsert", &[self.take(slot), other]),
        };
        self.push(result);
    }

    pub(super) fn insert(&mut self, slot: u32) {
        let value = self.pop();
        let key = self.pop();
        self.meter.charge(1);
        if !self.meter.read(key.bytes()) {
            return self.push(too_much());
        }
        let result = match (self.take(slot), value) {
            (_, Value::Error(message)) => Value::Error(message),
            (Value::Map(map), value) => map.inserted(key, value),
            _ => no_such_overload(),
        };
        self.push(result);
    }
}
