//! From one type to another, as Go's `strconv` and `time` read and write.

mod times;

pub(crate) use times::{
    MAXIMUM_SECOND, MINIMUM_SECOND, days_in, days_since_1970, parse_duration, parse_timestamp,
};

use super::{Declaration, Scene, no_such_overload};
use crate::cel::cost::too_much;
use crate::cel::value::{Timestamp, Value, double_text, duration_text, timestamp_text};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration { name: "type", single: true, overloads: &[("type", "(A): type(A)", type_of)] },
    Declaration { name: "dyn", single: true, overloads: &[("to_dyn", "(A): dyn", same)] },
    Declaration {
        name: "bool",
        single: false,
        overloads: &[("bool_to_bool", "(bool): bool", same), ("string_to_bool", "(string): bool", to_bool)],
    },
    Declaration {
        name: "bytes",
        single: false,
        overloads: &[
            ("bytes_to_bytes", "(bytes): bytes", same),
            ("string_to_bytes", "(string): bytes", to_bytes),
        ],
    },
    Declaration {
        name: "double",
        single: false,
        overloads: &[
            ("double_to_double", "(double): double", same),
            ("int64_to_double", "(int): double", to_double),
            ("string_to_double", "(string): double", to_double),
            ("uint64_to_double", "(uint): double", to_double),
        ],
    },
    Declaration {
        name: "duration",
        single: false,
        overloads: &[
            ("duration_to_duration", "(duration): duration", same),
            ("int64_to_duration", "(int): duration", to_duration),
            ("string_to_duration", "(string): duration", to_duration),
        ],
    },
    Declaration {
        name: "int",
        single: false,
        overloads: &[
            ("int64_to_int64", "(int): int", same),
            ("double_to_int64", "(double): int", to_int),
            ("duration_to_int64", "(duration): int", to_int),
            ("string_to_int64", "(string): int", to_int),
            ("timestamp_to_int64", "(timestamp): int", to_int),
            ("uint64_to_int64", "(uint): int", to_int),
        ],
    },
    Declaration {
        name: "string",
        single: false,
        overloads: &[
            ("string_to_string", "(string): string", same),
            ("bool_to_string", "(bool): string", to_string),
            ("bytes_to_string", "(bytes): string", to_string),
            ("double_to_string", "(double): string", to_string),
            ("duration_to_string", "(duration): string", to_string),
            ("int64_to_string", "(int): string", to_string),
            ("timestamp_to_string", "(timestamp): string", to_string),
            ("uint64_to_string", "(uint): string", to_string),
        ],
    },
    Declaration {
        name: "timestamp",
        single: false,
        overloads: &[
            ("timestamp_to_timestamp", "(timestamp): timestamp", same),
            ("int64_to_timestamp", "(int): timestamp", to_timestamp),
            ("string_to_timestamp", "(string): timestamp", to_timestamp),
        ],
    },
    Declaration {
        name: "uint",
        single: false,
        overloads: &[
            ("uint64_to_uint64", "(uint): uint", same),
            ("double_to_uint64", "(double): uint", to_uint),
            ("int64_to_uint64", "(int): uint", to_uint),
            ("string_to_uint64", "(string): uint", to_uint),
        ],
    },
];

fn same<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    arguments.first().cloned().unwrap_or_else(no_such_overload)
}

fn type_of<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        // The type of a message is a type of types.
        [Value::Object(_)] => Value::Type("type".into()),
        [value] => Value::Type(value.type_name().into()),
        _ => no_such_overload(),
    }
}

fn impossible<'a>(from: &Value<'_>, to: &str) -> Value<'a> {
    Value::error(format!("type conversion error from '{}' to '{to}'", from.type_name()))
}

fn to_bool<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [value @ Value::String(text)] = arguments else { return no_such_overload() };
    match &**text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Value::Bool(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Value::Bool(false),
        _ => impossible(value, "bool"),
    }
}

fn to_bytes<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::String(text)] = arguments else { return no_such_overload() };
    if !scene.meter.take(text.len()) {
        return too_much();
    }
    Value::Bytes(text.as_bytes().into())
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
fn to_double<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Int(value)] => Value::Double(*value as f64),
        [Value::Uint(value)] => Value::Double(*value as f64),
        [value @ Value::String(text)] => match parse_double(text) {
            Some(number) => Value::Double(number),
            None => impossible(value, "double"),
        },
        _ => no_such_overload(),
    }
}

/// A number as Go reads it: too large is wrong, infinity may be spelled.
fn parse_double(text: &str) -> Option<f64> {
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = bare.to_ascii_lowercase();
    if matches!(lower.as_str(), "inf" | "infinity" | "nan") {
        return text.parse().ok();
    }
    if let Some(hexadecimal) = lower.strip_prefix("0x") {
        return parse_hexadecimal(hexadecimal)
            .map(|value| if text.starts_with('-') { -value } else { value });
    }
    if !bare.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let bare = underscored(text)?;
    bare.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The text without the underscores between its digits; elsewhere they are wrong.
fn underscored(text: &str) -> Option<String> {
    let between = |at: usize| {
        let digit =
            |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
        digit(at.checked_sub(1)) && digit(at.checked_add(1))
    };
    text.match_indices('_').all(|(at, _)| between(at)).then(|| text.replace('_', ""))
}

/// `1.8p3`: digits to base 16 and a power of two, which must be there.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let scale = exponent.saturating_sub(i32::try_from(fraction.len()).ok()?.saturating_mul(4));
    Some(value * 2.0_f64.powi(scale)).filter(|value| value.is_finite())
}

fn to_duration<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [value] = arguments else { return no_such_overload() };
    let read = match value {
        Value::String(text) => parse_duration(text),
        _ => None,
    };
    read.map_or_else(|| impossible(value, "google.protobuf.Duration"), Value::Duration)
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn to_int<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Double(value)] => {
            if *value > -9_223_372_036_854_775_808.0 && *value < 9_223_372_036_854_775_808.0 {
                Value::Int(*value as i64)
            } else {
                Value::error("integer overflow")
            }
        }
        [Value::Duration(value)] => Value::Int(*value),
        [Value::Timestamp(time)] => Value::Int(time.seconds),
        [Value::Uint(value)] => {
            i64::try_from(*value).map_or_else(|_| Value::error("integer overflow"), Value::Int)
        }
        [value @ Value::String(text)] => match text.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => impossible(value, "int"),
        },
        _ => no_such_overload(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn to_uint<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Double(value)] => {
            if *value >= 0.0 && *value < 18_446_744_073_709_551_616.0 {
                Value::Uint(*value as u64)
            } else {
                Value::error("unsigned integer overflow")
            }
        }
        [Value::Int(value)] => {
            u64::try_from(*value).map_or_else(|_| Value::error("unsigned integer overflow"), Value::Uint)
        }
        [value @ Value::String(text)] => match text.parse() {
            // A sign is wrong, also the one that changes nothing.
            Ok(number) if !text.starts_with('+') => Value::Uint(number),
            _ => impossible(value, "uint"),
        },
        _ => no_such_overload(),
    }
}

fn to_string<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [Value::Bool(value)] => Value::text(if *value { "true" } else { "false" }),
        [Value::Int(value)] => Value::text(value.to_string()),
        [Value::Uint(value)] => Value::text(value.to_string()),
        [Value::Double(value)] => Value::text(double_text(*value)),
        [Value::Duration(value)] => Value::text(duration_text(*value)),
        [Value::Timestamp(time)] => Value::text(timestamp_text(*time)),
        [Value::Bytes(bytes)] => {
            if !scene.meter.take(bytes.len()) {
                return too_much();
            }
            match std::str::from_utf8(bytes) {
                Ok(text) => Value::text(text),
                Err(_) => Value::error("invalid UTF-8 in bytes, cannot convert to string"),
            }
        }
        _ => no_such_overload(),
    }
}

fn to_timestamp<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [value] = arguments else { return no_such_overload() };
    let time = match value {
        Value::Int(seconds) => Some(Timestamp { seconds: *seconds, nanoseconds: 0, offset: 0 }),
        Value::String(text) => parse_timestamp(text),
        _ => return no_such_overload(),
    };
    match time {
        Some(time) if (MINIMUM_SECOND..=MAXIMUM_SECOND).contains(&time.seconds) => Value::Timestamp(time),
        Some(_) => Value::error("timestamp overflow"),
        None => impossible(value, "google.protobuf.Timestamp"),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse_double, parse_duration, parse_timestamp};

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, nanoseconds) in [
            ("0", Some(0)),
            ("1h30m", Some(5_400_000_000_000)),
            ("-1.5s", Some(-1_500_000_000)),
            ("+5ms", Some(5_000_000)),
            (".5s", Some(500_000_000)),
            ("1.s", Some(1_000_000_000)),
            ("2562047h47m16.854775807s", Some(i64::MAX)),
            ("-2562047h47m16.854775808s", Some(i64::MIN)),
            ("2562047h47m16.854775808s", None),
            ("", None),
            ("-", None),
            ("1", None),
            (".s", None),
            ("1d", None),
            ("1h 1m", None),
        ] {
            assert_eq!(parse_duration(text), nanoseconds, "{text}");
        }
    }

    #[test]
    fn timestamps_are_read_as_go_reads_them() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00.5+01:00", Some(951_822_000)),
            ("1970-01-01T00:00:00", None),
            ("1970-01-01", None),
            ("1970-02-30T00:00:00Z", None),
            ("1970-01-01T24:00:00Z", None),
            ("1970-01-01t00:00:00Z", None),
            ("1970-01-01T00:00:60Z", None),
        ] {
            assert_eq!(parse_timestamp(text).map(|time| time.seconds), seconds, "{text}");
        }
    }

    #[test]
    fn doubles_are_read_as_go_reads_them() {
        for (text, value) in [
            ("1.5", Some(1.5)),
            ("-1e3", Some(-1000.0)),
            ("+.5", Some(0.5)),
            ("inf", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("0x1p4", Some(16.0)),
            ("0x10", None),
            ("1e999", None),
            ("", None),
            ("1_0", Some(10.0)),
            ("1__0", None),
            ("_1", None),
            (" 1", None),
        ] {
            assert_eq!(parse_double(text), value, "{text}");
        }
    }
}
