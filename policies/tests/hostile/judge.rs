//! What is done with a case, step by step, and what it comes to.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use butler_policies::cel::{Declarations, EXPRESSION_LIMIT, Program, Tree, Value};
use butler_policies::policy::{
    Nothing, PolicySet, Problem, Request, Severity, SourceFile, complete, mutate, validate,
};
use serde_json::{Value as Json, json};

use crate::case::{Case, Kind, expanded, file};

/// Answers are compared in whole; what is longer tells nobody more.
const LONGEST: usize = 160;

/// What hostile expressions and policies are about, and what judges hostile objects.
pub(crate) struct Judge {
    /// Large texts, lists and maps, as much as a request can hold.
    large: Tree<'static>,
    ordinary_request: String,
    ordinary_policies: PolicySet,
}

impl Judge {
    pub(crate) fn new() -> Self {
        let large = Tree::parse(&expanded(&file("input.json"))).unwrap().into_owned();
        let policies = [source(file("ordinary-policies.yaml"))];
        let ordinary_policies =
            PolicySet::load(&policies).unwrap_or_else(|problems| panic!("{problems:?}")).set;
        Self { large, ordinary_request: request(&file("ordinary-object.json")), ordinary_policies }
    }

    /// Says each step, how long it took and what it came to.
    pub(crate) fn answer(&self, case: &Case, mut say: impl FnMut(&str, Duration, String)) {
        let text = expanded(&case.text);
        match case.kind {
            Kind::Expression => self.expression(text.trim_end(), &mut say),
            Kind::File => self.files(vec![source(text)], &mut say),
            Kind::Policy => self.files(vec![source(policy(&text))], &mut say),
            Kind::Object => judge(&self.ordinary_policies, &request(text.trim()), &mut say),
        }
    }

    fn expression(&self, text: &str, say: &mut impl FnMut(&str, Duration, String)) {
        // Those of mutations have all that the others have, and more.
        let declarations = Declarations::admission().mutation();
        let (compiled, time) = timed(|| Program::compile(text, &declarations));
        let program = match compiled {
            Ok(program) => program,
            Err(diagnostics) => {
                let first = diagnostics.first().map(|diagnostic| diagnostic.message.clone());
                return say("compile", time, short(&format!("refused: {}", first.unwrap())));
            }
        };
        say("compile", time, "ok".to_owned());
        let (estimated, time) = timed(|| Program::estimate(text, &declarations).is_ok());
        assert!(estimated);
        say("estimate", time, "ok".to_owned());
        let large = Value::of(&self.large);
        let variables = vec![large; declarations.names().count()];
        let (outcome, time) = timed(|| {
            let outcome = program.evaluate(&variables, EXPRESSION_LIMIT).value;
            // What is dropped takes time, too.
            outcome.map(|value| shown(&value))
        });
        say("evaluate", time, outcome.unwrap_or_else(|error| short(&format!("error: {error}"))));
    }

    fn files(&self, files: Vec<SourceFile>, say: &mut impl FnMut(&str, Duration, String)) {
        let (checked, time) = timed(|| PolicySet::check(&files).map(|loaded| loaded.problems));
        let problems = checked.unwrap_or_else(|problems| problems);
        say("check", time, told(&problems, &files, |_| true));
        let (loaded, time) = timed(|| PolicySet::load(&files));
        match loaded {
            Ok(loaded) => {
                say("load", time, "ok".to_owned());
                judge(&loaded.set, &self.ordinary_request, say);
            }
            Err(problems) => {
                say("load", time, told(&problems, &files, |problem| problem.severity == Severity::Error));
            }
        }
    }
}

/// What policies say of a request, and make of it.
fn judge(set: &PolicySet, request: &str, say: &mut impl FnMut(&str, Duration, String)) {
    let (read, time) = timed(|| Request::read(request));
    let read = match read {
        Ok(read) => read,
        Err(error) => return say("read", time, short(&format!("refused: {error}"))),
    };
    let (judged, time) = timed(|| validate(set, &read, &Nothing));
    let denied = |denial: &butler_policies::policy::Denial| format!("denied: {}", denial.detail);
    let count = judged.denials.len();
    let more = if count > 1 { format!("{count} times ") } else { String::new() };
    let outcome = judged.denials.first().map_or_else(|| "allowed".to_owned(), denied);
    say("validate", time, short(&format!("{more}{outcome}")));
    let (mutated, time) = timed(|| mutate(set, &read, &Nothing));
    let outcome = match (&mutated.refusals.first(), &mutated.object) {
        (Some(refusal), _) => format!("refused: {}", refusal.message()),
        (None, Some(object)) => format!("changed, {} bytes", object.to_string().len()),
        (None, None) => "unchanged".to_owned(),
    };
    say("mutate", time, short(&outcome));
}

/// The result, and how long this thread computed: what others do at the time is no fault of the input.
fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let (started, before) = (Instant::now(), computed());
    let result = black_box(run());
    let time = match (before, computed()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => started.elapsed(),
    };
    (result, time)
}

/// The time that this thread has had a processor for, where the system tells.
fn computed() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The value, or of a long one its type.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::List(list) if list.len() > 10 => return format!("list of {}", list.len()),
        Value::Map(map) if map.len() > 10 => return format!("map of {}", map.len()),
        Value::String(text) if text.len() > LONGEST => return format!("string of {} bytes", text.len()),
        _ => {}
    }
    value.encode().map_or_else(
        || "a value that has no text".to_owned(),
        |(kind, value)| short(&format!("{kind} {value}")),
    )
}

/// The first problem with its place, and how many there are.
fn told(problems: &[Problem], files: &[SourceFile], which: impl Fn(&Problem) -> bool) -> String {
    let all: Vec<&Problem> = problems.iter().filter(|problem| which(problem)).collect();
    let Some(first) = all.first() else { return "ok".to_owned() };
    // Showing it must be bounded as well.
    let rendered = first.render(files).len();
    assert!(rendered < 20_000, "{rendered} bytes");
    let (line, column) = first.place(files).unwrap_or_default();
    let more = if all.len() > 1 { format!("{} times ", all.len()) } else { String::new() };
    short(&format!(
        "{more}{} {}, line {line}, column {column}: {}",
        first.severity.as_str(),
        first.code,
        first.message
    ))
}

fn source(text: String) -> SourceFile {
    SourceFile { path: "policy.yaml".to_owned(), text }
}

/// A policy with this spec, and its binding.
fn policy(spec: &str) -> String {
    let kind =
        if spec.contains("mutations:") { "MutatingAdmissionPolicy" } else { "ValidatingAdmissionPolicy" };
    let actions = if spec.contains("mutations:") { "" } else { "  validationActions: [Deny]\n" };
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: hostile\nspec:\n  \
         matchConstraints:\n    resourceRules:\n    - apiGroups: [butler.butlerlabs.dev]\n      \
         apiVersions: [v1alpha1]\n      operations: [CREATE, UPDATE]\n      resources: [tenantclusters]\n{spec}\
         ---\napiVersion: admissionregistration.k8s.io/v1\nkind: {kind}Binding\nmetadata:\n  name: hostile\nspec:\n  \
         policyName: hostile\n{actions}"
    )
}

/// A request to make this object.
fn request(object: &str) -> String {
    let mut request: Json = json!({
        "uid": "2f8a4c1e-9b7d-4e53-8a10-6d5c4b3a2f1e",
        "kind": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "kind": "TenantCluster"},
        "resource": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": "tenantclusters"},
        "name": "web", "namespace": "team-a", "operation": "CREATE",
        "userInfo": {"username": "ana@example.org"},
        "object": "THE OBJECT",
    });
    complete(&mut request);
    request.to_string().replacen(r#""THE OBJECT""#, object, 1)
}
