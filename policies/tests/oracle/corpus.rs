//! The expressions, one topic per file of `corpus/`, and the objects they are about.
//!
//! A line is an expression. `// …` is a comment, `| …` continues the expression above on a line of its own,
//! `@input NAME` names the file of `inputs/` that the expressions below see, and `@mutating` says that they
//! belong to a MutatingAdmissionPolicy.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value, json};

use crate::generate;

/// What expressions see that are not told otherwise: an update with everything in it.
const USUAL_INPUT: &str = "update";

/// How many generated expressions are recorded; the long run takes others.
pub(crate) const GENERATED: usize = 3_000;

/// One expression and what it sees.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    pub(crate) expression: String,
    pub(crate) input: String,
    pub(crate) mutating: bool,
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle")
}

/// Every topic by name, with its expressions in order. The last one is made, not written.
pub(crate) fn topics() -> BTreeMap<String, Vec<Case>> {
    let mut topics = BTreeMap::new();
    for entry in fs::read_dir(folder().join("corpus")).unwrap() {
        let path = entry.unwrap().path();
        let topic = path.file_stem().unwrap().to_str().unwrap().to_owned();
        topics.insert(topic, read(&fs::read_to_string(path).unwrap()));
    }
    topics.insert("generated".to_owned(), generate::expressions(0).take(GENERATED).collect());
    topics
}

fn read(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut usual = Case { expression: String::new(), input: USUAL_INPUT.to_owned(), mutating: false };
    for line in text.lines() {
        if let Some(more) = line.strip_prefix("| ") {
            let expression = &mut cases.last_mut().unwrap().expression;
            expression.push('\n');
            expression.push_str(more);
        } else if let Some(name) = line.strip_prefix("@input ") {
            usual.input = name.to_owned();
        } else if line == "@mutating" {
            usual.mutating = true;
        } else if !line.is_empty() && !line.starts_with("//") {
            cases.push(Case { expression: line.to_owned(), ..usual.clone() });
        }
    }
    cases
}

/// The files of `inputs/`, each an object with the variables of one admission.
#[derive(Debug)]
pub(crate) struct Inputs(BTreeMap<String, Map<String, Value>>);

impl Inputs {
    pub(crate) fn read() -> Self {
        let file = |path: PathBuf| {
            let variables = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), variables)
        };
        let folder = fs::read_dir(folder().join("inputs")).unwrap();
        Self(folder.map(|entry| file(entry.unwrap().path())).collect())
    }

    /// The line with which a program is asked for the answer to a case. The expression is the id.
    pub(crate) fn question(&self, case: &Case) -> Value {
        let mut line = self.0[&case.input].clone();
        line.insert("id".to_owned(), json!(case.expression));
        line.insert("expr".to_owned(), json!(case.expression));
        if case.mutating {
            line.insert("mutating".to_owned(), json!(true));
        }
        Value::Object(line)
    }
}

#[test]
fn no_expression_is_written_twice() {
    let topics = topics();
    let written: usize =
        topics.iter().filter(|(name, _)| *name != "generated").map(|(_, cases)| cases.len()).sum();
    assert!(written >= 1_500, "{written} expressions of our own");
    for (topic, cases) in &topics {
        let mut seen = BTreeSet::new();
        for case in cases {
            assert!(seen.insert(case), "`{}` is twice in {topic}", case.expression);
        }
    }
}

#[test]
fn a_file_is_read_line_by_line() {
    let cases = read("// words\n\n1 + 1\n1 // one\n| + 1\n@input create\nobject\n@mutating\nObject{}\n");
    let case = |expression: &str, input: &str, mutating| Case {
        expression: expression.to_owned(),
        input: input.to_owned(),
        mutating,
    };
    assert_eq!(
        cases,
        [
            case("1 + 1", "update", false),
            case("1 // one\n+ 1", "update", false),
            case("object", "create", false),
            case("Object{}", "create", true),
        ]
    );
}
