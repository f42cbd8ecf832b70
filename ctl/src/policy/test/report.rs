//! What came of cases, as people read it.

use butler_policies::policy::{
    Kind,
    cases::{Ran, Side, Unseen},
};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use super::{Outcome, Tested};
use crate::{failure::Failure, policy::files, print};

/// Prints a line for a folder, and below it what is wrong.
pub(super) fn suite(tested: &Tested) -> Result<(), Failure> {
    let name = &tested.suite.name;
    let outcome = match &tested.outcome {
        Ok(outcome) => outcome,
        Err(problems) => {
            print::line(format_args!("FAIL {name}: cannot be loaded\n"))?;
            return files::show(problems, &tested.files());
        }
    };
    let Outcome { ran, unseen } = outcome;
    let failed = outcome.failed().count();
    if failed == 0 && unseen.is_empty() {
        return print::line(format_args!("ok   {name}: {}", counted(ran.len(), "case")));
    }
    print::line(format_args!("FAIL {name}: {}\n", summary(ran.len(), failed, unseen.len())))?;
    for (place, ran) in outcome.failed() {
        print::line(format_args!("  {}:{}: {}", place.file, place.line, place.name))?;
        print::text(format_args!("{}\n", indented(&difference(ran)?)))?;
    }
    for unseen in unseen {
        let Unseen { file, line, expression, .. } = unseen;
        print::line(format_args!("  {file}:{line}: {}", told(unseen)))?;
        print::text(format_args!("{}\n", indented(expression)))?;
    }
    Ok(())
}

/// Prints the last line.
pub(super) fn total(all: &[Tested]) -> Result<(), Failure> {
    let outcomes = || all.iter().filter_map(|tested| tested.outcome.as_ref().ok());
    let cases = outcomes().map(|outcome| outcome.ran.len()).sum();
    let failed = outcomes().map(|outcome| outcome.failed().count()).sum();
    let unseen = outcomes().map(|outcome| outcome.unseen.len()).sum();
    let unloaded = all.len() - outcomes().count();
    let unloaded = if unloaded > 0 { format!(", {unloaded} cannot be loaded") } else { String::new() };
    let folders = counted(all.len(), "folder");
    print::line(format_args!("{folders}{unloaded}: {}", summary(cases, failed, unseen)))
}

fn summary(cases: usize, failed: usize, unseen: usize) -> String {
    let unseen = if unseen > 0 { format!(", {unseen} never seen") } else { String::new() };
    format!("{}, {failed} failed{unseen}", counted(cases, "case"))
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What was not seen, in a sentence.
pub(super) fn told(unseen: &Unseen) -> String {
    let Unseen { kind, policy, number, side, .. } = unseen;
    let (what, never) = match (kind, side) {
        (Kind::Validating, Side::True) => ("validation", "was never seen true"),
        (Kind::Validating, Side::False) => ("validation", "was never seen false"),
        (Kind::Mutating, Side::True) => ("mutation", "was never seen to change anything"),
        (Kind::Mutating, Side::False) => ("mutation", "was never seen to leave anything as it is"),
    };
    format!("{what} {} of `{policy}` {never}", number + 1)
}

/// What differs, as YAML: `-` was expected, `+` came.
pub(super) fn difference(ran: &Ran) -> Result<String, Failure> {
    let (expected, actual) = (only(&ran.expected, &ran.actual)?, only(&ran.actual, &ran.expected)?);
    let diff = TextDiff::from_lines(expected.as_str(), actual.as_str());
    let mut text = String::from("- expected\n+ actual\n");
    for change in diff.iter_all_changes() {
        text.push(match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        });
        text.push(' ');
        text.push_str(change.value());
    }
    Ok(text)
}

/// The fields in which one side differs from the other.
fn only(side: &Value, other: &Value) -> Result<String, Failure> {
    let fields = side.as_object().into_iter().flatten();
    let differing = fields.filter(|(name, value)| other.get(name.as_str()) != Some(*value));
    let differing: Map<String, Value> =
        differing.map(|(name, value)| (name.clone(), value.clone())).collect();
    Ok(serde_saphyr::to_string(&differing)?)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
