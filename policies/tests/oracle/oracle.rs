//! Asks a program that answers JSON lines with JSON lines: the oracle, or another that speaks like it.

use std::{
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    process::{Command, Stdio},
    thread,
};

use crate::{
    answer::Answer,
    corpus::{Case, Inputs},
};

/// The command in an environment variable, split at spaces.
pub(crate) fn command(variable: &str) -> Command {
    let text =
        std::env::var(variable).unwrap_or_else(|_| panic!("set {variable}: see tests/oracle/README.md"));
    let mut words = text.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command
}

/// Asks for every case at once; answers come in the same order.
pub(crate) fn ask(mut command: Command, inputs: &Inputs, cases: &[Case]) -> Vec<Answer> {
    let mut program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (input, output) = (program.stdin.take().unwrap(), program.stdout.take().unwrap());
    let answers: Vec<Answer> = thread::scope(|scope| {
        scope.spawn(move || {
            let mut input = BufWriter::new(input);
            for case in cases {
                // A program that ended early is found out by its answers.
                if writeln!(input, "{}", inputs.question(case)).is_err() {
                    return;
                }
            }
        });
        let lines = BufReader::new(output).lines();
        lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
    });
    assert!(program.wait().unwrap().success(), "{command:?} failed");
    assert_eq!(answers.len(), cases.len(), "answers of {command:?}");
    for (answer, case) in answers.iter().zip(cases) {
        assert_eq!(answer.id, case.expression);
    }
    answers
}
