//! `+ - * / %` and negation, all of them checked: what does not fit is an error.

use super::{Declaration, Scene, no_such_overload};
use crate::cel::cost::too_much;
use crate::cel::functions::conversions::{MAXIMUM_SECOND, MINIMUM_SECOND};
use crate::cel::value::{List, Timestamp, Value};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "_+_",
        single: true,
        overloads: &[
            ("add_bytes", "(bytes, bytes): bytes", add),
            ("add_double", "(double, double): double", add),
            ("add_duration_duration", "(duration, duration): duration", add),
            ("add_duration_timestamp", "(duration, timestamp): timestamp", add),
            ("add_timestamp_duration", "(timestamp, duration): timestamp", add),
            ("add_int64", "(int, int): int", add),
            ("add_list", "(list(A), list(A)): list(A)", add),
            ("add_string", "(string, string): string", add),
            ("add_uint64", "(uint, uint): uint", add),
        ],
    },
    Declaration {
        name: "_-_",
        single: true,
        overloads: &[
            ("subtract_double", "(double, double): double", subtract),
            ("subtract_duration_duration", "(duration, duration): duration", subtract),
            ("subtract_int64", "(int, int): int", subtract),
            ("subtract_timestamp_duration", "(timestamp, duration): timestamp", subtract),
            ("subtract_timestamp_timestamp", "(timestamp, timestamp): duration", subtract),
            ("subtract_uint64", "(uint, uint): uint", subtract),
        ],
    },
    Declaration {
        name: "_*_",
        single: true,
        overloads: &[
            ("multiply_double", "(double, double): double", multiply),
            ("multiply_int64", "(int, int): int", multiply),
            ("multiply_uint64", "(uint, uint): uint", multiply),
        ],
    },
    Declaration {
        name: "_/_",
        single: true,
        overloads: &[
            ("divide_double", "(double, double): double", divide),
            ("divide_int64", "(int, int): int", divide),
            ("divide_uint64", "(uint, uint): uint", divide),
        ],
    },
    Declaration {
        name: "_%_",
        single: true,
        overloads: &[
            ("modulo_int64", "(int, int): int", modulo),
            ("modulo_uint64", "(uint, uint): uint", modulo),
        ],
    },
    Declaration {
        name: "-_",
        single: true,
        overloads: &[("negate_double", "(double): double", negate), ("negate_int64", "(int): int", negate)],
    },
];

fn int<'a>(value: Option<i64>) -> Value<'a> {
    value.map_or_else(|| Value::error("integer overflow"), Value::Int)
}

fn uint<'a>(value: Option<u64>) -> Value<'a> {
    value.map_or_else(|| Value::error("unsigned integer overflow"), Value::Uint)
}

fn duration<'a>(value: Option<i64>) -> Value<'a> {
    value.map_or_else(|| Value::error("integer overflow"), Value::Duration)
}

pub(super) fn add<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [left, right] = arguments else { return no_such_overload() };
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(left.checked_add(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_add(*right)),
        (Value::Double(left), Value::Double(right)) => Value::Double(left + right),
        (Value::String(left), Value::String(right)) => {
            if !scene.meter.take(left.len() + right.len()) {
                return too_much();
            }
            Value::text([&**left, &**right].concat())
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            if !scene.meter.take(left.len() + right.len()) {
                return too_much();
            }
            Value::Bytes([&**left, &**right].concat().into())
        }
        (Value::List(left), Value::List(right)) => List::joined(left, right),
        (Value::Duration(left), Value::Duration(right)) => duration(left.checked_add(*right)),
        (Value::Timestamp(time), Value::Duration(by)) | (Value::Duration(by), Value::Timestamp(time)) => {
            shifted(*time, i128::from(*by))
        }
        _ => no_such_overload(),
    }
}

fn subtract<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [left, right] = arguments else { return no_such_overload() };
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => int(left.checked_sub(*right)),
        (Value::Uint(left), Value::Uint(right)) => uint(left.checked_sub(*right)),
        (Value::Double(left), Value::Double(right)) => Value::Double(left - right),
        (Value::Duration(left), Value::Duration(right)) => duration(left.checked_sub(*right)),
        (Value::Timestamp(time), Value::Duration(by)) => shifted(*time, -i128::from(*by)),
        (Value::Timestamp(left), Value::Timestamp(right)) => {
            duration(i64::try_from(nanoseconds(*left) - nanoseconds(*right)).ok())
        }
        _ => no_such_overload(),
    }
}

fn nanoseconds(time: Timestamp) -> i128 {
    i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanoseconds)
}

fn shifted<'a>(time: Timestamp, by: i128) -> Value<'a> {
    let at = nanoseconds(time) + by;
    let (seconds, rest) = (at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000));
    match (i64::try_from(seconds), u32::try_from(rest)) {
        (Ok(seconds), Ok(nanoseconds)) if (MINIMUM_SECOND..=MAXIMUM_SECOND).contains(&seconds) => {
            Value::Timestamp(Timestamp { seconds, nanoseconds, offset: time.offset })
        }
        _ => Value::error("timestamp overflow"),
    }
}

fn multiply<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Int(left), Value::Int(right)] => int(left.checked_mul(*right)),
        [Value::Uint(left), Value::Uint(right)] => uint(left.checked_mul(*right)),
        [Value::Double(left), Value::Double(right)] => Value::Double(left * right),
        _ => no_such_overload(),
    }
}

fn divide<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => Value::error("division by zero"),
        [Value::Int(left), Value::Int(right)] => int(left.checked_div(*right)),
        [Value::Uint(left), Value::Uint(right)] => uint(left.checked_div(*right)),
        [Value::Double(left), Value::Double(right)] => Value::Double(left / right),
        _ => no_such_overload(),
    }
}

fn modulo<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => Value::error("modulus by zero"),
        [Value::Int(left), Value::Int(right)] => int(left.checked_rem(*right)),
        [Value::Uint(left), Value::Uint(right)] => uint(left.checked_rem(*right)),
        _ => no_such_overload(),
    }
}

fn negate<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Int(value)] => int(value.checked_neg()),
        [Value::Double(value)] => Value::Double(-value),
        [Value::Duration(value)] => duration(value.checked_neg()),
        _ => no_such_overload(),
    }
}
