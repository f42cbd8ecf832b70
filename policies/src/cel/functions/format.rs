//! `format`: clauses in a text replaced by values.

mod clause;

use std::fmt::Write as _;

pub(crate) use clause::{Clause, Kind, Piece, pieces};

use super::quoted::quoted;
use super::{Declaration, Scene, no_such_overload};
use crate::cel::cost::{Meter, too_much};
use crate::cel::value::{List, Map, Value, double_text, duration_text, timestamp_text};

pub(super) const FUNCTIONS: &[Declaration] = &[Declaration {
    name: "format",
    single: false,
    overloads: &[("string_format", "string.(list(dyn)): string", format)],
}];

/// Digits after the point when none are asked for.
const PRECISION: usize = 6;
/// What is said of bytes that are no text.
const UNREADABLE: &str = "error during formatting: could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to string";
/// Characters that a number may be asked to fill.
const MAXIMUM_WIDTH: usize = 1_000_000;
/// Containers within containers that are written.
const MAXIMUM_DEPTH: usize = 500;

/// From here on, the digits of a number are worked out one by one.
const LARGE: f64 = 1e22;
const WORK_OF_A_LARGE_NUMBER: u64 = 1_000;

/// What stops writing: a mistake, or too much to write.
enum Stop {
    Wrong(String),
    TooMuch,
}

struct Writer<'m> {
    out: String,
    meter: &'m mut Meter,
}

fn format<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::String(text), Value::List(values)] = arguments else { return no_such_overload() };
    let mut writer = Writer { out: String::new(), meter: scene.meter };
    match writer.all(text, values) {
        Ok(()) => Value::text(writer.out),
        Err(Stop::Wrong(message)) => Value::error(message),
        Err(Stop::TooMuch) => too_much(),
    }
}

impl Writer<'_> {
    fn all(&mut self, text: &str, values: &List<'_>) -> Result<(), Stop> {
        let mut next = 0;
        for piece in pieces(text) {
            // A clause without a value is refused before it is looked at.
            if !matches!(piece, Ok(Piece::Plain(_))) && next >= values.len() {
                return Err(Stop::Wrong(format!("index {next} out of range")));
            }
            match piece.map_err(Stop::Wrong)? {
                Piece::Plain(text) => self.push(text)?,
                Piece::Clause(clause) => {
                    let value = values.get(next).unwrap_or(Value::Null);
                    next += 1;
                    self.clause(clause, &value)?;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, text: &str) -> Result<(), Stop> {
        if !self.meter.take(text.len()) {
            return Err(Stop::TooMuch);
        }
        self.out.push_str(text);
        Ok(())
    }

    fn clause(&mut self, clause: Clause, value: &Value<'_>) -> Result<(), Stop> {
        let text = match (clause.kind, value) {
            (Kind::Text, value) => return self.text(value, 0),
            (Kind::Decimal, Value::Int(value)) => value.to_string(),
            (Kind::Decimal, Value::Uint(value)) => value.to_string(),
            (Kind::Fixed, value) => match number(value) {
                Some(value) => self.long(value, || Self::fixed(value, clause.precision))?,
                None => return Err(refused(clause.kind, value)),
            },
            (Kind::Scientific, value) => match number(value) {
                Some(value) => self.scientific(value, clause.precision)?,
                None => return Err(refused(clause.kind, value)),
            },
            (Kind::Binary, Value::Int(value)) => signed(*value, |value| format!("{value:b}")),
            (Kind::Binary, Value::Uint(value)) => format!("{value:b}"),
            (Kind::Binary, Value::Bool(value)) => u8::from(*value).to_string(),
            (Kind::Octal, Value::Int(value)) => signed(*value, |value| format!("{value:o}")),
            (Kind::Octal, Value::Uint(value)) => format!("{value:o}"),
            (Kind::Hexadecimal { upper }, value) => match value {
                Value::Int(value) => signed(*value, |value| hexadecimal(value, upper)),
                Value::Uint(value) => hexadecimal(*value, upper),
                Value::String(text) => self.bytes(text.as_bytes(), upper)?,
                Value::Bytes(bytes) => self.bytes(bytes, upper)?,
                value => return Err(refused(clause.kind, value)),
            },
            (kind, value) => return Err(refused(kind, value)),
        };
        self.push(&text)
    }

    fn bytes(&mut self, bytes: &[u8], upper: bool) -> Result<String, Stop> {
        if !self.meter.take(bytes.len() * 2) {
            return Err(Stop::TooMuch);
        }
        let mut out = String::with_capacity(bytes.len() * 2);
        for byte in bytes {
            // Writing to a string does not fail.
            let _ = if upper { write!(out, "{byte:02X}") } else { write!(out, "{byte:02x}") };
        }
        Ok(out)
    }

    /// Writes out all digits of a number, which takes its time for those that have many.
    fn long(&mut self, value: f64, write: impl FnOnce() -> String) -> Result<String, Stop> {
        if value.abs() >= LARGE && !self.meter.look(WORK_OF_A_LARGE_NUMBER) {
            return Err(Stop::TooMuch);
        }
        Ok(write())
    }

    /// Digits grouped by thousands.
    fn fixed(value: f64, precision: Option<usize>) -> String {
        // The reference keeps the precision in one byte.
        let precision = precision.unwrap_or(PRECISION) % 256;
        if let Some(special) = special(value) {
            return special.to_owned();
        }
        // Zero has no sign.
        let written = format!("{:.precision$}", value + 0.0);
        let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
        let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
        let mut out = String::from(sign);
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at).is_multiple_of(3) {
                out.push(',');
            }
            out.push(digit);
        }
        if precision > 0 {
            out.push('.');
            out.push_str(fraction);
        }
        out
    }

    /// Six digits after the point, always; the precision is the least width, which is how Kubernetes has it.
    fn scientific(&mut self, value: f64, width: Option<usize>) -> Result<String, Stop> {
        let width = width.unwrap_or(PRECISION);
        if width > MAXIMUM_WIDTH || !self.meter.take(width) {
            return Err(Stop::TooMuch);
        }
        let text = match special(value) {
            Some(special) => special.to_owned(),
            None => {
                let written = format!("{:.6e}", value + 0.0);
                let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
                let (sign, digits) =
                    exponent.strip_prefix('-').map_or(("", exponent), |digits| ("⁻", digits));
                let raised: String = format!("{digits:0>2}").chars().map(superscript).collect();
                format!("{mantissa}×10{sign}{raised}")
            }
        };
        let missing = width.saturating_sub(text.chars().count());
        Ok(std::iter::repeat_n(' ', missing).chain(text.chars()).collect())
    }

    fn text(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Stop> {
        match value {
            Value::List(list) => self.list(list, depth),
            Value::Map(map) => self.map(map, depth),
            Value::String(text) => self.push(text),
            Value::Int(value) => self.push(&value.to_string()),
            Value::Uint(value) => self.push(&value.to_string()),
            Value::Double(value) => self.push(&double_text(*value)),
            Value::Bool(value) => self.push(if *value { "true" } else { "false" }),
            Value::Timestamp(time) => self.push(&timestamp_text(*time)),
            Value::Duration(length) => self.push(&duration_text(*length)),
            Value::Type(name) => self.push(name),
            Value::Null => self.push("null"),
            Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.push(text),
                Err(_) => Err(Stop::Wrong(UNREADABLE.to_owned())),
            },
            value => Err(refused(Kind::Text, value)),
        }
    }

    fn list(&mut self, list: &List<'_>, depth: usize) -> Result<(), Stop> {
        if depth > MAXIMUM_DEPTH {
            return Err(Stop::TooMuch);
        }
        self.push("[")?;
        for (at, item) in list.iter().enumerate() {
            if at > 0 {
                self.push(", ")?;
            }
            self.member(&item, depth + 1)?;
        }
        self.push("]")
    }

    fn map(&mut self, map: &Map<'_>, depth: usize) -> Result<(), Stop> {
        if depth > MAXIMUM_DEPTH {
            return Err(Stop::TooMuch);
        }
        let mut entries = Vec::new();
        for (key, value) in map.iter() {
            let key = match &key {
                Value::String(text) => quoted(text),
                Value::Bool(value) => value.to_string(),
                Value::Int(value) => value.to_string(),
                Value::Uint(value) => value.to_string(),
                other => {
                    let given = other.type_name();
                    let message = format!(
                        "error during formatting: no formatting function for map key of type {given}"
                    );
                    return Err(Stop::Wrong(message));
                }
            };
            entries.push((key, value));
        }
        entries.sort_by(|(left, _), (right, _)| left.cmp(right));
        self.push("{")?;
        for (at, (key, value)) in entries.iter().enumerate() {
            self.push(if at > 0 { ", " } else { "" })?;
            self.push(key)?;
            self.push(":")?;
            self.member(value, depth + 1)?;
        }
        self.push("}")
    }

    /// A value inside a container, written so that it could be read again.
    fn member(&mut self, value: &Value<'_>, depth: usize) -> Result<(), Stop> {
        match value {
            Value::String(text) => self.push(&quoted(text)),
            Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.push(&format!("b{}", quoted(text))),
                Err(_) => Err(Stop::Wrong(UNREADABLE.to_owned())),
            },
            Value::Double(value) if value.is_finite() => {
                let text = self.long(*value, || format!("{value:.6}"))?;
                self.push(&text)
            }
            Value::Double(value) => self.push(&quoted(&double_text(*value))),
            Value::Duration(length) => self.push(&format!("duration({})", quoted(&duration_text(*length)))),
            Value::Timestamp(time) => self.push(&format!("timestamp({})", quoted(&timestamp_text(*time)))),
            Value::Optional(_) | Value::Opaque(_) => {
                let given = value.type_name();
                Err(Stop::Wrong(format!("error during formatting: no formatting function for {given}")))
            }
            value => self.text(value, depth),
        }
    }
}

fn refused(kind: Kind, value: &Value<'_>) -> Stop {
    Stop::Wrong(kind.refusal(value.type_name()))
}

fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(value) => Some(*value),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        return Some("NaN");
    }
    value.is_infinite().then_some(if value > 0.0 { "∞" } else { "-∞" })
}

fn superscript(digit: char) -> char {
    match digit {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    }
}

/// Digits of a number with the sign before them.
fn signed(value: i64, digits: impl FnOnce(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", digits(value.unsigned_abs()))
}

fn hexadecimal(value: u64, upper: bool) -> String {
    if upper { format!("{value:X}") } else { format!("{value:x}") }
}
