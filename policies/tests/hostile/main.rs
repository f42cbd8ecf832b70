//! Expressions, files and objects written to hurt. Each ends with the clean answer that stands beside it, in a process of
//! its own with 256 MiB of memory and a stack of 2 MiB. `README.md` beside this file says how the cases are written.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that meets the unexpected must fail")]

mod case;
mod confined;
mod judge;

use std::collections::BTreeMap;
use std::time::Duration;

use case::Case;
use confined::{Answer, Confined};

/// An answer takes microseconds, or some seconds without optimisation; nobody is so busy that it takes this long.
const PATIENCE: Duration = Duration::from_secs(600);

#[test]
fn hostile_input_gets_a_clean_answer() {
    let only = std::env::var("HOSTILE_ONLY").unwrap_or_default();
    let cases: Vec<Case> = case::all().into_iter().filter(|case| case.title().contains(&only)).collect();
    let mut wrong = Vec::new();
    let mut slowest: BTreeMap<String, Answer> = BTreeMap::new();
    let mut process = Confined::start();
    for case in &cases {
        let answers = process.answers(case, PATIENCE);
        for answer in answers.iter().filter(|_| std::env::var_os("HOSTILE_TIMES").is_some()) {
            println!("{:>8} µs: {} => {}", answer.time.as_micros(), answer.case, answer.line());
        }
        for answer in &answers {
            let what = slowest.entry(answer.step.clone()).or_insert_with(|| answer.clone());
            if what.time < answer.time {
                *what = answer.clone();
            }
        }
        let actual: Vec<String> = answers.iter().map(Answer::line).collect();
        if actual != case.expected {
            wrong.push(format!(
                "{}: expected\n{}\nbut got\n{}",
                case.title(),
                case.expected.join("\n"),
                actual.join("\n")
            ));
        }
    }
    process.end();
    println!("{} cases", cases.len());
    for (step, answer) in &slowest {
        println!("slowest to {step}: {:.1} ms, {}", answer.time.as_secs_f64() * 1e3, answer.case);
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

#[test]
fn there_are_cases_enough_and_each_is_told_from_the_others() {
    let cases = case::all();
    assert!(cases.len() >= 200, "{} cases", cases.len());
    let mut titles: Vec<String> = cases.iter().map(Case::title).collect();
    titles.sort();
    let all = titles.len();
    titles.dedup();
    assert_eq!(titles.len(), all);
}

/// The process that [`Confined`] starts: this very test, asked for by name.
#[test]
#[ignore = "started by the others, within their limits"]
fn answers_to_the_cases_that_are_asked_for() {
    confined::serve();
}
