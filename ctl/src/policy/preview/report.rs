//! What policies would say of a cluster, summed up.

use butler_policies::policy::{Kind, Outcome, Policy, PolicySet};
use serde::Serialize;
use serde_json::json;

use super::judge::Finding;
use crate::{failure::Failure, print};

#[derive(Debug)]
pub(super) struct Report {
    objects: usize,
    policies: Vec<Row>,
    /// Only those of which something is said.
    findings: Vec<Finding>,
}

/// How many objects came to what by a policy.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(skip)]
    kind: Kind,
    #[serde(rename = "kind")]
    does: &'static str,
    name: String,
    asked: usize,
    denied: usize,
    warned: usize,
    audited: usize,
    changed: usize,
    errors: usize,
}

impl Report {
    pub(super) fn of(set: &PolicySet) -> Self {
        let row = |policy: &Policy| Row {
            kind: policy.kind,
            does: match policy.kind {
                Kind::Validating => "validating",
                Kind::Mutating => "mutating",
            },
            name: policy.name.clone(),
            asked: 0,
            denied: 0,
            warned: 0,
            audited: 0,
            changed: 0,
            errors: 0,
        };
        Self { objects: 0, policies: set.policies().iter().map(row).collect(), findings: Vec::new() }
    }

    pub(super) fn add(&mut self, finding: Finding) {
        self.objects += 1;
        for row in &mut self.policies {
            match finding.outcomes.get(&(row.kind, row.name.clone())) {
                None | Some(Outcome::Skipped) => continue,
                Some(Outcome::Allowed) => {}
                Some(Outcome::Changed) => row.changed += 1,
                Some(Outcome::Audited) => row.audited += 1,
                Some(Outcome::Warned) => row.warned += 1,
                Some(Outcome::Denied) => row.denied += 1,
                Some(Outcome::Ignored | Outcome::Error) => row.errors += 1,
            }
            row.asked += 1;
        }
        let Finding { denied, warnings, audited, changed_by, .. } = &finding;
        if [denied, warnings, audited, changed_by].into_iter().any(|said| !said.is_empty()) {
            self.findings.push(finding);
        }
    }

    /// How many objects would be denied.
    pub(super) fn denied(&self) -> usize {
        self.findings.iter().filter(|finding| !finding.denied.is_empty()).count()
    }

    pub(super) fn text(&self) -> Result<(), Failure> {
        for finding in &self.findings {
            let Finding { kind, namespace, name, denied, warnings, audited, changed_by, .. } = finding;
            let place = if namespace.is_empty() { name.clone() } else { format!("{namespace}/{name}") };
            print::line(format_args!("{kind} {place}"))?;
            for (what, messages) in [("denied", denied), ("warned", warnings), ("audited", audited)] {
                messages.iter().try_for_each(|message| print::line(format_args!("  {what}: {message}")))?;
            }
            if !changed_by.is_empty() {
                print::line(format_args!("  changed by: {}", changed_by.join(", ")))?;
            }
        }
        if !self.findings.is_empty() {
            print::line("")?;
        }
        let widest = self.policies.iter().map(|row| row.name.len()).max().unwrap_or(0).max("policy".len());
        print::line(format_args!("{:widest$}  asked  denied  warned  audited  changed  errors", "policy"))?;
        for Row { name, asked, denied, warned, audited, changed, errors, .. } in &self.policies {
            print::line(format_args!(
                "{name:widest$}  {asked:5}  {denied:6}  {warned:6}  {audited:7}  {changed:7}  {errors:6}"
            ))?;
        }
        let objects =
            if self.objects == 1 { "1 object".to_owned() } else { format!("{} objects", self.objects) };
        print::line(format_args!("{objects}, {} would be denied", self.denied()))
    }

    pub(super) fn json(&self) -> Result<(), Failure> {
        let finding = |finding: &Finding| {
            let Finding { kind, namespace, name, denied, warnings, audited, changed_by, .. } = finding;
            json!({
                "kind": kind,
                "namespace": namespace,
                "name": name,
                "denied": denied,
                "warnings": warnings,
                "audited": audited,
                "changedBy": changed_by,
            })
        };
        let report = json!({
            "objects": self.objects,
            "denied": self.denied(),
            "policies": self.policies,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
        });
        print::line(serde_json::to_string_pretty(&report)?)
    }
}
