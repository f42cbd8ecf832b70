//! Values that may be absent. `or` and `orValue` are operations of their own, since they may leave their right side
//! uncomputed; here are only their signatures.

use super::{Declaration, Implementation, Scene, no_such_overload};
use crate::cel::cost::too_much;
use crate::cel::value::{List, Value};

const UNUSED: Implementation = |_, _| no_such_overload();

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration { name: "optional.of", single: false, overloads: &[("optional_of", "(A): optional(A)", of)] },
    Declaration {
        name: "optional.ofNonZeroValue",
        single: false,
        overloads: &[("optional_ofNonZeroValue", "(A): optional(A)", of_non_zero)],
    },
    Declaration {
        name: "optional.none",
        single: false,
        overloads: &[("optional_none", "(): optional(A)", |_, _| Value::Optional(None))],
    },
    Declaration {
        name: "value",
        single: false,
        overloads: &[("optional_value", "optional(A).(): A", value)],
    },
    Declaration {
        name: "hasValue",
        single: false,
        overloads: &[("optional_hasValue", "optional(A).(): bool", has)],
    },
    Declaration {
        name: "or",
        single: false,
        overloads: &[("optional_or_optional", "optional(A).(optional(A)): optional(A)", UNUSED)],
    },
    Declaration {
        name: "orValue",
        single: false,
        overloads: &[("optional_orValue_value", "optional(A).(A): A", UNUSED)],
    },
    Declaration {
        name: "first",
        single: false,
        overloads: &[("list_first", "list(A).(): optional(A)", first)],
    },
    Declaration { name: "last", single: false, overloads: &[("list_last", "list(A).(): optional(A)", last)] },
    Declaration {
        name: "optional.unwrap",
        single: false,
        overloads: &[("optional_unwrap", "(list(optional(A))): list(A)", unwrap)],
    },
    Declaration {
        name: "unwrapOpt",
        single: false,
        overloads: &[("optional_unwrapOpt", "list(optional(A)).(): list(A)", unwrap)],
    },
];

fn of<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [value] => Value::some(value.clone()),
        _ => no_such_overload(),
    }
}

fn of_non_zero<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [value] if is_zero(value) => Value::Optional(None),
        [value] => Value::some(value.clone()),
        _ => no_such_overload(),
    }
}

/// Whether a value is the one its type begins with.
fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Int(value) => *value == 0,
        Value::Uint(value) => *value == 0,
        Value::Double(value) => *value == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Duration(value) => *value == 0,
        // The zero of time is the beginning of year 1.
        Value::Timestamp(time) => time.seconds == super::conversions::MINIMUM_SECOND && time.nanoseconds == 0,
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Object(object) => !object.is_patch() && object.fields().is_empty(),
        // These have no such value, not even an empty optional.
        Value::Optional(_) | Value::Opaque(_) | Value::Type(_) | Value::Variables | Value::Error(_) => false,
    }
}

fn value<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Optional(Some(value))] => (**value).clone(),
        [Value::Optional(None)] => Value::error("optional.none() dereference"),
        _ => no_such_overload(),
    }
}

fn has<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Optional(value)] => Value::Bool(value.is_some()),
        _ => no_such_overload(),
    }
}

fn first<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::List(list)] => list.get(0).map_or(Value::Optional(None), Value::some),
        _ => no_such_overload(),
    }
}

fn last<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::List(list)] => {
            let last = list.len().checked_sub(1).and_then(|index| list.get(index));
            last.map_or(Value::Optional(None), Value::some)
        }
        _ => no_such_overload(),
    }
}

fn unwrap<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::List(list)] = arguments else { return no_such_overload() };
    if !scene.meter.look(list.len() as u64) {
        return too_much();
    }
    let mut items = Vec::new();
    for item in list.iter() {
        match item {
            Value::Optional(Some(value)) => items.push((*value).clone()),
            Value::Optional(None) => {}
            other => return Value::error(format!("value {} is not optional", other.plain())),
        }
    }
    List::made(items)
}
