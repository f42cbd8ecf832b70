//! `< <= > >=`, and what decides between values. Equality, `&&`, `||` and `?:` are operations of their own; here
//! are only their signatures.

use std::cmp::Ordering;

use super::{Declaration, Implementation, Scene, no_such_overload};
use crate::cel::value::{Value, compare};

macro_rules! ordering {
    ($name:literal, $prefix:literal, $call:expr) => {
        Declaration {
            name: $name,
            single: true,
            overloads: &[
                (concat!($prefix, "_bool"), "(bool, bool): bool", $call),
                (concat!($prefix, "_int64"), "(int, int): bool", $call),
                (concat!($prefix, "_int64_double"), "(int, double): bool", $call),
                (concat!($prefix, "_int64_uint64"), "(int, uint): bool", $call),
                (concat!($prefix, "_uint64"), "(uint, uint): bool", $call),
                (concat!($prefix, "_uint64_double"), "(uint, double): bool", $call),
                (concat!($prefix, "_uint64_int64"), "(uint, int): bool", $call),
                (concat!($prefix, "_double"), "(double, double): bool", $call),
                (concat!($prefix, "_double_int64"), "(double, int): bool", $call),
                (concat!($prefix, "_double_uint64"), "(double, uint): bool", $call),
                (concat!($prefix, "_string"), "(string, string): bool", $call),
                (concat!($prefix, "_bytes"), "(bytes, bytes): bool", $call),
                (concat!($prefix, "_timestamp"), "(timestamp, timestamp): bool", $call),
                (concat!($prefix, "_duration"), "(duration, duration): bool", $call),
            ],
        }
    };
}

const UNUSED: Implementation = |_, _| no_such_overload();

pub(super) const FUNCTIONS: &[Declaration] = &[
    ordering!("_<_", "less", |_, arguments| holds(arguments, Ordering::is_lt)),
    ordering!("_<=_", "less_equals", |_, arguments| holds(arguments, Ordering::is_le)),
    ordering!("_>_", "greater", |_, arguments| holds(arguments, Ordering::is_gt)),
    ordering!("_>=_", "greater_equals", |_, arguments| holds(arguments, Ordering::is_ge)),
    Declaration { name: "_==_", single: true, overloads: &[("equals", "(A, A): bool", UNUSED)] },
    Declaration { name: "_!=_", single: true, overloads: &[("not_equals", "(A, A): bool", UNUSED)] },
    Declaration { name: "_&&_", single: true, overloads: &[("logical_and", "(bool, bool): bool", UNUSED)] },
    Declaration { name: "_||_", single: true, overloads: &[("logical_or", "(bool, bool): bool", UNUSED)] },
    Declaration { name: "_?_:_", single: true, overloads: &[("conditional", "(bool, A, A): A", UNUSED)] },
    Declaration { name: "!_", single: true, overloads: &[("logical_not", "(bool): bool", not)] },
    Declaration {
        name: "@not_strictly_false",
        single: true,
        overloads: &[("not_strictly_false", "(bool): bool", not_strictly_false)],
    },
];

fn holds<'a>(arguments: &[Value<'a>], wanted: fn(Ordering) -> bool) -> Value<'a> {
    let [left, right] = arguments else { return no_such_overload() };
    match compare(left, right) {
        Some(Ok(ordering)) => Value::Bool(wanted(ordering)),
        Some(Err(())) => Value::error("NaN values cannot be ordered"),
        None => no_such_overload(),
    }
}

fn not<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Bool(value)] => Value::Bool(!value),
        _ => no_such_overload(),
    }
}

/// Whether a loop may still change its mind: an error does not end it.
fn not_strictly_false<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    Value::Bool(!matches!(arguments, [Value::Bool(false)]))
}
