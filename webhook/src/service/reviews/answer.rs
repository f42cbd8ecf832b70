//! From what both stages would say to the status of a review.

use butler_policies::finding::Severity;
use butler_policies::policy::{Denial, Evaluation, Kind, Refusal};
use serde_json::Value;

use super::object::{Finding, Outcome, ReviewStatus};
use crate::admission::Rehearsed;
use crate::policy_files::InForce;
use crate::service::table::at;

/// The whole answer.
pub(super) fn status(rehearsed: &Rehearsed) -> ReviewStatus {
    let Rehearsed { allowed, response, object, patch, refusals, mutating, verdict, policies } = rehearsed;
    let text = |place: &str| at(response, place).as_str().unwrap_or_default().to_owned();
    let warnings = at(response, "/warnings").as_array().into_iter().flatten();
    let mut findings: Vec<Finding> = refusals.iter().map(|refusal| of_refusal(refusal, policies)).collect();
    let mut outcomes: Vec<Outcome> = mutating.iter().map(|it| outcome(Kind::Mutating, it)).collect();
    if let Some(verdict) = verdict {
        findings.extend(verdict.findings.iter().map(of_rule));
        let judged = &verdict.policies;
        findings.extend(judged.denials.iter().map(|denial| of_policy(Kind::Validating, denial, policies)));
        findings.extend(judged.warnings.iter().map(|warning| Finding {
            action: "Warn".to_owned(),
            message: warning.message(),
            ..source(Kind::Validating, &warning.policy, policies)
        }));
        outcomes.extend(judged.evaluations.iter().map(|it| outcome(Kind::Validating, it)));
    }
    ReviewStatus {
        allowed: *allowed,
        code: at(response, "/status/code").as_i64().unwrap_or_default(),
        reason: text("/status/reason"),
        message: text("/status/message"),
        findings,
        warnings: warnings.filter_map(Value::as_str).map(str::to_owned).collect(),
        patch: patch.clone(),
        object: object.clone(),
        cost: outcomes.iter().fold(0, |sum: i64, it| sum.saturating_add(it.cost)),
        policies: outcomes,
    }
}

fn of_rule(finding: &butler_policies::Finding) -> Finding {
    Finding {
        action: match finding.severity {
            Severity::Deny => "Deny".to_owned(),
            Severity::Warn => "Warn".to_owned(),
        },
        field: finding.path.clone().into_owned(),
        reason: finding.reason.to_owned(),
        message: finding.message.clone(),
        policy: format!("rule.{}", finding.rule),
        ..Finding::default()
    }
}

fn of_refusal(refusal: &Refusal, policies: &InForce) -> Finding {
    match refusal {
        Refusal::Policy(denial) => {
            Finding { message: refusal.message(), ..of_policy(Kind::Mutating, denial, policies) }
        }
        Refusal::Request { message, reason } => Finding {
            action: "Deny".to_owned(),
            reason: reason.as_str().to_owned(),
            message: message.clone(),
            ..Finding::default()
        },
    }
}

fn of_policy(kind: Kind, denial: &Denial, policies: &InForce) -> Finding {
    Finding {
        action: "Deny".to_owned(),
        reason: denial.reason.as_str().to_owned(),
        message: denial.message(),
        ..source(kind, &denial.policy, policies)
    }
}

/// Where a policy is written.
fn source(kind: Kind, name: &str, policies: &InForce) -> Finding {
    let found = policies.set.policies().iter().find(|policy| policy.kind == kind && policy.name == name);
    Finding {
        policy: named(kind, name),
        file: found.map(|policy| policy.file.clone()).unwrap_or_default(),
        line: found.and_then(|policy| i64::try_from(policy.line).ok()).unwrap_or_default(),
        ..Finding::default()
    }
}

fn outcome(kind: Kind, evaluation: &Evaluation) -> Outcome {
    Outcome {
        policy: named(kind, &evaluation.policy),
        binding: evaluation.binding.as_deref().unwrap_or_default().to_owned(),
        result: evaluation.result.as_str().to_owned(),
        cost: i64::try_from(evaluation.cost).unwrap_or(i64::MAX),
    }
}

/// Its name among `policies`.
fn named(kind: Kind, name: &str) -> String {
    crate::service::policies::name_of(kind, name)
}
