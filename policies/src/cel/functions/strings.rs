//! Text: searching, cutting, joining and changing case. Places are counted in characters.

use super::{Declaration, Scene, no_such_overload};
use crate::cel::cost::{Meter, too_much};
use crate::cel::value::{List, Text, Value, characters};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "contains",
        single: true,
        overloads: &[("contains_string", "string.(string): bool", |_, arguments| {
            two(arguments, |text, part| Value::Bool(text.contains(part)))
        })],
    },
    Declaration {
        name: "endsWith",
        single: true,
        overloads: &[("ends_with_string", "string.(string): bool", |_, arguments| {
            two(arguments, |text, part| Value::Bool(text.ends_with(part)))
        })],
    },
    Declaration {
        name: "startsWith",
        single: true,
        overloads: &[("starts_with_string", "string.(string): bool", |_, arguments| {
            two(arguments, |text, part| Value::Bool(text.starts_with(part)))
        })],
    },
    Declaration {
        name: "charAt",
        single: false,
        overloads: &[("string_char_at_int", "string.(int): string", char_at)],
    },
    Declaration {
        name: "indexOf",
        single: false,
        overloads: &[
            ("string_index_of_string", "string.(string): int", index_of),
            ("string_index_of_string_int", "string.(string, int): int", index_of),
        ],
    },
    Declaration {
        name: "lastIndexOf",
        single: false,
        overloads: &[
            ("string_last_index_of_string", "string.(string): int", last_index_of),
            ("string_last_index_of_string_int", "string.(string, int): int", last_index_of),
        ],
    },
    Declaration {
        name: "lowerAscii",
        single: false,
        overloads: &[("string_lower_ascii", "string.(): string", |scene, arguments| {
            changed(scene, arguments, str::to_ascii_lowercase)
        })],
    },
    Declaration {
        name: "upperAscii",
        single: false,
        overloads: &[("string_upper_ascii", "string.(): string", |scene, arguments| {
            changed(scene, arguments, str::to_ascii_uppercase)
        })],
    },
    Declaration {
        name: "replace",
        single: false,
        overloads: &[
            ("string_replace_string_string", "string.(string, string): string", replace),
            ("string_replace_string_string_int", "string.(string, string, int): string", replace),
        ],
    },
    Declaration {
        name: "split",
        single: false,
        overloads: &[
            ("string_split_string", "string.(string): list(string)", split),
            ("string_split_string_int", "string.(string, int): list(string)", split),
        ],
    },
    Declaration {
        name: "substring",
        single: false,
        overloads: &[
            ("string_substring_int", "string.(int): string", substring),
            ("string_substring_int_int", "string.(int, int): string", substring),
        ],
    },
    Declaration {
        name: "trim",
        single: false,
        overloads: &[("string_trim", "string.(): string", |_, arguments| match arguments {
            [Value::String(text)] => part(text, |text| text.trim()),
            _ => no_such_overload(),
        })],
    },
    Declaration {
        name: "join",
        single: false,
        overloads: &[
            ("list_join", "list(string).(): string", join),
            ("list_join_string", "list(string).(string): string", join),
        ],
    },
    Declaration {
        name: "jsonpatch.escapeKey",
        single: false,
        overloads: &[("string_jsonpatch_escapeKey_string", "(string): string", |scene, arguments| {
            changed(scene, arguments, |text| text.replace('~', "~0").replace('/', "~1"))
        })],
    },
    Declaration {
        name: "strings.quote",
        single: false,
        overloads: &[("strings_quote", "(string): string", quote)],
    },
];

fn two<'a>(arguments: &[Value<'a>], then: impl FnOnce(&str, &str) -> Value<'a>) -> Value<'a> {
    match arguments {
        [Value::String(first), Value::String(second)] => then(first, second),
        _ => no_such_overload(),
    }
}

/// A part of a text, which shares its memory when the text is borrowed.
pub(super) fn part<'a>(text: &Text<'a>, cut: impl for<'t> FnOnce(&'t str) -> &'t str) -> Value<'a> {
    match text {
        Text::Borrowed(text) => Value::String(Text::Borrowed(cut(text))),
        Text::Shared(text) => Value::text(cut(text)),
    }
}

fn changed<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>], change: fn(&str) -> String) -> Value<'a> {
    match arguments {
        [Value::String(text)] if scene.meter.take(text.len()) => Value::text(change(text)),
        [Value::String(_)] => too_much(),
        _ => no_such_overload(),
    }
}

/// The byte at which a character begins; nothing past the end, the length at the end.
fn byte_of(text: &str, character: i64) -> Option<usize> {
    let character = usize::try_from(character).ok()?;
    if text.is_ascii() {
        return (character <= text.len()).then_some(character);
    }
    // Blocks that end before it are counted and passed over as a whole.
    let mut left = character;
    let mut start = 0;
    for block in text.as_bytes().chunks(BLOCK) {
        let begun = block.iter().filter(|byte| (**byte as i8) >= -0x40).count();
        if begun > left {
            break;
        }
        left -= begun;
        start += block.len();
    }
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at))?;
    let rest = text.get(start..)?;
    rest.char_indices().map(|(at, _)| start + at).chain([text.len()]).nth(left)
}

/// Bytes that are counted at once.
const BLOCK: usize = 256;

fn out_of_range<'a>(index: i64) -> Value<'a> {
    Value::error(format!("index out of range: {index}"))
}

fn char_at<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::String(text), Value::Int(index)] = arguments else { return no_such_overload() };
    let Some(start) = byte_of(text, *index) else { return out_of_range(*index) };
    part(text, |text| {
        let rest = text.get(start..).unwrap_or_default();
        let length = rest.chars().next().map_or(0, char::len_utf8);
        rest.get(..length).unwrap_or_default()
    })
}

fn count(text: &str) -> i64 {
    i64::try_from(characters(text)).unwrap_or(i64::MAX)
}

fn index_of<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let (text, wanted, offset) = match arguments {
        [Value::String(text), Value::String(wanted)] => (text, wanted, 0),
        [Value::String(text), Value::String(wanted), Value::Int(offset)] => (text, wanted, *offset),
        _ => return no_such_overload(),
    };
    if wanted.is_empty() {
        return Value::Int(offset);
    }
    if offset < 0 {
        return out_of_range(offset);
    }
    let found = byte_of(text, offset).and_then(|start| {
        let rest = text.get(start..)?;
        rest.find(&**wanted).and_then(|at| rest.get(..at)).map(|before| offset + count(before))
    });
    Value::Int(found.unwrap_or(-1))
}

fn last_index_of<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let (text, wanted, offset) = match arguments {
        [Value::String(text), Value::String(wanted)] => (text, wanted, None),
        [Value::String(text), Value::String(wanted), Value::Int(offset)] => (text, wanted, Some(*offset)),
        _ => return no_such_overload(),
    };
    if wanted.is_empty() {
        return Value::Int(offset.unwrap_or_else(|| count(text)));
    }
    let length = count(text);
    let offset = match offset {
        Some(offset) if offset < 0 => return out_of_range(offset),
        Some(offset) if offset >= length => return Value::Int(-1),
        Some(offset) => offset,
        None if text.len() < wanted.len() => return Value::Int(-1),
        // The search of an empty text begins before it.
        None if length == 0 => return out_of_range(-1),
        None => length - 1,
    };
    // What begins at `offset` may end after it.
    let end = byte_of(text, offset).map_or(text.len(), |start| (start + wanted.len()).min(text.len()));
    // It ends at the end of a character, so the part of one that is cut off is not missed.
    let searched = text.get(..text.floor_char_boundary(end)).unwrap_or_default();
    let found = searched.rfind(&**wanted);
    Value::Int(found.and_then(|at| text.get(..at)).map_or(-1, count))
}

fn replace<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let (text, old, new, limit) = match arguments {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(limit)] => {
            (text, old, new, *limit)
        }
        _ => return no_such_overload(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = text.matches(&**old).take(limit).count();
    if !scene.meter.take(text.len().saturating_add(found.saturating_mul(new.len()))) {
        return too_much();
    }
    Value::text(text.replacen(&**old, new, limit))
}

fn split<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let (text, separator, limit) = match arguments {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => (text, separator, *limit),
        _ => return no_such_overload(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Parts::of(text);
    let complete = match (limit, separator.is_empty()) {
        (0, _) => true,
        (_, true) => by_character(text, limit).all(|part| parts.push(scene.meter, part)),
        (_, false) => text.splitn(limit, &**separator).all(|part| parts.push(scene.meter, part)),
    };
    if complete { parts.into_list() } else { too_much() }
}

/// A list of parts of a text, as long as there is memory for them.
pub(super) struct Parts<'a, 't> {
    text: &'t Text<'a>,
    list: Vec<Value<'a>>,
}

impl<'a, 't> Parts<'a, 't> {
    pub(super) fn of(text: &'t Text<'a>) -> Self {
        Self { text, list: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds a part; false when there is no memory left.
    pub(super) fn push(&mut self, meter: &mut Meter, found: &str) -> bool {
        let (part, bytes) = match self.text {
            Text::Borrowed(whole) => (borrowed(whole, found), 0),
            Text::Shared(_) => (Value::text(found), COUNTED + found.len()),
        };
        self.list.push(part);
        meter.take(size_of::<Value<'_>>() + bytes)
    }

    pub(super) fn into_list(self) -> Value<'a> {
        List::made(self.list)
    }
}

/// What a shared text takes besides its bytes.
const COUNTED: usize = 32;

/// `found`, which is part of `whole`, for as long as `whole` lives.
fn borrowed<'a>(whole: &'a str, found: &str) -> Value<'a> {
    let start = found.as_ptr() as usize - whole.as_ptr() as usize;
    whole
        .get(start..start + found.len())
        .map_or_else(|| Value::text(found), |part| Value::String(Text::Borrowed(part)))
}

/// Each character, the last part with all that are left.
fn by_character(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut made = 0;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        made += 1;
        let end = if made == limit { rest.len() } else { first.len_utf8() };
        let (part, others) = rest.split_at(end);
        rest = others;
        Some(part)
    })
}

fn substring<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let (text, start, end) = match arguments {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return no_such_overload(),
    };
    if let Some(end) = end
        && start > end
    {
        return Value::error(format!("invalid substring range. start: {start}, end: {end}"));
    }
    let Some(from) = byte_of(text, start) else { return out_of_range(start) };
    let to = match end {
        Some(end) => match byte_of(text, end) {
            Some(to) => to,
            None => return out_of_range(end),
        },
        None => text.len(),
    };
    part(text, |text| text.get(from..to).unwrap_or_default())
}

fn join<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let (list, separator) = match arguments {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return no_such_overload(),
    };
    let mut out = String::new();
    for (at, item) in list.iter().enumerate() {
        let Value::String(text) = &item else {
            return Value::error(format!("join: invalid input: {}", item.plain()));
        };
        let separator = if at == 0 { "" } else { separator };
        if !scene.meter.take(separator.len() + text.len() + 1) {
            return too_much();
        }
        out.push_str(separator);
        out.push_str(text);
    }
    Value::text(out)
}

fn quote<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [Value::String(text)] = arguments else { return no_such_overload() };
    if !scene.meter.take(text.len().saturating_mul(2)) {
        return too_much();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    Value::text(out)
}
