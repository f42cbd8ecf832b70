//! What evaluating costs, counted as Kubernetes counts it, and the bounds on what no cost is counted for.

use std::sync::Arc;

use super::functions::regex::{Careful, Pattern};
use super::value::{Opaque, Value};

/// What one evaluation of one expression may cost.
pub const EXPRESSION_LIMIT: u64 = 1_000_000;
/// What all evaluations of one policy with one binding may cost together.
pub const POLICY_LIMIT: u64 = 10_000_000;
/// What all match conditions of one policy may cost together.
pub const MATCH_CONDITIONS_LIMIT: u64 = 2_500_000;

pub(crate) const SELECT: u64 = 1;
pub(crate) const LIST: u64 = 10;
pub(crate) const MAP: u64 = 30;
pub(crate) const MESSAGE: u64 = 40;

/// Cost per character of a text that is read once.
const TRAVERSAL: f64 = 0.1;
/// Cost per character of a pattern.
const PATTERN: f64 = 0.25;

/// Characters of the longest pattern that a named format has.
const LONGEST_FORMAT: u64 = 1_103;

/// Memory that functions may take whose cost does not grow with it, in bytes.
const MEMORY: u64 = 64 << 20;
/// Parts of values that may be looked at by functions whose cost does not grow with them.
const WORK: u64 = 5_000_000;

/// Bytes of a text that are read in the time that a part of a value is looked at.
const BYTES_OF_A_PART: u64 = 64;
/// How much longer it takes to write a byte, into memory that is new, than to read it.
const WRITING: u64 = 8;
/// Texts up to this many bytes are read for nothing.
const SHORT: usize = 1_024;

/// States times characters that are matched without counting: some milliseconds at worst, and far more than ordinary
/// policies match.
const MATCHING: u64 = 5_000_000;

/// Patterns that are kept; a loop has few, and one that makes new ones gains nothing.
const PATTERNS: usize = 8;

/// Counts one evaluation.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) cost: u64,
    pub(crate) limit: u64,
    pub(crate) allowance: Allowance,
    /// What ended the evaluation as a whole, so that no `||` goes on past it.
    pub(crate) broken: Option<&'static str>,
}

/// What is left of that for which no cost is counted.
#[derive(Debug)]
pub(crate) struct Allowance {
    memory: u64,
    pub(crate) work: u64,
    /// Patterns made while evaluating, so that a loop compiles each once.
    patterns: Vec<(Box<str>, Arc<Pattern>)>,
    /// States times characters that may still be matched without counting.
    matching: u64,
    /// What matches beyond that.
    careful: Vec<(Box<str>, Box<Careful>)>,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { memory: MEMORY, work: WORK, patterns: Vec::new(), matching: MATCHING, careful: Vec::new() }
    }
}

impl Meter {
    pub(crate) fn new(limit: u64) -> Self {
        Self { cost: 0, limit, allowance: Allowance::default(), broken: None }
    }

    pub(crate) fn charge(&mut self, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
    }

    /// Whether evaluation ends here.
    pub(crate) fn ends(&self) -> bool {
        self.cost > self.limit || self.broken.is_some()
    }

    /// Takes memory for something about to be made; false when there is none left.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        match self.allowance.memory.checked_sub(bytes as u64) {
            Some(rest) => {
                self.allowance.memory = rest;
                true
            }
            None => false,
        }
    }

    /// The compiled pattern of a text, if it is still known.
    pub(crate) fn pattern(&self, text: &str) -> Option<Arc<Pattern>> {
        let known = self.allowance.patterns.iter().find(|(known, _)| **known == *text);
        known.map(|(_, pattern)| Arc::clone(pattern))
    }

    pub(crate) fn keep(&mut self, text: &str, pattern: Arc<Pattern>) {
        if self.allowance.patterns.len() >= PATTERNS {
            self.allowance.patterns.remove(0);
        }
        self.allowance.patterns.push((text.into(), pattern));
    }

    /// Whether so much may still be matched without counting.
    pub(crate) fn match_freely(&mut self, effort: u64) -> bool {
        let rest = self.allowance.matching.checked_sub(effort);
        // Whoever tried once too much is counted from then on.
        self.allowance.matching = rest.unwrap_or(0);
        rest.is_some()
    }

    /// What matches a pattern beyond that, if it is still known.
    pub(crate) fn careful(&mut self, pattern: &str) -> Option<Box<Careful>> {
        let place = self.allowance.careful.iter().position(|(known, _)| **known == *pattern)?;
        Some(self.allowance.careful.swap_remove(place).1)
    }

    pub(crate) fn keep_careful(&mut self, pattern: &str, careful: Box<Careful>) {
        if self.allowance.careful.len() >= PATTERNS {
            self.allowance.careful.remove(0);
        }
        self.allowance.careful.push((pattern.into(), careful));
    }

    /// Counts a text that is read whole, whatever that costs: its size is asked for at the price of a number's. False
    /// when there were too many.
    pub(crate) fn read(&mut self, bytes: usize) -> bool {
        bytes <= SHORT || self.look(bytes as u64 / BYTES_OF_A_PART)
    }

    /// Counts a text that is written for no cost, which takes longer than to read it. False when there were too many.
    pub(crate) fn write(&mut self, bytes: usize) -> bool {
        bytes <= SHORT || self.look(bytes as u64 / BYTES_OF_A_PART * WRITING)
    }

    /// Counts parts that are looked at; false when there were too many.
    pub(crate) fn look(&mut self, parts: u64) -> bool {
        match self.allowance.work.checked_sub(parts) {
            Some(rest) => {
                self.allowance.work = rest;
                true
            }
            None => false,
        }
    }
}

/// The error of an evaluation that needs more memory or more steps than anyone may use.
pub(crate) fn too_much<'a>() -> Value<'a> {
    Value::error("operation cancelled: too large")
}

/// How the cost of a call follows from its arguments and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Always 1.
    One,
    /// Reading the first argument once.
    Read,
    /// Reading the first argument twice, as parsing and writing do.
    ReadTwice,
    /// Writing the result twice.
    WriteTwice,
    /// Reading both arguments, as joining does.
    ReadBoth,
    /// Reading as much as the shorter of both has.
    ReadShorter,
    /// Like [`Rule::ReadShorter`], but 1 for Kubernetes' own types.
    Equality,
    /// Looking at every element of the second argument.
    Elements,
    /// Matching the first argument against the second.
    Match,
    /// Matching against a format.
    Validate,
    /// Every character of one against every character of the other.
    Contains,
    /// Walking through all parts of the first argument.
    Walk,
    /// A network holds an address or a network; true when that is a text to be parsed.
    Network { network: bool, parsed: bool },
    /// Making the resulting list.
    MakeList,
    /// Making a list from the first argument, by its depth.
    Flatten,
    /// Comparing each element of this argument with each other.
    CompareAll(usize),
    /// Comparing each element of one with each of the other, once or twice.
    CompareBoth { twice: bool },
}

impl Rule {
    /// The rule for a function, and for its overload if types left only one.
    pub(crate) fn of(function: &str, overload: Option<&str>) -> Self {
        match overload {
            Some("list_slice" | "lists_range" | "list_reverse") => return Self::MakeList,
            Some("list_flatten" | "list_flatten_int") => return Self::Flatten,
            Some("list_distinct") => return Self::CompareAll(0),
            Some("list_sets_contains_list" | "list_sets_intersects_list") => {
                return Self::CompareBoth { twice: false };
            }
            Some("list_sets_equivalent_list") => return Self::CompareBoth { twice: true },
            Some(id) if id.ends_with("_sortByAssociatedKeys") => return Self::CompareAll(1),
            Some(id) if id.starts_with("list_") && id.ends_with("_sort") => return Self::CompareAll(0),
            _ => {}
        }
        match function {
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => Self::Walk,
            "url"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "jsonpatch.escapeKey"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver" => Self::Read,
            "ip" if overload != Some("cidr_ip") => Self::Read,
            "replace" | "split" | "ip.isCanonical" => Self::ReadTwice,
            "join" => Self::WriteTwice,
            "find" | "findAll" => Self::Match,
            "validate" => Self::Validate,
            "containsIP" => {
                Self::Network { network: false, parsed: overload == Some("cidr_contains_ip_string") }
            }
            "containsCIDR" => {
                Self::Network { network: true, parsed: overload == Some("cidr_contains_cidr_string") }
            }
            "_==_" => Self::Equality,
            "_!=_" => Self::ReadShorter,
            _ => match overload {
                Some(
                    "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
                    | "strings_quote" | "string_format",
                ) => Self::Read,
                Some("in_list") => Self::Elements,
                Some(
                    "less_string"
                    | "greater_string"
                    | "less_equals_string"
                    | "greater_equals_string"
                    | "less_bytes"
                    | "greater_bytes"
                    | "less_equals_bytes"
                    | "greater_equals_bytes",
                ) => Self::ReadShorter,
                Some("add_string" | "add_bytes") => Self::ReadBoth,
                Some("matches_string") => Self::Match,
                Some("contains_string") => Self::Contains,
                _ => Self::One,
            },
        }
    }

    /// The cost of one call at most, with arguments and a result of at most these sizes; `each` is the size of the
    /// elements of the first.
    pub(crate) fn worst(self, sizes: &[u64], each: u64, result: u64) -> u64 {
        // What is empty may also be an error, which counts as one.
        let size = |at: usize| sizes.get(at).copied().unwrap_or(1).max(1);
        let result = result.max(1);
        match self {
            Self::One => 1,
            Self::Read => read(size(0)),
            Self::ReadTwice => read_twice(size(0)),
            Self::WriteTwice => read_twice(result),
            Self::ReadBoth => read(size(0).saturating_add(size(1))),
            Self::ReadShorter | Self::Equality => read(size(0).min(size(1))).max(1),
            Self::Elements => size(1),
            Self::Match => matching(size(0), size(1)),
            Self::Validate => matching(size(1), LONGEST_FORMAT),
            Self::Contains => read(size(0)).saturating_mul(read(size(1))),
            // A text of its own, or a list of them; a character is at most four bytes.
            Self::Walk => size(0).saturating_mul(read(each.saturating_mul(4)).saturating_add(1)),
            Self::Network { .. } => read(3 * 16).saturating_add(2).saturating_add(read(size(1))),
            Self::MakeList => made(1.0, result),
            // A depth below zero comes to more than can be counted.
            Self::Flatten => size(0).saturating_mul(size(1)).saturating_add(1 + LIST),
            Self::CompareAll(at) => made(2.0 + TRAVERSAL, size(at).saturating_mul(size(at))),
            Self::CompareBoth { .. } => size(0).saturating_mul(size(1)).saturating_mul(2).saturating_add(1),
        }
    }

    /// Whether Kubernetes breaks off when it counts this call: it takes these arguments for what they are not.
    pub(crate) fn breaks(self, arguments: &[Value<'_>]) -> bool {
        match self {
            Self::CompareAll(at) => !matches!(arguments.get(at), Some(Value::List(_))),
            Self::Flatten => !matches!(arguments.get(1), None | Some(Value::Int(_))),
            _ => false,
        }
    }

    /// The cost of one call.
    pub(crate) fn cost(self, arguments: &[Value<'_>], result: &Value<'_>) -> u64 {
        if self == Self::One {
            return 1;
        }
        let size = |at: usize| arguments.get(at).map_or(1, Value::size);
        match self {
            Self::One => 1,
            Self::Read => read(size(0)),
            Self::ReadTwice => read_twice(size(0)),
            Self::WriteTwice => read_twice(result.size()),
            Self::ReadBoth => read(size(0).saturating_add(size(1))),
            Self::ReadShorter => read(size(0).min(size(1))),
            Self::Equality => match arguments.first() {
                Some(Value::Opaque(_)) => 1,
                _ => read(size(0).min(size(1))),
            },
            Self::Elements => size(1),
            Self::Match => matching(size(0), size(1)),
            Self::Validate => match arguments.first() {
                Some(Value::Opaque(value)) => match &*value.0 {
                    Opaque::Format(format) => matching(size(1), format.pattern_size),
                    _ => 1,
                },
                _ => 1,
            },
            Self::Contains => read(size(0)).saturating_mul(read(size(1))),
            Self::Walk => arguments.first().map_or(0, walk),
            Self::Network { network, parsed } => {
                let bytes = size(0);
                let base = read(bytes.saturating_add(bytes));
                let second = if network { read(bytes) + 1 } else { 0 };
                let parse = if parsed { read(size(1)) } else { 0 };
                base + second + parse
            }
            Self::MakeList => made(1.0, result.size()),
            Self::Flatten => {
                #[expect(clippy::cast_precision_loss, reason = "costs are computed as doubles")]
                let depth = match arguments.get(1) {
                    Some(Value::Int(depth)) => *depth as f64,
                    _ => 1.0,
                };
                made(depth, size(0))
            }
            Self::CompareAll(at) => {
                let texts = match arguments.get(at) {
                    Some(Value::List(list)) => {
                        matches!(list.get(0), Some(Value::String(_) | Value::Bytes(_)))
                    }
                    _ => false,
                };
                made(if texts { 2.0 + TRAVERSAL } else { 2.0 }, size(at).saturating_mul(size(at)))
            }
            Self::CompareBoth { twice } => {
                let pairs = size(0).saturating_mul(size(1));
                pairs.saturating_mul(if twice { 2 } else { 1 }).saturating_add(1)
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "costs are computed as doubles")]
fn scaled(size: f64, factor: f64) -> u64 {
    (size * factor).ceil() as u64
}

#[expect(clippy::cast_precision_loss, reason = "costs are computed as doubles")]
fn read(size: u64) -> u64 {
    scaled(size as f64, TRAVERSAL)
}

#[expect(clippy::cast_precision_loss, reason = "costs are computed as doubles")]
fn read_twice(size: u64) -> u64 {
    scaled(size as f64 * 2.0, TRAVERSAL)
}

/// One more character than the text has, so that matching nothing costs something too.
#[expect(clippy::cast_precision_loss, reason = "costs are computed as doubles")]
fn matching(text: u64, pattern: u64) -> u64 {
    scaled(1.0 + text as f64, TRAVERSAL).saturating_mul(scaled(pattern as f64, PATTERN))
}

/// One more than a cost can be.
const TOO_MANY: f64 = 18_446_744_073_709_551_616.0;

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are computed as doubles"
)]
fn made(factor: f64, size: u64) -> u64 {
    let scaled = size as f64 * factor;
    if scaled < 0.0 {
        // A negative depth is an error, and takes its cost off, as the reference's conversion does.
        return ((scaled as i64) as u64).wrapping_add(1 + LIST);
    }
    // More than can be counted is half of that to the reference; it is over every limit all the same.
    let counted = if scaled < TOO_MANY { scaled as u64 } else { 1 << 63 };
    counted.saturating_add(1 + LIST)
}

/// What walking through a value costs: each scalar 1, each text by its bytes.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are computed as doubles"
)]
pub(crate) fn walk(value: &Value<'_>) -> u64 {
    let mut cost = 0_u64;
    let mut pending = vec![value.clone()];
    while let Some(next) = pending.pop() {
        match &next {
            Value::String(text) => cost += (text.len() as f64 * TRAVERSAL) as u64,
            Value::Bytes(bytes) => cost += (bytes.len() as f64 * TRAVERSAL) as u64,
            Value::List(list) => {
                // A list too long to walk through costs more than anyone may spend.
                if list.len() as u64 > EXPRESSION_LIMIT * 10 {
                    return u64::MAX;
                }
                pending.extend(list.iter());
            }
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    pending.push(key);
                    pending.push(value);
                }
            }
            _ => cost += 1,
        }
    }
    cost
}
