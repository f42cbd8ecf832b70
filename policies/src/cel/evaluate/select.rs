//! Looking into values: fields, keys and indexes, also where they may be absent.

use std::sync::Arc;

use super::Machine;
use crate::cel::cost::too_much;
use crate::cel::functions::no_such_overload;
use crate::cel::program::Mode;
use crate::cel::value::{Value, double_to_int};

/// What looking into a value finds.
enum Found<'a> {
    Value(Value<'a>),
    /// Nothing, and the error that is when it may not be absent.
    Nothing(Missing),
    /// Nothing, of a message, which has something to show for it.
    Empty(Value<'a>),
    Error(Value<'a>),
}

enum Missing {
    Key,
    Index,
}

impl<'a> Machine<'a, '_> {
    pub(super) fn select(&mut self, key: u32, mode: Mode) {
        let key = self.constant(key);
        if self.stack.last().is_some_and(has_variables) && self.waits(&key) {
            return;
        }
        let base = self.pop();
        let result = match base {
            Value::Error(_) => base,
            Value::Optional(None) => {
                if mode.test {
                    Value::Bool(false)
                } else {
                    base
                }
            }
            Value::Optional(Some(inner)) => self.present(&inner, &key, mode),
            base if mode.optional => self.present(&base, &key, mode),
            base => self.required(&base, &key, mode),
        };
        self.push(result);
        self.charge_if(mode.charge);
    }

    pub(super) fn index(&mut self, mode: Mode) {
        if let [.., base, key] = self.stack.as_slice()
            && has_variables(base)
        {
            let key = key.clone();
            if self.waits(&key) {
                return;
            }
        }
        let key = self.pop();
        let base = self.pop();
        let lenient = mode.optional || matches!(base, Value::Optional(_));
        let result = match key {
            Value::Error(_) => {
                // A key that cannot be computed counts as looked up, unless it may be absent.
                self.charge_if(!lenient);
                key
            }
            Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => {
                match base {
                    Value::Optional(None) | Value::Error(_) => base,
                    Value::Optional(Some(inner)) => self.present(&inner, &key, mode),
                    base if mode.optional => self.present(&base, &key, mode),
                    base => self.required(&base, &key, mode),
                }
            }
            other => {
                self.charge_if(!lenient);
                Value::error(format!("invalid qualifier type: {}", other.go_name()))
            }
        };
        self.push(result);
        self.charge_if(mode.charge);
    }

    /// The part under a key that must be there, or, for `has`, whether it is.
    fn required(&mut self, base: &Value<'a>, key: &Value<'a>, mode: Mode) -> Value<'a> {
        self.charge_if(true);
        match (self.find(base, key), mode.test) {
            (Found::Value(_), true) => Value::Bool(true),
            (Found::Nothing(_) | Found::Empty(_), true) => Value::Bool(false),
            (Found::Empty(value), false) => value,
            // Kubernetes looks into an optional at the beginning of a chain only; within, there is nothing in it.
            (Found::Value(Value::Optional(_)), false) if mode.followed => Value::Null,
            (Found::Value(value), false) => value,
            // Each error has the key in it, and a loop may meet one after the other.
            (Found::Nothing(Missing::Key), false) if !self.meter.write(key.bytes()) => too_much(),
            (Found::Nothing(Missing::Key), false) => match key {
                Value::String(text) => Value::error(format!("no such key: {}", &**text)),
                key => Value::error(format!("no such key: {}", key.plain())),
            },
            (Found::Nothing(Missing::Index), false) => {
                Value::error(format!("index out of bounds: {}", key.plain()))
            }
            (Found::Error(error), _) => error,
        }
    }

    /// The part under a key that may be absent, as an optional; for `has`, whether it is there.
    fn present(&mut self, base: &Value<'a>, key: &Value<'a>, mode: Mode) -> Value<'a> {
        match self.find(base, key) {
            Found::Value(value) => {
                self.charge_if(true);
                if mode.test { Value::Bool(true) } else { Value::Optional(Some(Arc::new(value))) }
            }
            Found::Nothing(_) | Found::Empty(_) => {
                if mode.test {
                    Value::Bool(false)
                } else {
                    Value::Optional(None)
                }
            }
            Found::Error(error) => error,
        }
    }

    fn find(&mut self, base: &Value<'a>, key: &Value<'a>) -> Found<'a> {
        if !self.meter.read(key.bytes()) {
            return Found::Error(too_much());
        }
        match base {
            Value::Map(map) => {
                let found = match key {
                    Value::String(text) => map.get(text),
                    key => map.find(key),
                };
                found.map_or(Found::Nothing(Missing::Key), Found::Value)
            }
            Value::List(list) => {
                let index = match key {
                    Value::Int(index) => Some(*index),
                    Value::Uint(index) => i64::try_from(*index).ok(),
                    Value::Double(index) => double_to_int(*index),
                    _ => {
                        let message = format!("unsupported index type '{}' in list", key.type_name());
                        return Found::Error(Value::error(message));
                    }
                };
                let Some(index) = index else {
                    return Found::Error(Value::error(format!(
                        "unsupported index value {} in list",
                        key.plain()
                    )));
                };
                let item = usize::try_from(index).ok().and_then(|index| list.get(index));
                item.map_or(Found::Nothing(Missing::Index), Found::Value)
            }
            Value::Object(object) => match key {
                Value::String(field) => {
                    object.field(field).map_or(Found::Empty(object.empty(field)), Found::Value)
                }
                _ => Found::Nothing(Missing::Key),
            },
            Value::Variables => match key {
                Value::String(name) => match self.variable(name) {
                    Some(error @ Value::Error(_)) => Found::Error(error),
                    value => value.map_or(Found::Nothing(Missing::Key), Found::Value),
                },
                _ => Found::Error(no_such_overload()),
            },
            _ => Found::Nothing(Missing::Key),
        }
    }
}

/// Whether looking into a value looks at variables, which may have to be evaluated first.
fn has_variables(value: &Value<'_>) -> bool {
    match value {
        Value::Variables => true,
        Value::Optional(Some(inner)) => matches!(**inner, Value::Variables),
        _ => false,
    }
}
