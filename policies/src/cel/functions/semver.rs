//! Versions after semver.org.

use std::cmp::Ordering;
use std::ops::Range;

use super::quoted::quoted;
use super::{Declaration, Scene, no_such_overload};
use crate::cel::value::{Opaque, Value};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "semver",
        single: false,
        overloads: &[
            ("string_to_semver", "(string): kubernetes.Semver", semver),
            ("string_bool_to_semver", "(string, bool): kubernetes.Semver", semver),
        ],
    },
    Declaration {
        name: "isSemver",
        single: false,
        overloads: &[
            ("is_semver_string", "(string): bool", is),
            ("is_semver_string_bool", "(string, bool): bool", is),
        ],
    },
    Declaration {
        name: "isGreaterThan",
        single: false,
        overloads: &[(
            "semver_is_greater_than",
            "kubernetes.Semver.(kubernetes.Semver): bool",
            |_, arguments| two(arguments, |left, right| Value::Bool(left.precedence(right).is_gt())),
        )],
    },
    Declaration {
        name: "isLessThan",
        single: false,
        overloads: &[(
            "semver_is_less_than",
            "kubernetes.Semver.(kubernetes.Semver): bool",
            |_, arguments| two(arguments, |left, right| Value::Bool(left.precedence(right).is_lt())),
        )],
    },
    Declaration {
        name: "compareTo",
        single: false,
        overloads: &[("semver_compare_to", "kubernetes.Semver.(kubernetes.Semver): int", |_, arguments| {
            two(arguments, |left, right| Value::Int(left.precedence(right) as i64))
        })],
    },
    Declaration {
        name: "major",
        single: false,
        overloads: &[("semver_major", "kubernetes.Semver.(): int", |_, arguments| {
            part(arguments, |of| of.major)
        })],
    },
    Declaration {
        name: "minor",
        single: false,
        overloads: &[("semver_minor", "kubernetes.Semver.(): int", |_, arguments| {
            part(arguments, |of| of.minor)
        })],
    },
    Declaration {
        name: "patch",
        single: false,
        overloads: &[("semver_patch", "kubernetes.Semver.(): int", |_, arguments| {
            part(arguments, |of| of.patch)
        })],
    },
];

/// A version.
#[derive(Clone, Debug)]
pub(crate) struct Semver {
    major: u64,
    minor: u64,
    patch: u64,
    before: Vec<Identifier>,
    text: String,
}

/// A part of what precedes a release; a word by its place in the text.
#[derive(Clone, Debug)]
enum Identifier {
    Number(u64),
    Word(Range<usize>),
}

impl Semver {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let places = major.len() + minor.len();
        let (major, minor) = (number("Major", major)?, number("Minor", minor)?);
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, before) = match rest.split_once('-') {
            Some((patch, before)) => (patch, Some(before)),
            None => (rest, None),
        };
        let (patch, written) = (number("Patch", patch)?, patch);
        let mut identifiers = Vec::new();
        if let Some(before) = before {
            // Behind the three numbers, two dots and a dash.
            let mut at = places + written.len() + "..-".len();
            for part in before.split('.') {
                identifiers.push(identifier(part, at)?);
                at += part.len() + ".".len();
            }
        }
        for part in build.iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !part.bytes().all(allowed) {
                return Err(format!("Invalid character(s) found in build meta data {}", quoted(part)));
            }
        }
        Ok(Self { major, minor, patch, before: identifiers, text: text.to_owned() })
    }

    /// Reads versions as people write them: with a `v`, with leading zeros, without minor or patch.
    fn tolerant(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text
            .splitn(3, '.')
            .map(|part| {
                if part.len() <= 1 {
                    return part.to_owned();
                }
                let bare = part.trim_start_matches('0');
                if bare.starts_with(|first: char| first.is_ascii_digit()) {
                    bare.to_owned()
                } else {
                    format!("0{bare}")
                }
            })
            .collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        while parts.len() < 3 {
            parts.push("0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    /// Which version comes first; build metadata do not count.
    pub(crate) fn precedence(&self, other: &Self) -> Ordering {
        let numbers = |of: &Self| (of.major, of.minor, of.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.before.is_empty(), other.before.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => {
                    let mut orders = self
                        .before
                        .iter()
                        .zip(&other.before)
                        .map(|(left, right)| self.order(left, other, right));
                    let first = orders.find(|order| order.is_ne());
                    first.unwrap_or_else(|| self.before.len().cmp(&other.before.len()))
                }
            }
        })
    }

    fn order(&self, left: &Identifier, other: &Self, right: &Identifier) -> Ordering {
        match (left, right) {
            (Identifier::Number(left), Identifier::Number(right)) => left.cmp(right),
            (Identifier::Number(_), Identifier::Word(_)) => Ordering::Less,
            (Identifier::Word(_), Identifier::Number(_)) => Ordering::Greater,
            (Identifier::Word(left), Identifier::Word(right)) => {
                self.text.get(left.clone()).cmp(&other.text.get(right.clone()))
            }
        }
    }

    /// The version as it was written, once normalised.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

fn allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// One of the three numbers, in the words of the library that Kubernetes reads versions with.
fn number(name: &str, text: &str) -> Result<u64, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let name = name.to_ascii_lowercase();
        return Err(format!("Invalid character(s) found in {name} number {}", quoted(text)));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!("{name} number must not contain leading zeroes {}", quoted(text)));
    }
    digits(text)
}

fn digits(text: &str) -> Result<u64, String> {
    let why = if text.is_empty() { "invalid syntax" } else { "value out of range" };
    text.parse().map_err(|_| format!("strconv.ParseUint: parsing {}: {why}", quoted(text)))
}

/// A part of what precedes a release, which begins at this place.
fn identifier(text: &str, at: usize) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            let text = quoted(text);
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {text}"));
        }
        return digits(text).map(Identifier::Number);
    }
    if text.bytes().all(allowed) {
        return Ok(Identifier::Word(at..at + text.len()));
    }
    Err(format!("Invalid character(s) found in prerelease {}", quoted(text)))
}

fn of<'v>(value: &'v Value<'_>) -> Option<&'v Semver> {
    match value {
        Value::Opaque(value) => match &*value.0 {
            Opaque::Semver(version) => Some(version),
            _ => None,
        },
        _ => None,
    }
}

fn part<'a>(arguments: &[Value<'a>], of_version: fn(&Semver) -> u64) -> Value<'a> {
    match arguments {
        // A number beyond the largest integer wraps, as in Go.
        [value] => {
            of(value).map_or_else(no_such_overload, |version| Value::Int(of_version(version).cast_signed()))
        }
        _ => no_such_overload(),
    }
}

fn two<'a>(arguments: &[Value<'a>], then: impl FnOnce(&Semver, &Semver) -> Value<'a>) -> Value<'a> {
    match arguments {
        [left, right] => match (of(left), of(right)) {
            (Some(left), Some(right)) => then(left, right),
            _ => no_such_overload(),
        },
        _ => no_such_overload(),
    }
}

fn read(arguments: &[Value<'_>]) -> Option<Result<Semver, String>> {
    match arguments {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => Some(Semver::parse(text)),
        [Value::String(text), Value::Bool(true)] => Some(Semver::tolerant(text)),
        _ => None,
    }
}

fn semver<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    match read(arguments) {
        Some(Ok(version)) => Value::opaque(Opaque::Semver(version)),
        Some(Err(message)) => Value::error(message),
        None => no_such_overload(),
    }
}

fn is<'a>(_: &mut Scene<'_>, arguments: &[Value<'a>]) -> Value<'a> {
    read(arguments).map_or_else(no_such_overload, |read| Value::Bool(read.is_ok()))
}
