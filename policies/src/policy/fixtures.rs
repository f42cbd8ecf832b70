//! Files for tests: tweaks of one policy with its binding.

use super::{Loaded, PolicySet, Problem, SourceFile};

/// A policy with a binding, both as small as can be.
pub(crate) const FILE: &str = r#"apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: few-workers
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [butler.butlerlabs.dev]
      apiVersions: [v1alpha1]
      operations: [CREATE, UPDATE]
      resources: [tenantclusters]
  validations:
  - expression: object.spec.workers.replicas <= 5
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: everywhere
spec:
  policyName: few-workers
  validationActions: [Deny]
"#;

/// A policy that changes objects, with a binding.
pub(crate) const MUTATING: &str = r#"apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: label
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [butler.butlerlabs.dev]
      apiVersions: [v1alpha1]
      operations: [CREATE]
      resources: [tenantclusters]
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "add", path: "/metadata/labels/a", value: "b"}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: label
spec:
  policyName: label
"#;

/// The same file with one thing replaced, which has to be in it.
pub(crate) fn tweaked(file: &str, from: &str, to: &str) -> String {
    assert!(file.contains(from), "{from}");
    file.replacen(from, to, 1)
}

pub(crate) fn files(text: &str) -> Vec<SourceFile> {
    vec![SourceFile { path: "policy.yaml".to_owned(), text: text.to_owned() }]
}

/// What is loaded of a file that has to be right.
pub(crate) fn loaded(text: &str) -> Loaded {
    let files = files(text);
    PolicySet::load(&files).unwrap_or_else(|problems| panic!("{}", told(&problems, &files).join("\n")))
}

/// Each problem on a line: place, severity, code, message and help.
pub(crate) fn told(problems: &[Problem], files: &[SourceFile]) -> Vec<String> {
    let line = |problem: &Problem| {
        let (line, column) = problem.place(files).unwrap_or_default();
        let help = problem.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{line}:{column} {} {}: {}{help}", problem.severity.as_str(), problem.code, problem.message)
    };
    problems.iter().map(line).collect()
}
