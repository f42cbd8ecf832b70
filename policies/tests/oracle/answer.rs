//! One answer of the oracle, or of a program that speaks like it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line of output. `id` is the expression.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    pub(crate) id: String,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub(crate) value: Option<Value>,
    /// Which step failed: `parse`, `check` or `evaluate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stage: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<u64>,
    /// What differs from one evaluation to the next, because Go walks a map in any order: `value`, `error`,
    /// `cost`. The answer leaves it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) varies: Vec<String>,
    /// Overloads and macros, when asked for.
    #[serde(default, skip_serializing)]
    pub(crate) uses: Vec<String>,
}

/// A `null` that is written is a value; an absent one is none.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl Answer {
    /// Refused before it could run: such a policy cannot be created.
    pub(crate) fn is_refused(&self) -> bool {
        self.stage.as_deref().is_some_and(|stage| stage != "evaluate")
    }

    pub(crate) fn is_error(&self) -> bool {
        self.error.is_some()
    }

    /// Kubernetes panicked within its own library, and says so instead of an answer.
    pub(crate) fn broke_off(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.starts_with("internal error: "))
    }

    pub(crate) fn varies(&self, what: &str) -> bool {
        self.varies.iter().any(|name| name == what)
    }

    /// The answer as it is recorded: of a message that draws carets under the source only the first line.
    pub(crate) fn recorded(mut self) -> Self {
        if let Some(error) = &mut self.error {
            let first = error.lines().next().unwrap_or_default();
            *error = first.replace("compilation failed: ", "").replace("ERROR: <input>:", "");
        }
        self.uses.clear();
        self
    }
}
