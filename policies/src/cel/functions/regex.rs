//! Patterns, in the syntax of Go's `regexp`: its patterns are translated into those of the `regex` crate, whose engines
//! match in linear time too.

mod pattern;
mod translate;

use std::sync::Arc;

use super::strings::{Parts, part};
use super::{Declaration, Scene, no_such_overload};
use crate::cel::cost::{Meter, too_much};
use crate::cel::value::{Text, Value};
use pattern::TooMuch;
pub(crate) use pattern::{Careful, Pattern};

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
/// Steps that compiling each of its characters and of its states counts as.
const STEPS_OF_A_STATE: u64 = 16;

/// How Kubernetes' own functions begin to say that a pattern is none.
const ILLEGAL: &str = "Illegal regex: ";

/// Calls `then` with the text and the pattern; `refusal` comes before why a pattern is none.
fn with<'a>(
    scene: &mut Scene<'_>,
    text: &Value<'a>,
    pattern: &Value<'a>,
    refusal: &str,
    then: impl FnOnce(&mut Meter, &Text<'a>, &Pattern) -> Result<Value<'a>, TooMuch>,
) -> Value<'a> {
    let (Value::String(text), Value::String(pattern)) = (text, pattern) else { return no_such_overload() };
    let meter = &mut *scene.meter;
    let found = match scene.pattern {
        Some(known) => then(meter, text, known),
        None => match made(meter, pattern) {
            Some(Ok(made)) => then(meter, text, &made),
            Some(Err(message)) => return Value::error(format!("{refusal}{message}")),
            None => return too_much(),
        },
    };
    found.unwrap_or_else(|TooMuch| too_much())
}

/// A pattern that is not written in the expression, compiled now unless it is still known; nothing when that is too
/// much.
fn made(meter: &mut Meter, pattern: &str) -> Option<Result<Arc<Pattern>, String>> {
    if let Some(known) = meter.pattern(pattern) {
        return Some(Ok(known));
    }
    if !meter.look(STEPS_OF_A_STATE.saturating_mul(pattern.len() as u64).saturating_add(COMPILING)) {
        return None;
    }
    let compiled = match Pattern::compile(pattern) {
        Ok(compiled) => Arc::new(compiled),
        Err(message) => return Some(Err(message)),
    };
    // Only now is it known how many states its repetitions make.
    if !meter.look(compiled.states.saturating_mul(STEPS_OF_A_STATE)) {
        return None;
    }
    meter.keep(pattern, Arc::clone(&compiled));
    Some(Ok(compiled))
}

fn matches<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [text, pattern] = arguments else { return no_such_overload() };
    with(scene, text, pattern, "", |meter, text, pattern| pattern.is_match(meter, text).map(Value::Bool))
}

fn find<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let [text, pattern] = arguments else { return no_such_overload() };
    with(scene, text, pattern, ILLEGAL, |meter, text, pattern| {
        let found = pattern.find(meter, text)?;
        Ok(part(text, |text| found.and_then(|found| text.get(found.range())).unwrap_or_default()))
    })
}

fn find_all<'a>(scene: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    let (text, pattern, limit) = match arguments {
        [text, pattern] => (text, pattern, -1),
        [text, pattern, Value::Int(limit)] => (text, pattern, *limit),
        _ => return no_such_overload(),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    with(scene, text, pattern, ILLEGAL, |meter, text, pattern| {
        let mut matches = pattern.find_all(text);
        let mut parts = Parts::of(text);
        while parts.len() < limit {
            let Some(found) = matches.next(meter)? else { break };
            if !parts.push(meter, text.get(found.range()).unwrap_or_default()) {
                return Err(TooMuch);
            }
        }
        Ok(parts.into_list())
    })
}
