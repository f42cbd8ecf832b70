//! Expressions, files and objects written to hurt. Each ends with the clean answer that stands beside it, in a process of
//! its own with 256 MiB of memory and a stack of 2 MiB. `README.md` beside this file says how the cases are written.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that meets the unexpected must fail")]

mod case;
mod confined;
mod judge;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
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
    for (case, answers) in cases.iter().zip(answers(&cases)) {
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
    println!("{} cases", cases.len());
    for (step, answer) in &slowest {
        println!("slowest to {step}: {:.1} ms, {}", answer.time.as_secs_f64() * 1e3, answer.case);
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

/// The answers to all cases, in their order. Without optimisation, a process for each core takes them in turn; with it, one
/// does, because times are read then.
fn answers(cases: &[Case]) -> Vec<Vec<Answer>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (processes, next) = (if cfg!(debug_assertions) { cores } else { 1 }, AtomicUsize::new(0));
    let mut all = vec![Vec::new(); cases.len()];
    let found: Vec<(usize, Vec<Answer>)> = thread::scope(|scope| {
        let work = || {
            let mut process = Confined::start();
            let mut found = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(case) = cases.get(at) else { break };
                found.push((at, process.answers(case, PATIENCE)));
            }
            process.end();
            found
        };
        let workers: Vec<_> = (0..processes).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    for (at, answers) in found {
        if let Some(place) = all.get_mut(at) {
            *place = answers;
        }
    }
    all
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
