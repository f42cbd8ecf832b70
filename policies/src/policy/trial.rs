//! One expression by itself, over values that somebody made up: how people try things out.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::compile::declarations;
use super::definition::{NAMES, VARIABLES};
use super::load::LARGEST_FILE;
use super::problem::{Place, Problem, Problems, SourceFile};
use super::request::{complete, complete_namespace};
use super::yaml::{self, Budget};
use crate::cel::{Diagnostic, EXPRESSION_LIMIT, Program, Tree, Value};

/// The values of an expression, each JSON by the name that expressions see it under. What is left out is null.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    texts: BTreeMap<&'static str, String>,
    is_mutating: bool,
}

/// What came of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The value, or why there is none.
    pub result: Result<Answer, Mistake>,
    /// What it cost; nothing if it did not run.
    pub cost: Option<u64>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The name of its type.
    pub of: String,
    /// The value as JSON.
    pub value: String,
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A value cannot be read.
    Input(String),
    /// It is no expression, or its types do not fit.
    Refused(Vec<Diagnostic>),
    /// It fails as it runs.
    Failed(String),
}

impl Inputs {
    /// The names that have values.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().take(VARIABLES)
    }

    /// Gives a name its value; says whether there is such a name.
    pub fn set(&mut self, name: &str, json: String) -> bool {
        let known = Self::names().find(|known| *known == name);
        known.is_some_and(|known| {
            self.texts.insert(known, json);
            true
        })
    }

    /// Also lets expressions make objects, as those of mutations do.
    pub fn mutating(&mut self) {
        self.is_mutating = true;
    }

    /// Evaluates an expression within Kubernetes' budget for one.
    #[must_use]
    pub fn evaluate(&self, expression: &str) -> Tried {
        let failed = |mistake| Tried { result: Err(mistake), cost: None };
        let declarations = declarations(true);
        let declarations = if self.is_mutating { declarations.mutation() } else { declarations };
        let program = match Program::compile(expression, &declarations) {
            Ok(program) => program,
            Err(diagnostics) => return failed(Mistake::Refused(diagnostics)),
        };
        let mut texts = Vec::new();
        for name in Self::names() {
            match self.text(name) {
                Ok(text) => texts.push(text),
                Err(error) => return failed(Mistake::Input(format!("{name}: {error}"))),
            }
        }
        let mut trees = Vec::new();
        for (name, text) in Self::names().zip(&texts) {
            match Tree::parse(text) {
                Ok(tree) => trees.push(tree),
                Err(error) => return failed(Mistake::Input(format!("{name}: {}", error.message))),
            }
        }
        let values: Vec<Value<'_>> = trees.iter().map(Value::of).collect();
        let outcome = program.evaluate(&values, EXPRESSION_LIMIT);
        let result = match outcome.value {
            Err(error) => Err(Mistake::Failed(error)),
            Ok(value) => match value.encode() {
                Some((of, value)) => Ok(Answer { of: of.to_owned(), value }),
                None => Err(Mistake::Failed("the value nests too deeply to be shown".to_owned())),
            },
        };
        Tried { result, cost: Some(outcome.cost) }
    }

    /// The JSON of a name, with what the API server fills in.
    fn text(&self, name: &str) -> Result<String, String> {
        let Some(text) = self.texts.get(name) else { return Ok("null".to_owned()) };
        let fill: fn(&mut Json) = match name {
            "request" => complete,
            "namespaceObject" => complete_namespace,
            _ => return Ok(text.clone()),
        };
        let mut value: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        fill(&mut value);
        Ok(value.to_string())
    }
}

/// The one value in a file of YAML or JSON, as JSON.
///
/// # Errors
///
/// Everything that is wrong with the file.
pub fn value_in(file: &SourceFile) -> Result<String, Vec<Problem>> {
    let mut problems = Problems::default();
    let start = Place { file: 0, span: 0..0 };
    if file.text.len() > LARGEST_FILE {
        problems.error(&start, "too-large", format!("the file is larger than {LARGEST_FILE} bytes"));
        return Err(problems.sorted(std::slice::from_ref(file)));
    }
    let documents = yaml::read(&file.text, 0, &mut Budget::default(), &mut problems);
    if documents.len() != 1 && !problems.has_errors() {
        let place = documents.get(1).map_or(start, |second| Place { file: 0, span: second.span.clone() });
        problems.error(
            &place,
            "too-many",
            format!("there are {} documents; there has to be one", documents.len()),
        );
    }
    let mut json = String::new();
    match documents.first() {
        Some(document) if !problems.has_errors() => document.write_json(&mut json),
        _ => return Err(problems.sorted(std::slice::from_ref(file))),
    }
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::{Answer, Inputs, Mistake, SourceFile, value_in};

    fn tried(expression: &str) -> (Result<(String, String), String>, Option<u64>) {
        let mut inputs = Inputs::default();
        assert!(inputs.set("object", r#"{"spec":{"replicas":3}}"#.to_owned()));
        assert!(inputs.set("request", r#"{"operation":"CREATE"}"#.to_owned()));
        assert!(inputs.set("team", r#"{"metadata":{"name":"a"}}"#.to_owned()));
        assert!(!inputs.set("variables", "{}".to_owned()));
        let tried = inputs.evaluate(expression);
        let result = match tried.result {
            Ok(Answer { of, value }) => Ok((of, value)),
            Err(Mistake::Input(message) | Mistake::Failed(message)) => Err(message),
            Err(Mistake::Refused(diagnostics)) => Err(diagnostics[0].to_string()),
        };
        (result, tried.cost)
    }

    #[test]
    fn an_expression_sees_what_it_is_given() {
        let answer = |of: &str, value: &str| Ok((of.to_owned(), value.to_owned()));
        assert_eq!(tried("object.spec.replicas + 1").0, answer("int", "4"));
        assert_eq!(tried("request.operation + team.metadata.name").0, answer("string", "\"CREATEa\""));
        assert_eq!(tried("oldObject == null").0, answer("bool", "true"));
        assert_eq!(tried("object.spec.size").0, Err("no such key: size".to_owned()));
        assert_eq!(tried("1 +").1, None);
        assert!(tried("lists.range(10000000).all(a, true)").0.is_err());
    }

    #[test]
    fn a_file_has_one_value() {
        let of = |text: &str| value_in(&SourceFile { path: "a".to_owned(), text: text.to_owned() });
        assert_eq!(of("a: [1, yes]").unwrap(), r#"{"a":[1,true]}"#);
        for wrong in ["", "a: 1\n---\nb: 2\n", "a: [", &"[".repeat(1_000)] {
            assert_eq!(of(wrong).unwrap_err().len(), 1, "{wrong}");
        }
    }
}
