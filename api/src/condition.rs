//! Conditions: what a controller says about an object, in the form Kubernetes keeps it.
//!
//! A controller makes a [`Statement`] and [`set`]s it. The statement cannot be malformed: its type and reason are
//! constants, one that is not `True` always says something, and its message fits the API. `now` comes from the caller.

mod kind;
pub mod reason;
#[cfg(test)]
mod tests;

use std::fmt;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

pub use self::kind::*;

/// The longest message the API accepts. It counts characters, this counts bytes, which are never fewer.
pub const LONGEST_MESSAGE: usize = 32_768;

/// Put at the end of a message that had to be cut.
const CUT: &str = " … (cut)";

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody can tell at the moment.
    Unknown,
}

/// One condition as a controller states it, before it is known whether it changes anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    condition: &'static str,
    status: ConditionStatus,
    reason: &'static str,
    message: String,
}

impl ConditionStatus {
    /// The spelling on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// Reads a wire value; whatever is neither `True` nor `False` is unknown.
    pub fn from_wire(text: &str) -> Self {
        match text {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Statement {
    /// The condition holds. Its message may be empty.
    pub fn holds(condition: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(condition, ConditionStatus::True, reason, message.into())
    }

    /// The condition does not hold, and `message` says why and what to do.
    pub fn fails(condition: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(condition, ConditionStatus::False, reason, message.into())
    }

    /// It cannot be told, and `message` says what is missing.
    pub fn is_unknown(condition: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(condition, ConditionStatus::Unknown, reason, message.into())
    }

    fn new(condition: &'static str, status: ConditionStatus, reason: &'static str, message: String) -> Self {
        let message = if status != ConditionStatus::True && message.trim().is_empty() {
            format!("{condition} is {status} ({reason}); no detail was reported")
        } else {
            within_limit(message)
        };
        Self { condition, status, reason, message }
    }

    /// The condition's type.
    pub const fn condition(&self) -> &'static str {
        self.condition
    }

    /// Whether it holds.
    pub const fn status(&self) -> ConditionStatus {
        self.status
    }

    /// The reason, one of the constants.
    pub const fn reason(&self) -> &'static str {
        self.reason
    }

    /// The message: within the limit, and never empty unless the condition holds.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Cuts a message that the API would refuse, between two characters.
fn within_limit(mut message: String) -> String {
    if message.len() > LONGEST_MESSAGE {
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE - CUT.len()));
        message.push_str(CUT);
    }
    message
}

/// Writes a statement into a list of conditions and tells whether anything changed.
///
/// The transition time moves only when the status does. A second entry of the same type, which the API server would
/// refuse, is dropped.
pub fn set(conditions: &mut Vec<Condition>, statement: Statement, generation: i64, now: Timestamp) -> bool {
    let Statement { condition, status, reason, message } = statement;
    let mut next = Condition {
        type_: condition.to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.to_owned(),
        message,
        observed_generation: Some(generation),
        last_transition_time: Time(now),
    };
    let mut found = conditions.iter().enumerate().filter(|(_, present)| present.type_ == condition);
    let Some((first, present)) = found.next() else {
        conditions.push(next);
        return true;
    };
    let doubled = found.next().is_some();
    if present.status == next.status {
        next.last_transition_time = present.last_transition_time.clone();
    }
    let changed = doubled || *present != next;
    if changed {
        let mut index = 0;
        conditions.retain(|present| {
            let keep = present.type_ != condition || index == first;
            index += 1;
            keep
        });
        if let Some(slot) = conditions.get_mut(first) {
            *slot = next;
        }
    }
    changed
}

/// The condition of that type, if it has been set.
pub fn get<'a>(conditions: &'a [Condition], condition: &str) -> Option<&'a Condition> {
    conditions.iter().find(|present| present.type_ == condition)
}

/// Whether the condition of that type is set and `True`.
pub fn is_true(conditions: &[Condition], condition: &str) -> bool {
    status(conditions, condition) == Some(ConditionStatus::True)
}

/// The status of the condition of that type, if it has been set.
pub fn status(conditions: &[Condition], condition: &str) -> Option<ConditionStatus> {
    get(conditions, condition).map(|present| ConditionStatus::from_wire(&present.status))
}

/// Whether two lists say the same, whatever the times in them and their order: if so, there is nothing to write.
pub fn equal_ignoring_time(left: &[Condition], right: &[Condition]) -> bool {
    left.len() == right.len() && says_all_of(left, right) && says_all_of(right, left)
}

fn says_all_of(one: &[Condition], other: &[Condition]) -> bool {
    other.iter().all(|wanted| {
        get(one, &wanted.type_).is_some_and(|present| {
            let present =
                Condition { last_transition_time: wanted.last_transition_time.clone(), ..present.clone() };
            present == *wanted
        })
    })
}

/// One statement about several conditions: `summary` (usually [`READY`]) holds when all of `required` hold.
///
/// Otherwise it has the reason of the worst of them, and its message names each with its own message, the worst first:
/// what is False, then what is Unknown, then what has not been reported; within each, in the order of `required`.
pub fn summarise(conditions: &[Condition], summary: &'static str, required: &[&'static str]) -> Statement {
    let mut failing = Vec::new();
    let mut unknown = Vec::new();
    let mut missing = Vec::new();
    for name in required {
        match get(conditions, name) {
            None => missing.push(*name),
            Some(present) => match ConditionStatus::from_wire(&present.status) {
                ConditionStatus::True => {}
                ConditionStatus::False => failing.push((*name, present)),
                ConditionStatus::Unknown => unknown.push((*name, present)),
            },
        }
    }
    let reported = failing.iter().chain(&unknown).map(|(name, present)| match present.message.trim() {
        "" => format!("{name}: {} ({})", present.status, present.reason),
        message => format!("{name}: {message}"),
    });
    let message = reported
        .chain(missing.iter().map(|name| format!("{name}: not reported yet")))
        .collect::<Vec<_>>()
        .join("; ");
    let worst = failing.first().or(unknown.first());
    let reason = worst.map_or(reason::PENDING, |(_, present)| reason::known(&present.reason));
    if !failing.is_empty() {
        Statement::fails(summary, reason, message)
    } else if !message.is_empty() {
        Statement::is_unknown(summary, reason, message)
    } else {
        Statement::holds(summary, reason::READY, "")
    }
}
