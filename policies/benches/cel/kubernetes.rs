//! Kubernetes' own CEL, in the oracle's process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The oracle, asked one line at a time.
pub(crate) struct Kubernetes {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    input: Value,
}

impl Kubernetes {
    /// Starts the oracle in `CEL_ORACLE`, or the one that the bench has or builds now.
    pub(crate) fn start(input: &Value) -> Self {
        let program = std::env::var("CEL_ORACLE").unwrap_or_else(|_| built());
        let mut process = Command::new(&program)
            .arg("--time")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let (questions, answers) = (process.stdin.take(), process.stdout.take().unwrap());
        Self { process, questions, answers: BufReader::new(answers), input: input.clone() }
    }

    /// What the expression comes to, as the oracle writes it.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let answer = self.ask(expression);
        answer.get("value").unwrap_or_else(|| panic!("{expression}: {answer}")).clone()
    }

    pub(crate) fn nanoseconds(&mut self, expression: &str) -> f64 {
        self.ask(expression).get("ns").and_then(Value::as_f64).unwrap()
    }

    fn ask(&mut self, expression: &str) -> Value {
        let mut question = self.input.clone();
        question
            .as_object_mut()
            .unwrap()
            .extend([("id".to_owned(), json!(1)), ("expr".to_owned(), json!(expression))]);
        writeln!(self.questions.as_mut().unwrap(), "{question}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }
}

impl Drop for Kubernetes {
    /// Without questions it ends by itself.
    fn drop(&mut self) {
        self.questions = None;
        let _ = self.process.wait();
    }
}

/// Where the oracle is, built first if it has to be.
fn built() -> String {
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "-p", "butler-bench", "--bin", "bench-binaries", "--", "cel-oracle"])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "the oracle cannot be built");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
