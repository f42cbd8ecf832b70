//! Looking into lists and maps: `in`, `size`, indexes, and what `transformMap` inserts with.

use super::{Declaration, Implementation, Scene, no_such_overload};
use crate::cel::cost::{Meter, too_much};
use crate::cel::value::{Equality, Map, Value, characters, equal};

/// Indexes are operations of their own; here are only their signatures.
const UNUSED: Implementation = |_, _| no_such_overload();

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "@in",
        single: true,
        overloads: &[
            ("in_list", "(A, list(A)): bool", contains),
            ("in_map", "(A, map(A, B)): bool", contains),
        ],
    },
    Declaration {
        name: "_[_]",
        single: true,
        overloads: &[
            ("index_list", "(list(A), int): A", UNUSED),
            ("index_map", "(map(A, B), A): B", UNUSED),
            ("optional_list_index_int", "(optional(list(A)), int): optional(A)", UNUSED),
            ("optional_map_index_value", "(optional(map(A, B)), A): optional(B)", UNUSED),
        ],
    },
    Declaration {
        name: "_[?_]",
        single: true,
        overloads: &[
            ("list_optindex_optional_int", "(list(A), int): optional(A)", UNUSED),
            ("optional_list_optindex_optional_int", "(optional(list(A)), int): optional(A)", UNUSED),
            ("map_optindex_optional_value", "(map(A, B), A): optional(B)", UNUSED),
            ("optional_map_optindex_optional_value", "(optional(map(A, B)), A): optional(B)", UNUSED),
        ],
    },
    Declaration {
        name: "size",
        single: true,
        overloads: &[
            ("size_bytes", "(bytes): int", size),
            ("bytes_size", "bytes.(): int", size),
            ("size_list", "(list(A)): int", size),
            ("list_size", "list(A).(): int", size),
            ("size_map", "(map(A, B)): int", size),
            ("map_size", "map(A, B).(): int", size),
            ("size_string", "(string): int", size),
            ("string_size", "string.(): int", size),
        ],
    },
    Declaration {
        name: "cel.@mapInsert",
        single: false,
        overloads: &[
            ("@mapInsert_map_key_value", "(map(A, B), A, B): map(A, B)", insert),
            ("@mapInsert_map_map", "(map(A, B), map(A, B)): map(A, B)", insert_all),
        ],
    },
];

fn contains<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [element, Value::List(list)] => {
            for item in list.iter() {
                if !scene.meter.look(1) {
                    return too_much();
                }
                match equal(element, &item, &mut scene.meter.allowance.work) {
                    Equality::Equal => return Value::Bool(true),
                    Equality::TooMuch => return too_much(),
                    Equality::Different | Equality::NotComparable => {}
                }
            }
            Value::Bool(false)
        }
        [key, Value::Map(map)] => Value::Bool(map.find(key).is_some()),
        _ => no_such_overload(),
    }
}

fn size<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let length = match arguments {
        [Value::String(text)] => characters(text),
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(list)] => list.len(),
        [Value::Map(map)] => map.len(),
        _ => return no_such_overload(),
    };
    Value::Int(i64::try_from(length).unwrap_or(i64::MAX))
}

fn insert<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Map(map), key, value] if scene.meter.look(map.len() as u64) => {
            map.clone().inserted(key.clone(), value.clone())
        }
        [Value::Map(_), _, _] => too_much(),
        _ => no_such_overload(),
    }
}

fn insert_all<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Map(map), Value::Map(more)] if scene.meter.look(map.len() as u64) => {
            inserted_all(map.clone(), more, scene.meter)
        }
        [Value::Map(_), Value::Map(_)] => too_much(),
        _ => no_such_overload(),
    }
}

/// The map with all entries of another; a key that is there already is an error.
pub(crate) fn inserted_all<'a>(map: Map<'a>, more: &Map<'a>, meter: &mut Meter) -> Value<'a> {
    let mut result = Value::Map(map);
    for (key, value) in more.iter() {
        if !meter.look(1) || !meter.read(key.bytes()) {
            return too_much();
        }
        result = match result {
            Value::Map(map) => map.inserted(key, value),
            other => return other,
        };
    }
    result
}
