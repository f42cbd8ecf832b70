//! Patterns, in the syntax of Go's `regexp`: its patterns are translated into those of the `regex` crate, which
//! matches in linear time too.

mod translate;

use regex::{Regex, RegexBuilder};

use super::{Declaration, Scene, no_such_overload};
use crate::cel::cost::too_much;
use crate::cel::value::{List, Value};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "matches",
        single: true,
        overloads: &[
            ("matches", "(string, string): bool", matches),
            ("matches_string", "string.(string): bool", matches),
        ],
    },
    Declaration {
        name: "find",
        single: false,
        overloads: &[("string_find_string", "string.(string): string", find)],
    },
    Declaration {
        name: "findAll",
        single: false,
        overloads: &[
            ("string_find_all_string", "string.(string): list(string)", find_all),
            ("string_find_all_string_int", "string.(string, int): list(string)", find_all),
        ],
    },
];

/// Steps that compiling one pattern counts as: patterns made while evaluating are compiled one by one, and each
/// takes more time than its cost says.
const COMPILING: u64 = 5_000;
/// Memory that one compiled pattern may take.
const SIZE: usize = 4 << 20;

/// The pattern, compiled, or why it is none.
pub(crate) fn compiled(pattern: &str) -> Result<Regex, String> {
    let translated = translate::translate(pattern)?;
    RegexBuilder::new(&translated)
        .size_limit(SIZE)
        .build()
        .map_err(|_| format!("error parsing regexp: `{pattern}` is too large or malformed"))
}

/// Calls `then` with the text and the pattern.
fn with<'a>(
    scene: &mut Scene<'_>,
    text: &Value<'a>,
    pattern: &Value<'a>,
    then: impl FnOnce(&mut Scene<'_>, &str, &Regex) -> Value<'a>,
) -> Value<'a> {
    let (Value::String(text), Value::String(pattern)) = (text, pattern) else { return no_such_overload() };
    if let Some(known) = scene.pattern {
        return then(scene, text, known);
    }
    if let Some(known) = scene.meter.pattern(pattern) {
        return then(scene, text, &known);
    }
    if !scene.meter.look(COMPILING) {
        return too_much();
    }
    match compiled(pattern) {
        Ok(found) => {
            scene.meter.keep(pattern, found.clone());
            then(scene, text, &found)
        }
        Err(message) => Value::error(message),
    }
}

fn matches<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [text, pattern] => with(scene, text, pattern, |_, text, pattern| Value::Bool(pattern.is_match(text))),
        _ => no_such_overload(),
    }
}

fn find<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match arguments {
        [text, pattern] => with(scene, text, pattern, |_, text, pattern| {
            Value::text(pattern.find(text).map_or("", |found| found.as_str()))
        }),
        _ => no_such_overload(),
    }
}

fn find_all<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let (text, pattern, limit) = match arguments {
        [text, pattern] => (text, pattern, -1),
        [text, pattern, Value::Int(limit)] => (text, pattern, *limit),
        _ => return no_such_overload(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    with(scene, text, pattern, |scene, text, pattern| {
        if !scene.meter.take(text.len().saturating_mul(8)) {
            return too_much();
        }
        let found = pattern.find_iter(text).take(limit);
        List::made(found.map(|found| Value::text(found.as_str())).collect())
    })
}
