//! The policies of files, each with what its text says of it.

use std::collections::BTreeSet;

use butler_policies::policy::{Action, Kind, Policy as Loaded};
use butler_policies::review;
use serde_json::Value;

use super::object::{Binding, Policy, PolicySpec, PolicyStatus, Problem, Source};
use crate::policy_files::InForce;
use crate::service::table::at;

/// What an object says of itself, by a convention of Kubernetes.
const DESCRIPTION: &str = "kubernetes.io/description";
/// A summary is one line.
const LONGEST_SUMMARY: usize = 240;

/// One object for each policy that is loaded.
pub(super) fn all(in_force: &InForce) -> Vec<Policy> {
    in_force.set.policies().iter().map(|policy| object(policy, in_force)).collect()
}

fn object(policy: &Loaded, in_force: &InForce) -> Policy {
    let kind = match policy.kind {
        Kind::Validating => "ValidatingAdmissionPolicy",
        Kind::Mutating => "MutatingAdmissionPolicy",
    };
    let written = document(&policy.text, kind, &policy.name);
    let rules = at(&written, "/spec/matchConstraints/resourceRules").as_array();
    let rules: &[Value] = rules.map(Vec::as_slice).unwrap_or_default();
    let spec = PolicySpec {
        kind,
        summary: summary(policy, &written),
        kinds: words(rules, "resources").iter().map(|resource| kind_of(resource)).collect(),
        operations: words(rules, "operations"),
        actions: actions(policy),
        source: Source {
            file: policy.file.clone(),
            line: number(policy.line),
            hash: in_force.set.hash().to_owned(),
            ..Source::default()
        },
        portable: policy.ours_only.is_none(),
        ours_only: policy.ours_only.as_ref().map_or_else(String::new, |ours| {
            let (line, column) = ours.place;
            format!(
                "it looks at `{}`, which Kubernetes does not have, at {line}:{column}",
                ours.extra.as_str()
            )
        }),
        bindings: policy
            .bindings
            .iter()
            .map(|bound| Binding {
                name: bound.name.clone(),
                actions: bound.actions.iter().map(|action| action.as_str().to_owned()).collect(),
                file: bound.file.clone(),
                line: number(bound.line),
            })
            .collect(),
        text: policy.text.clone(),
    };
    let problems = in_force.problems.iter().filter(|(problem, _)| problem.file == policy.file);
    let problems = problems.map(|(problem, (line, column))| Problem {
        severity: problem.severity.as_str().to_owned(),
        code: problem.code.to_owned(),
        line: number(*line),
        column: number(*column),
        message: problem.message.clone(),
        help: problem.help.clone().unwrap_or_default(),
    });
    Policy::new(name_of(policy.kind, &policy.name), spec, PolicyStatus { problems: problems.collect() })
}

fn number(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

/// What a policy of that name is called here: two of different types may have the same.
pub(in crate::service) fn name_of(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Validating => format!("validating.{name}"),
        Kind::Mutating => format!("mutating.{name}"),
    }
}

/// The policy in its text, which may hold others beside it if it is a list.
fn document(text: &str, kind: &str, name: &str) -> Value {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap_or_default();
    let items = documents.iter().flat_map(|document| at(document, "/items").as_array().into_iter().flatten());
    let is_it = |object: &&Value| at(object, "/kind") == kind && at(object, "/metadata/name") == name;
    documents.iter().chain(items).find(is_it).cloned().unwrap_or_default()
}

/// What all rules name in a field, each once.
fn words(rules: &[Value], field: &str) -> Vec<String> {
    let lists = rules.iter().filter_map(|rule| rule.get(field).and_then(Value::as_array));
    let mut seen = BTreeSet::new();
    let words = lists.flatten().filter_map(Value::as_str).filter(|word| seen.insert(*word));
    words.map(str::to_owned).collect()
}

/// The kind of a resource that is judged here; anything else by its own name.
fn kind_of(resource: &str) -> String {
    let known = review::Kind::ALL.into_iter().find(|kind| kind.resource() == resource);
    known.map_or_else(|| resource.to_owned(), |kind| kind.as_str().to_owned())
}

fn actions(policy: &Loaded) -> Vec<String> {
    if policy.bindings.is_empty() {
        return Vec::new();
    }
    if policy.kind == Kind::Mutating {
        return vec!["Mutate".to_owned()];
    }
    let all = [Action::Deny, Action::Warn, Action::Audit];
    let is_taken = |action: &Action| policy.bindings.iter().any(|bound| bound.actions.contains(action));
    all.into_iter().filter(is_taken).map(|action| action.as_str().to_owned()).collect()
}

fn summary(policy: &Loaded, written: &Value) -> String {
    let described =
        at(written, "/metadata/annotations").get(DESCRIPTION).and_then(Value::as_str).map(str::to_owned);
    let validations = at(written, "/spec/validations").as_array().into_iter().flatten();
    let messages: Vec<&str> =
        validations.filter_map(|validation| at(validation, "/message").as_str()).collect();
    let messages = (!messages.is_empty()).then(|| messages.join("; "));
    let expressions = || {
        let expressions: Vec<&str> = policy.expressions.iter().map(|stated| stated.text.as_str()).collect();
        expressions.join("; ")
    };
    let summary = described.or(messages).unwrap_or_else(expressions);
    let line = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_SUMMARY) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use butler_policies::policy::{PolicySet, SourceFile};

    use super::*;
    use crate::policy_files::Policies;

    /// Everything that we ship has a sentence, a kind and an operation.
    #[test]
    fn every_policy_of_the_library_says_what_it_is_about() {
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/library");
        let mut count = 0;
        for folder in fs::read_dir(library).unwrap() {
            let path = folder.unwrap().path().join("policy.yaml");
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let file = SourceFile { path: "policy.yaml".to_owned(), text };
            let params = path.with_file_name("params.yaml");
            let params = fs::read_to_string(params).ok();
            let params = params.map(|text| SourceFile { path: "params.yaml".to_owned(), text });
            let files: Vec<SourceFile> = std::iter::once(file).chain(params).collect();
            let policies = Policies::of(PolicySet::load(&files).unwrap().set);
            for policy in all(&policies.current().unwrap()) {
                let PolicySpec { summary, kinds, operations, actions, text, .. } = &policy.spec;
                let parts = [summary.is_empty(), kinds.is_empty(), operations.is_empty(), actions.is_empty()];
                assert_eq!(parts, [false; 4], "{}: {:?}", path.display(), policy.spec);
                assert!(text.starts_with("apiVersion: ") || text.starts_with('#'), "{text}");
                assert!(!text.contains("\n---"), "{text}");
                count += 1;
            }
        }
        assert!(count >= 28, "{count}");
    }

    #[test]
    fn a_description_is_the_summary_and_a_list_is_looked_into() {
        let text = r#"
apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicy
  metadata: {name: described, annotations: {kubernetes.io/description: Nobody does that.}}
  spec:
    matchConstraints:
      resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: [teams, pods]}]
    validations: [{expression: "team != null", message: never}]
"#;
        let file = SourceFile { path: "list.yaml".to_owned(), text: text.to_owned() };
        let loaded = PolicySet::load(&[file]).unwrap();
        let policies = Policies::of(loaded.set);
        let shown = all(&policies.current().unwrap()).remove(0);
        assert_eq!(shown.spec.summary, "Nobody does that.");
        assert_eq!(
            (shown.spec.kinds.join(","), shown.spec.operations.join(",")),
            ("Team,pods".into(), "*".into())
        );
        // Bound by nothing, it does nothing.
        assert_eq!(shown.spec.actions, [""; 0]);
        assert!(!shown.spec.portable && shown.spec.ours_only.contains("`team`"), "{}", shown.spec.ours_only);
    }
}
