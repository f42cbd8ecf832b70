//! `butlerctl policy test`: the cases beside policies.

use std::{fs, path::PathBuf};

use butler_policies::policy::{
    PolicySet, Problem, SourceFile,
    cases::{Cases, Ran, Seen, Unseen},
};
use clap::Args;

use self::suite::Suite;
use crate::failure::Failure;

mod junit;
mod report;
mod suite;

pub(crate) const AFTER_HELP: &str = "\
Each folder with a `cases.yaml` is tested by itself: its policies, bindings and params, and nothing else. Every validation
has to be seen true and false over its cases, and every mutation to change something and to leave something as it is.

Exit codes: 0 everything came as expected, 1 something did not, 2 the command cannot do what was asked.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Folders with policies and their cases, or files of policies with their cases beside them.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Write the results to this file as JUnit XML, too.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Do not fail because something was never seen true or never seen false.
    #[arg(long)]
    allow_unseen: bool,
}

/// Runs all cases; says whether everything came as expected.
pub(crate) fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let mut all = Vec::new();
    for suite in suite::find(&arguments.paths)? {
        let tested = test(suite);
        report::suite(&tested)?;
        all.push(tested);
    }
    report::total(&all)?;
    if let Some(path) = &arguments.junit {
        let written = fs::write(path, junit::xml(&all, arguments.allow_unseen)?);
        written.map_err(|error| Failure::new(format_args!("cannot write `{}`: {error}", path.display())))?;
    }
    Ok(all.iter().all(|tested| tested.is_good(arguments.allow_unseen)))
}

/// What came of a folder.
#[derive(Debug)]
struct Tested {
    suite: Suite,
    outcome: Result<Outcome, Vec<Problem>>,
}

#[derive(Debug)]
struct Outcome {
    ran: Vec<(Place, Ran)>,
    unseen: Vec<Unseen>,
}

/// A case, as people find it.
#[derive(Debug)]
struct Place {
    name: String,
    file: String,
    line: usize,
}

impl Tested {
    fn is_good(&self, allow_unseen: bool) -> bool {
        self.outcome.as_ref().is_ok_and(|outcome| {
            outcome.failed().next().is_none() && (allow_unseen || outcome.unseen.is_empty())
        })
    }

    /// The files that problems may be about.
    fn files(&self) -> Vec<SourceFile> {
        self.suite.files.iter().chain(&self.suite.cases).cloned().collect()
    }
}

impl Outcome {
    fn failed(&self) -> impl Iterator<Item = &(Place, Ran)> {
        self.ran.iter().filter(|(_, ran)| !ran.passed())
    }
}

fn test(suite: Suite) -> Tested {
    let outcome = outcome(&suite);
    Tested { suite, outcome }
}

fn outcome(suite: &Suite) -> Result<Outcome, Vec<Problem>> {
    let (loaded, cases) = (PolicySet::load(&suite.files), suite.cases.as_ref().map(Cases::read).transpose());
    // The mistakes of both are told at once.
    let (set, cases) = match (loaded, cases) {
        (Ok(loaded), Ok(cases)) => (loaded.set, cases),
        (loaded, cases) => {
            let problems = loaded.err().into_iter().chain(cases.err());
            return Err(problems.flatten().collect());
        }
    };
    let (mut ran, mut seen) = (Vec::new(), Seen::default());
    if let Some(Cases { file, cases }) = cases {
        for case in cases {
            let result = case.run(&set);
            seen.note(&result);
            ran.push((Place { name: case.name, file: file.clone(), line: case.line }, result));
        }
    }
    Ok(Outcome { ran, unseen: seen.missing(&set) })
}
