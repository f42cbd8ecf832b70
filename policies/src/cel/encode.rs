//! Values as JSON, so that two of them can be compared from outside.
//!
//! What JSON has is written as itself, a double always with fraction or exponent. Anything else inside another value
//! is wrapped with the name of its type, such as `{"@uint":1}`; a map with keys that are not all text is
//! `{"@map":[[key,value],…]}`. So every two values that differ have JSON that differs.

use std::fmt::Write as _;

use super::value::{Made, Map, Opaque, Value, timestamp_text};

/// Containers within containers that are written.
const MAXIMUM_DEPTH: usize = 500;

impl Value<'_> {
    /// The name of its type and its JSON; nothing when it nests too deeply.
    #[must_use]
    pub fn encode(&self) -> Option<(&str, String)> {
        let mut out = String::new();
        self.bare(&mut out, 0)?;
        Some((self.encoded_type(), out))
    }

    fn encoded_type(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::Duration(_) => "duration",
            Self::Timestamp(_) => "timestamp",
            Self::Optional(_) => "optional",
            other => other.type_name(),
        }
    }

    fn inside(&self, out: &mut String, depth: usize) -> Option<()> {
        let name = self.encoded_type();
        if matches!(name, "int" | "double" | "string" | "bool" | "null" | "list" | "map") {
            return self.bare(out, depth);
        }
        out.push('{');
        quoted(out, &format!("@{name}"));
        out.push(':');
        self.bare(out, depth)?;
        out.push('}');
        Some(())
    }

    fn bare(&self, out: &mut String, depth: usize) -> Option<()> {
        if depth > MAXIMUM_DEPTH {
            return None;
        }
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Int(value) => out.push_str(&value.to_string()),
            Self::Uint(value) => out.push_str(&value.to_string()),
            Self::Double(value) => double(out, *value),
            Self::String(text) => quoted(out, text),
            Self::Bytes(bytes) => {
                out.push('"');
                base64(out, bytes);
                out.push('"');
            }
            Self::Duration(value) => seconds(out, *value),
            Self::Timestamp(time) => {
                let mut time = *time;
                time.offset = 0;
                quoted(out, &timestamp_text(time));
            }
            Self::Type(name) => quoted(out, name),
            Self::Optional(value) => {
                out.push('[');
                if let Some(value) = value {
                    value.inside(out, depth + 1)?;
                }
                out.push(']');
            }
            Self::List(list) => {
                out.push('[');
                for (at, item) in list.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.inside(out, depth + 1)?;
                }
                out.push(']');
            }
            Self::Map(map) => {
                let mut entries = Vec::new();
                let mut plain = true;
                for (key, value) in map.iter() {
                    plain &= matches!(&key, Self::String(text) if !text.starts_with('@'));
                    let (mut key_text, mut value_text) = (String::new(), String::new());
                    key.inside(&mut key_text, depth + 1)?;
                    value.inside(&mut value_text, depth + 1)?;
                    entries.push((key_text, value_text));
                }
                entries.sort();
                let entries: Vec<String> = entries
                    .into_iter()
                    .map(
                        |(key, value)| {
                            if plain { format!("{key}:{value}") } else { format!("[{key},{value}]") }
                        },
                    )
                    .collect();
                let entries = entries.join(",");
                out.push_str(&if plain {
                    format!("{{{entries}}}")
                } else {
                    format!("{{\"@map\":[{entries}]}}")
                });
            }
            Self::Opaque(value) => quoted(out, &value.0.text()),
            Self::Object(object) if object.is_patch() => {
                let mut fields = Made::default();
                for name in ["op", "path"] {
                    fields.insert(Value::text(name), object.empty(name));
                }
                for (key, value) in object.fields().iter() {
                    fields.insert(key, value);
                }
                Map::made(fields).bare(out, depth)?;
            }
            Self::Object(object) => object.plain().bare(out, depth)?,
            Self::Variables | Self::Error(_) => return None,
        }
        Some(())
    }
}

impl Opaque {
    fn text(&self) -> String {
        match self {
            Self::Ip(ip) => ip.0.to_string(),
            Self::Cidr(cidr) => cidr.to_string(),
            Self::Quantity(quantity) => quantity.to_string(),
            Self::Semver(version) => version.as_str().to_owned(),
            Self::Url(url) => url.text(),
            Self::Format(format) => format.name.to_owned(),
        }
    }
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{0}'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

fn double(out: &mut String, value: f64) {
    if value.is_nan() {
        return out.push_str("\"NaN\"");
    }
    if value.is_infinite() {
        return out.push_str(if value > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" });
    }
    // Like `%g`, but plain up to twenty digits, as Go writes numbers on their own.
    let written = format!("{value:e}");
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) {
        let plain = value.to_string();
        out.push_str(&plain);
        if !plain.contains('.') {
            out.push_str(".0");
        }
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    }
}

fn seconds(out: &mut String, nanoseconds: i64) {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let value = nanoseconds.unsigned_abs();
    let text = format!("{sign}{}.{:09}", value / 1_000_000_000, value % 1_000_000_000);
    quoted(out, &format!("{}s", text.trim_end_matches('0').trim_end_matches('.')));
}

fn base64(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS.get((group >> (18 - 6 * place) & 63) as usize).copied().unwrap_or(b'=');
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
}
