//! `butlerctl policy check`: what is wrong with policies, or worth knowing, before anybody loads them.

use std::path::PathBuf;

use butler_policies::policy::{Bound, Kind, Policy, PolicySet, Problem, Severity, SourceFile};
use clap::Args;
use serde::Serialize;

use super::{Output, files};
use crate::{failure::Failure, print};

pub(crate) const AFTER_HELP: &str = "\
All paths together are checked as one set, as a directory that the webhook loads. Errors keep it from being loaded;
warnings tell of what somebody probably did not mean: an expression that fits no kind, a policy without a binding or that
repeats another, a kind that is never sent. Two things are told and are nothing to mend: notes, and a warning of an
expression that would pass its budget with the largest object that a request can have. The list of policies says which of
them only Butler can judge, because they look at `team`, `config`, `provider`, `cluster` or `usage`.

Exit codes: 0 nothing to mend, 1 something, 2 the command cannot do what was asked.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Directories with policies, or files.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// How to print what was found.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Checks policies; says whether nothing was found.
pub(crate) fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let files = files::read_all(&arguments.paths)?;
    let (policies, problems) = match PolicySet::check(&files) {
        Ok(loaded) => (loaded.set.policies().to_vec(), loaded.problems),
        Err(problems) => (Vec::new(), problems),
    };
    match arguments.output {
        Output::Text => text(&policies, &problems, &files)?,
        Output::Json => json(&policies, &problems, &files)?,
    }
    Ok(!problems.iter().any(is_finding))
}

/// Whether somebody has to do something. What an expression could cost with the largest of objects is told, but hardly any
/// object comes near it, and one that does is an error for `failurePolicy` to decide.
fn is_finding(problem: &Problem) -> bool {
    problem.severity != Severity::Note && problem.code != "cost"
}

fn text(policies: &[Policy], problems: &[Problem], files: &[SourceFile]) -> Result<(), Failure> {
    files::show(problems, files)?;
    let widest = |of: fn(&Policy) -> usize| policies.iter().map(of).max().unwrap_or(0);
    let (name, bound) = (widest(|policy| policy.name.len()), widest(|policy| bindings(policy).len()));
    for policy in policies {
        let cost = policy.cost.map_or_else(|| "-".to_owned(), |cost| cost.to_string());
        let row = format!(
            "{:name$}  {:10}  {:bound$}  {}, costs at most {cost}",
            policy.name,
            word(policy.kind),
            bindings(policy),
            portability(policy)
        );
        print::line(row)?;
    }
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let found = [
        counted(count(Severity::Error), "error"),
        counted(count(Severity::Warning), "warning"),
        counted(count(Severity::Note), "note"),
    ];
    let judged = if problems.iter().any(|problem| problem.severity == Severity::Error) {
        "cannot be loaded".to_owned()
    } else if policies.len() == 1 {
        "1 policy".to_owned()
    } else {
        format!("{} policies", policies.len())
    };
    let files = counted(files.len(), "file");
    print::line(format_args!("{files}, {judged}: {}", found.join(", ")))
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Validating => "validating",
        Kind::Mutating => "mutating",
    }
}

fn bindings(policy: &Policy) -> String {
    let one = |bound: &Bound| {
        let actions: Vec<&str> = bound.actions.iter().map(|action| action.as_str()).collect();
        if actions.is_empty() {
            bound.name.clone()
        } else {
            format!("{} ({})", bound.name, actions.join(", "))
        }
    };
    if policy.bindings.is_empty() {
        return "not bound".to_owned();
    }
    policy.bindings.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn portability(policy: &Policy) -> String {
    match &policy.ours_only {
        None => "portable to kube-apiserver".to_owned(),
        Some(ours) => {
            let (line, column) = ours.place;
            format!("ours only, looks at `{}` ({}:{line}:{column})", ours.extra.as_str(), policy.file)
        }
    }
}

/// The report as programs read it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    policies: Vec<Row<'a>>,
    problems: Vec<Told<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    name: &'a str,
    kind: &'static str,
    file: &'a str,
    line: usize,
    bindings: Vec<Binding<'a>>,
    portable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ours_only: Option<OursOnly>,
    #[serde(skip_serializing_if = "Option::is_none")]
    highest_cost: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Binding<'a> {
    name: &'a str,
    file: &'a str,
    line: usize,
    actions: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OursOnly {
    looks_at: &'static str,
    line: usize,
    column: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    severity: &'static str,
    code: &'static str,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

fn json(policies: &[Policy], problems: &[Problem], files: &[SourceFile]) -> Result<(), Failure> {
    let report = Report {
        policies: policies.iter().map(row).collect(),
        problems: problems.iter().map(|problem| told(problem, files)).collect(),
    };
    print::line(serde_json::to_string_pretty(&report)?)
}

fn row(policy: &Policy) -> Row<'_> {
    let bindings = policy.bindings.iter().map(|bound| Binding {
        name: &bound.name,
        file: &bound.file,
        line: bound.line,
        actions: bound.actions.iter().map(|action| action.as_str()).collect(),
    });
    Row {
        name: &policy.name,
        kind: word(policy.kind),
        file: &policy.file,
        line: policy.line,
        bindings: bindings.collect(),
        portable: policy.ours_only.is_none(),
        ours_only: policy.ours_only.as_ref().map(|ours| OursOnly {
            looks_at: ours.extra.as_str(),
            line: ours.place.0,
            column: ours.place.1,
        }),
        highest_cost: policy.cost,
    }
}

fn told<'a>(problem: &'a Problem, files: &[SourceFile]) -> Told<'a> {
    let place = problem.place(files);
    Told {
        severity: problem.severity.as_str(),
        code: problem.code,
        file: &problem.file,
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
        message: &problem.message,
        help: problem.help.as_deref(),
    }
}
