//! Each format's rule. What they say is a value that policies see, so the words are Kubernetes'.

use crate::cel::functions::conversions::days_in;
use crate::cel::functions::quoted::quoted;
use crate::cel::functions::urls::is_request_uri;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

fn pattern(message: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{message} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

fn too_long(length: usize, unit: &str) -> String {
    format!("must be no more than {length} {unit}")
}

/// A name that more will be appended to may end in a dash.
pub(super) fn prefix(text: &str) -> String {
    match text.strip_suffix('-') {
        // The reference cuts off two bytes, whatever they are.
        Some(rest) if !rest.is_empty() => {
            let kept = rest.as_bytes().get(..rest.len() - 1).unwrap_or_default();
            format!("{}a", String::from_utf8_lossy(kept))
        }
        _ => text.to_owned(),
    }
}

/// Whether `text` consists of characters that are allowed, between ends that are.
fn spans(text: &str, first: fn(u8) -> bool, middle: fn(u8) -> bool, last: fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [one] => first(*one) && last(*one),
        [one, inner @ .., end] => first(*one) && inner.iter().all(|byte| middle(*byte)) && last(*end),
    }
}

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn lower_or_dash(byte: u8) -> bool {
    lower(byte) || byte == b'-'
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn in_name(byte: u8) -> bool {
    alphanumeric(byte) || b"-_.".contains(&byte)
}

fn is_label(text: &str) -> bool {
    spans(text, lower, lower_or_dash, lower)
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

pub(super) fn dns_label(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(too_long(63, "characters"));
    }
    if !is_label(text) {
        wrong.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            pattern(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                 start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    wrong
}

pub(super) fn dns_subdomain(text: &str) -> Vec<String> {
    subdomain(text, "characters")
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(too_long(253, unit));
    }
    if !is_subdomain(text) {
        wrong.push(pattern(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            &format!("{LABEL}(\\.{LABEL})*"),
            &["example.com"],
        ));
    }
    wrong
}

pub(super) fn dns_1035_label(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(too_long(63, "characters"));
    }
    if !spans(text, |byte| byte.is_ascii_lowercase(), lower_or_dash, lower) {
        wrong.push(pattern(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    wrong
}

fn is_name(text: &str) -> bool {
    spans(text, alphanumeric, in_name, alphanumeric)
}

pub(super) fn qualified_name(text: &str) -> Vec<String> {
    let name_pattern = || {
        pattern(
            "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
             character",
            NAME,
            &["MyName", "my.name", "123-abc"],
        )
    };
    let mut wrong = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        ["", name] => {
            wrong.push("prefix part must be non-empty".to_owned());
            *name
        }
        [prefix, name] => {
            wrong.extend(
                subdomain(prefix, "bytes").into_iter().map(|message| format!("prefix part {message}")),
            );
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                name_pattern()
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push(format!("name part {}", too_long(63, "bytes")));
    }
    if !is_name(name) {
        wrong.push(format!("name part {}", name_pattern()));
    }
    wrong
}

pub(super) fn label_value(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(too_long(63, "bytes"));
    }
    if !text.is_empty() && !is_name(text) {
        wrong.push(pattern(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            &format!("({NAME})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    wrong
}

pub(super) fn uri(text: &str) -> Vec<String> {
    match is_request_uri(text) {
        Ok(()) => Vec::new(),
        Err(reason) => vec![format!("parse {}: {reason}", quoted(text))],
    }
}

fn unless(holds: bool, message: &str) -> Vec<String> {
    if holds { Vec::new() } else { vec![message.to_owned()] }
}

pub(super) fn uuid(text: &str) -> Vec<String> {
    // Five groups of digits, each but the last possibly followed by a dash.
    let mut rest = text;
    let mut holds = true;
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        match rest.split_at_checked(length) {
            Some((group, after)) if group.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                rest = if at < 4 { after.strip_prefix('-').unwrap_or(after) } else { after };
            }
            _ => holds = false,
        }
    }
    unless(holds && rest.is_empty(), "does not match the UUID format")
}

pub(super) fn base64(text: &str) -> Vec<String> {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let allowed = digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    unless(!text.is_empty() && text.len().is_multiple_of(4) && allowed, "invalid base64")
}

fn is_date(text: &str) -> bool {
    let number = |from: usize, to: usize| -> Option<i64> {
        text.get(from..to).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
    };
    let marks = text.len() == 10 && text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    match (number(0, 4), number(5, 7), number(8, 10)) {
        (Some(year), Some(month), Some(day)) => {
            marks && (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day)
        }
        _ => false,
    }
}

pub(super) fn date(text: &str) -> Vec<String> {
    unless(is_date(text), "invalid date")
}

pub(super) fn datetime(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let holds = parts.next().is_some_and(is_date) && parts.next().is_some_and(is_time);
    unless(holds, "invalid datetime")
}

/// Hours, minutes and seconds, a fraction or not, and an offset; the fraction may begin with anything.
fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = clock.split(':').collect();
    let [hour, minute, second] = parts.as_slice() else { return false };
    if ![hour, minute, second].iter().all(|part| part.len() == 2 && digits(part)) {
        return false;
    }
    if *hour > "23" || *minute > "59" || *second > "59" {
        return false;
    }
    let fraction = |text: &str| {
        let mut rest = text.chars();
        text.is_empty() || (rest.next() != Some('\n') && digits(rest.as_str()))
    };
    let offset = |text: &str| match text.as_bytes() {
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    };
    let split = rest.len().checked_sub(6).and_then(|at| rest.split_at_checked(at));
    rest.strip_suffix('z').is_some_and(fraction)
        || split.is_some_and(|(before, after)| offset(after) && fraction(before))
}
