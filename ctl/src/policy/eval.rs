//! `butlerctl policy eval`: one expression, tried out.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, Read as _},
    path::PathBuf,
};

use butler_policies::{
    cel::{Diagnostic, EXPRESSION_LIMIT},
    policy::{
        LARGEST_FILE, Problem, Severity, SourceFile,
        trial::{Answer, Inputs, Mistake, Tried, value_in},
    },
};
use clap::Args;
use serde_json::value::RawValue;

use super::files;
use crate::{failure::Failure, print};

pub(crate) const AFTER_HELP: &str = "\
What is not given is null. The value is printed as JSON, then its type and what it cost.

With --lines, each line of standard input is a JSON object with `id`, `expr` and any of `object`, `oldObject`, `params`,
`request`, `namespaceObject`, `team`, `config`, `provider`, `cluster`, `usage` and `mutating`; for each, one line is printed with
`id`, then `value` and `type`, or `stage` and `error`, and `cost`. A line that cannot be read has an `error`, too.

Exit codes: 0 there is a value, or all lines were answered; 1 the expression has none; 2 the command cannot do what was asked.";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The expression.
    #[arg(value_name = "EXPR", required_unless_present = "lines", conflicts_with = "lines")]
    expression: Option<String>,
    /// Read expressions with their values from standard input.
    #[arg(long)]
    lines: bool,
    /// The object, as YAML or JSON; so are the other files.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    object: Option<PathBuf>,
    /// The object as it was before.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    old_object: Option<PathBuf>,
    /// The params.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    params: Option<PathBuf>,
    /// The AdmissionRequest, without its objects.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    request: Option<PathBuf>,
    /// The Namespace of the object.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    namespace_object: Option<PathBuf>,
    /// The Team.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    team: Option<PathBuf>,
    /// The ButlerConfig.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    config: Option<PathBuf>,
    /// The ProviderConfig.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    provider: Option<PathBuf>,
    /// The TenantCluster of an addon.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    cluster: Option<PathBuf>,
    /// What the team has: `clusters`, `nodes`, `cpu`, `memory`, `storage`.
    #[arg(long, value_name = "FILE", conflicts_with = "lines")]
    usage: Option<PathBuf>,
    /// Let the expression make objects and JSON patches, as those of mutations do.
    #[arg(long, conflicts_with = "lines")]
    mutating: bool,
}

/// Evaluates; says whether there is a value.
pub(crate) fn run(arguments: &Arguments) -> Result<bool, Failure> {
    let Some(expression) = &arguments.expression else {
        lines(io::stdin().lock())?;
        return Ok(true);
    };
    let mut inputs = Inputs::default();
    for (name, path) in arguments.files() {
        let file = files::read_one(path)?;
        match value_in(&file) {
            Ok(json) => drop(inputs.set(name, json)),
            Err(problems) => {
                files::show(&problems, &[file])?;
                return Ok(false);
            }
        }
    }
    if arguments.mutating {
        inputs.mutating();
    }
    let Tried { result, cost } = inputs.evaluate(expression);
    let is_good = result.is_ok();
    match result {
        Ok(Answer { of, value }) => {
            print::line(value)?;
            print::line(format_args!("type {of}, cost {}", cost.unwrap_or(0)))?;
        }
        Err(Mistake::Refused(diagnostics)) => refused(expression, &diagnostics)?,
        Err(Mistake::Input(error)) => return Err(Failure::new(error)),
        Err(Mistake::Failed(error)) => {
            let cost = cost.unwrap_or(0);
            print::line(format_args!("error: {error}"))?;
            print::line(format_args!("cost {cost} of {EXPRESSION_LIMIT}"))?;
        }
    }
    Ok(is_good)
}

impl Arguments {
    fn files(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let all = [
            ("object", &self.object),
            ("oldObject", &self.old_object),
            ("params", &self.params),
            ("request", &self.request),
            ("namespaceObject", &self.namespace_object),
            ("team", &self.team),
            ("config", &self.config),
            ("provider", &self.provider),
            ("cluster", &self.cluster),
            ("usage", &self.usage),
        ];
        all.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?)))
    }
}

/// Shows each mistake with a caret under it.
fn refused(expression: &str, diagnostics: &[Diagnostic]) -> Result<(), Failure> {
    let file = SourceFile { path: "EXPR".to_owned(), text: expression.to_owned() };
    let problem = |diagnostic: &Diagnostic| Problem {
        severity: Severity::Error,
        code: "cel",
        file: file.path.clone(),
        span: Some(diagnostic.at_fault(expression)),
        message: diagnostic.message.clone(),
        help: None,
    };
    let problems: Vec<Problem> = diagnostics.iter().map(problem).collect();
    files::show(&problems, &[file])
}

/// Answers line by line, so that whoever asks may wait for each answer.
fn lines(mut input: impl BufRead) -> Result<(), Failure> {
    loop {
        let mut line = Vec::new();
        (&mut input).take(LARGEST_FILE as u64 + 1).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        if line.len() > LARGEST_FILE && !line.ends_with(b"\n") {
            input.skip_until(b'\n')?;
            print::line(failed(
                "null",
                "read",
                &format!("the line is longer than {LARGEST_FILE} bytes"),
                None,
            ))?;
        } else if !line.trim_ascii().is_empty() {
            print::line(answer(&line))?;
        }
    }
}

fn answer(line: &[u8]) -> String {
    let fields: BTreeMap<String, &RawValue> = match serde_json::from_slice(line) {
        Ok(fields) => fields,
        Err(error) => return failed("null", "read", &error.to_string(), None),
    };
    let id = fields.get("id").map_or("null", |id| id.get());
    let mut inputs = Inputs::default();
    let mut expression = String::new();
    for (name, value) in &fields {
        let read = match name.as_str() {
            "id" => Ok(()),
            "expr" => serde_json::from_str(value.get()).map(|text| expression = text),
            "mutating" => serde_json::from_str(value.get()).map(|is| {
                if is {
                    inputs.mutating();
                }
            }),
            name if inputs.set(name, value.get().to_owned()) => Ok(()),
            _ => return failed(id, "read", &format!("{name}: there is no such field"), None),
        };
        if let Err(error) = read {
            return failed(id, "read", &format!("{name}: {error}"), None);
        }
    }
    let Tried { result, cost } = inputs.evaluate(&expression);
    match result {
        Ok(Answer { of, value }) => {
            let (of, cost) = (quoted(&of), cost.unwrap_or(0));
            format!(r#"{{"id":{id},"value":{value},"type":{of},"cost":{cost}}}"#)
        }
        Err(Mistake::Refused(diagnostics)) => {
            let messages: Vec<String> = diagnostics
                .iter()
                .map(|diagnostic| {
                    let (line, column) = diagnostic.position(&expression);
                    format!("{line}:{column}: {}", diagnostic.message)
                })
                .collect();
            failed(id, "check", &messages.join("; "), cost)
        }
        Err(Mistake::Input(error)) => failed(id, "read", &error, cost),
        Err(Mistake::Failed(error)) => failed(id, "evaluate", &error, cost),
    }
}

fn failed(id: &str, stage: &str, error: &str, cost: Option<u64>) -> String {
    let cost = cost.map(|cost| format!(r#","cost":{cost}"#)).unwrap_or_default();
    format!(r#"{{"id":{id},"stage":{},"error":{}{cost}}}"#, quoted(stage), quoted(error))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
