//! Which labels an object has to have.

use super::fields::Fields;
use super::names::{is_label_value, is_qualified};
use super::problem::{Problems, quoted};
use crate::cel::{Tree, Value};

/// A selector of labels. An empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

const OPERATORS: [(&str, Operator); 4] = [
    ("In", Operator::In),
    ("NotIn", Operator::NotIn),
    ("Exists", Operator::Exists),
    ("DoesNotExist", Operator::DoesNotExist),
];

impl Selector {
    /// Reads `matchLabels` and `matchExpressions`.
    pub(crate) fn read(mut fields: Fields<'_>, problems: &mut Problems) -> Self {
        let mut requirements = Vec::new();
        for (key, value) in fields.string_map("matchLabels", problems) {
            if !is_qualified(&key.text) {
                problems.error(
                    &key.place,
                    "invalid-value",
                    format!("{}: is no key that a label can have", key.path),
                );
            }
            if !is_label_value(&value.text) {
                let message = format!("{}: is {}, which no label can have", value.path, quoted(&value.text));
                problems.error(&value.place, "invalid-value", message);
            }
            let values = vec![value.text.to_string()];
            requirements.push(Requirement { key: key.text.to_string(), operator: Operator::In, values });
        }
        let file = fields.place.file;
        for (path, node) in fields.list("matchExpressions", problems) {
            let Some(mut fields) = Fields::open(node, file, &path, problems) else { continue };
            requirements.extend(Requirement::read(&mut fields, problems));
            fields.finish(problems);
        }
        fields.finish(problems);
        Self { requirements }
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether it selects what has these labels.
    pub(crate) fn matches<'l>(&self, label: impl Fn(&str) -> Option<Value<'l>>) -> bool {
        self.requirements.iter().all(|requirement| {
            let found = label(&requirement.key);
            let value = match &found {
                Some(Value::String(text)) => Some(&**text),
                _ => None,
            };
            match requirement.operator {
                Operator::Exists => value.is_some(),
                Operator::DoesNotExist => value.is_none(),
                Operator::In => value.is_some_and(|value| requirement.values.iter().any(|one| one == value)),
                Operator::NotIn => {
                    !value.is_some_and(|value| requirement.values.iter().any(|one| one == value))
                }
            }
        })
    }

    /// Whether it selects an object by its `metadata.labels`.
    pub(crate) fn matches_object(&self, object: &Tree<'_>) -> bool {
        let Value::Map(object) = Value::of(object) else { return false };
        let metadata = match object.get("metadata") {
            Some(Value::Map(metadata)) => Some(metadata),
            _ => None,
        };
        let labels = match metadata.and_then(|metadata| metadata.get("labels")) {
            Some(Value::Map(labels)) => Some(labels),
            _ => None,
        };
        self.matches(|key| labels.as_ref().and_then(|labels| labels.get(key)))
    }
}

impl Requirement {
    fn read(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Self> {
        let key = fields.some_text("key", problems);
        let operator = match fields.require("operator", problems) {
            Some(_) => fields.one_of("operator", &OPERATORS, problems),
            None => None,
        };
        let values = fields.texts("values", problems);
        let (key, operator) = (key?, operator?);
        if !is_qualified(&key.text) {
            let message =
                format!("{}: is {}, which no label can have as its key", key.path, quoted(&key.text));
            problems.error(&key.place, "invalid-value", message);
        }
        for value in values.iter().filter(|value| !is_label_value(&value.text)) {
            let message = format!("{}: is {}, which no label can have", value.path, quoted(&value.text));
            problems.error(&value.place, "invalid-value", message);
        }
        let needs_values = matches!(operator, Operator::In | Operator::NotIn);
        if needs_values == values.is_empty() {
            let what = if needs_values { "has to have values with" } else { "may not have values with" };
            let path = fields.path_of("values");
            let message = format!("{path}: {what} this operator");
            problems.error(&fields.key_place("values"), "invalid-value", message);
        }
        let values = values.iter().map(|value| value.text.to_string()).collect();
        Some(Self { key: key.text.to_string(), operator, values })
    }
}
