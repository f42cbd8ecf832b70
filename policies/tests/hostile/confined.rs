//! A process with little memory and a small stack, asked for one case after the other.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use crate::case::{self, Case};
use crate::judge;

/// What the process says of one step of a case.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) case: String,
    pub(crate) step: String,
    pub(crate) outcome: String,
    pub(crate) time: Duration,
}

impl Answer {
    /// As it is written in the corpus.
    pub(crate) fn line(&self) -> String {
        format!("{}: {}", self.step, self.outcome)
    }
}

/// Address space in KiB, for code, heap and stacks together, and the stack. One heap for all threads, since the limit is
/// on what is reserved.
const LIMITS: &str = r#"ulimit -v 262144 && ulimit -s 2048 && MALLOC_ARENA_MAX=1 exec "$0" "$@""#;

pub(crate) struct Confined {
    process: Child,
    questions: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Confined {
    pub(crate) fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", LIMITS]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "answers_to_the_cases_that_are_asked_for", "--ignored", "--nocapture"]);
        command.env_remove("RUST_MIN_STACK");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (lines, answers) = mpsc::channel();
        // Ends with the process, or with whoever listens.
        thread::spawn(move || output.lines().map_while(Result::ok).all(|line| lines.send(line).is_ok()));
        let questions = process.stdin.take();
        Self { process, questions, answers }
    }

    /// The answers to one case. A process that is gone, or does not answer, fails the test.
    pub(crate) fn answers(&mut self, case: &Case, patience: Duration) -> Vec<Answer> {
        let title = case.title();
        let asked = writeln!(self.questions.as_mut().unwrap(), "{title}");
        let mut answers = Vec::new();
        while asked.is_ok() {
            let Ok(line) = self.answers.recv_timeout(patience) else { break };
            // Whatever else a test prints has no tab.
            let [step, micros, outcome] = line.splitn(3, '\t').collect::<Vec<_>>()[..] else { continue };
            if step == END {
                return answers;
            }
            let time = Duration::from_micros(micros.parse().unwrap());
            answers.push(Answer {
                case: title.clone(),
                step: step.to_owned(),
                outcome: outcome.to_owned(),
                time,
            });
        }
        // Fails the test, and says where; those that follow get a process of their own.
        let ended = self.process.try_wait().unwrap();
        self.process.kill().unwrap();
        let status = self.process.wait().unwrap();
        let outcome =
            if ended.is_some() { format!("the process ended: {status}") } else { "no answer".to_owned() };
        answers.push(Answer { case: title, step: "hang".to_owned(), outcome, time: Duration::ZERO });
        *self = Self::start();
        answers
    }

    /// Lets the process end by itself, and sees that it does so well.
    pub(crate) fn end(mut self) {
        self.questions = None;
        assert!(self.process.wait().unwrap().success());
    }
}

const END: &str = "end";

/// Answers each case that is asked for by its title, until nobody asks any more.
pub(crate) fn serve() {
    let cases = case::all();
    let judge = judge::Judge::new();
    for title in std::io::stdin().lines() {
        let title = title.unwrap();
        let case = cases.iter().find(|case| case.title() == title).unwrap();
        judge.answer(case, |step, time, outcome| {
            println!("{step}\t{}\t{}", time.as_micros(), outcome.replace(['\t', '\n'], " "));
        });
        println!("{END}\t0\t");
    }
}
