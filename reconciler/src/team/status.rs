//! What a team says of itself. Pure.

use butler_api::condition::reason::{self, Class};
use butler_api::condition::{self, ConditionStatus, READY, Statement, team as about};
use butler_api::quota::Limits;
use butler_api::quota::ledger::Ledger;
use butler_api::quota::report::Report;
use butler_api::reference::SYSTEM_NAMESPACE;
use butler_api::team::{QuotaStatus, TeamPhase};
use butler_api::{Team, TeamStatus};
use jiff::Timestamp;
use kube::ResourceExt;

use super::Teams;
use super::observe::Observed;
use super::plan::Plan;
use super::rights::members;
use crate::frame::Outcome;
use crate::words::{listed, listed_as_is};

pub(super) fn status(team: &Team, outcome: &Outcome<Teams>, now: Timestamp) -> TeamStatus {
    let generation = team.metadata.generation.unwrap_or_default();
    let mut status = team.status.clone().unwrap_or_default();
    let is_leaving = team.metadata.deletion_timestamp.is_some();
    let mut statements = vec![namespace(team, outcome, now), access(team, outcome, now)];
    if let Some(observed) = &outcome.observed {
        statements.push(quota(team, observed, &mut status));
        status.cluster_count = count(observed.clusters.len());
    }
    for statement in statements {
        condition::set(&mut status.conditions, statement, generation, now);
    }
    let ready = match (outcome.kept(), &outcome.plan) {
        (Some(kept), _) => Statement::fails(READY, reason::DELETING, kept),
        (None, Some(Plan::Stay { clusters, .. })) if !clusters.is_empty() => Statement::fails(
            READY,
            reason::DELETION_BLOCKED,
            format!(
                "the team is being deleted and still has clusters ({}); delete them first",
                listed(clusters)
            ),
        ),
        _ => condition::summarise(&status.conditions, READY, &[about::NAMESPACE_READY, about::RBAC_READY]),
    };
    condition::set(&mut status.conditions, ready, generation, now);
    status.observed_generation = Some(generation);
    status.member_count = count(members(&team.spec.access).len());
    let has_namespace = condition::is_true(&status.conditions, about::NAMESPACE_READY);
    status.namespace = has_namespace.then(|| team.name_any());
    status.phase = Some(phase(&status, is_leaving));
    status
}

/// What a team says of itself that cannot be read.
pub(super) fn unreadable(
    mut old: TeamStatus,
    ready: Statement,
    generation: i64,
    now: Timestamp,
) -> TeamStatus {
    condition::set(&mut old.conditions, ready, generation, now);
    old.phase = Some(TeamPhase::Failed);
    old
}

/// What the ledger says. Where there is none, or none that can be read, nothing is known, and that is said.
fn quota(team: &Team, observed: &Observed, status: &mut TeamStatus) -> Statement {
    let name = team.name_any();
    let config = observed.config.as_ref().map(|config| &config.spec);
    let limits = Limits { name: &name, team: &team.spec, config };
    let unknown =
        |reason, message: String| (None, Statement::is_unknown(about::QUOTA_EXCEEDED, reason, message));
    let (report, statement) = match observed.ledger.as_ref().map(|ledger| Ledger::read(ledger)) {
        None if observed.clusters.is_empty() => {
            (None, Statement::fails(about::QUOTA_EXCEEDED, reason::WITHIN_QUOTA, "the team uses nothing yet"))
        }
        None => unknown(
            reason::WAITING_FOR_DEPENDENCIES,
            format!(
                "there is no QuotaLedger `{SYSTEM_NAMESPACE}/{name}` yet that says what the team uses; butler-webhook makes \
                 it with the next cluster that grows"
            ),
        ),
        Some(Err(error)) => unknown(
            reason::INVALID_CONFIGURATION,
            format!(
                "the QuotaLedger `{SYSTEM_NAMESPACE}/{name}` cannot be read: {error}; delete it, and butler-webhook counts \
                 anew"
            ),
        ),
        Some(Ok(ledger)) => match Report::of(&ledger, &limits) {
            Err(error) => unknown(reason::INVALID_CONFIGURATION, error.to_string()),
            Ok(report) if report.status == QuotaStatus::Exceeded => {
                let message = format!("{}; nothing of it can grow", report.message);
                (Some(report), Statement::holds(about::QUOTA_EXCEEDED, reason::QUOTA_EXCEEDED, message))
            }
            Ok(report) => {
                let message = "the team uses no more than it may";
                (Some(report), Statement::fails(about::QUOTA_EXCEEDED, reason::WITHIN_QUOTA, message))
            }
        },
    };
    let is_unknown = statement.status() == ConditionStatus::Unknown;
    status.quota_message = is_unknown.then(|| statement.message().to_owned());
    (status.resource_usage, status.quota_status) = (None, None);
    if let Some(report) = report {
        status.resource_usage = Some(report.resource_usage());
        (status.quota_status, status.quota_message) = (Some(report.status), Some(report.message));
    }
    statement
}

fn namespace(team: &Team, outcome: &Outcome<Teams>, now: Timestamp) -> Statement {
    let (condition, name) = (about::NAMESPACE_READY, team.name_any());
    let failed = |trouble| Statement::fails(condition, reason::NAMESPACE_RECONCILE_FAILED, trouble);
    match (&outcome.plan, &outcome.applied.namespace) {
        (Some(Plan::Stay { namespace: Err(problem), .. }), _) => {
            Statement::fails(condition, problem.reason, problem.message.clone())
        }
        (_, Some(Err(error))) => failed(error.told()),
        (Some(Plan::Stay { .. }), Some(Ok(()))) => holds(team, outcome, condition, is_namespace, now),
        (Some(Plan::Clear { going_since: Some(since), .. }), _) => Statement::fails(
            condition,
            reason::DELETING,
            format!(
                "the namespace `{name}` is being deleted since {since} (`kubectl get namespace {name} -o yaml` says what \
                 keeps it)"
            ),
        ),
        (Some(Plan::Clear { .. }), Some(Ok(()))) => {
            Statement::fails(condition, reason::DELETING, format!("the namespace `{name}` is being deleted"))
        }
        (Some(plan), None) if plan.is_gone() && outcome.error.is_none() => {
            Statement::fails(condition, reason::DELETING, format!("the namespace `{name}` is gone"))
        }
        _ => match outcome.trouble() {
            Some(trouble) => failed(trouble),
            None => Statement::is_unknown(condition, reason::PENDING, "nothing has been done yet"),
        },
    }
}

fn holds(
    team: &Team,
    outcome: &Outcome<Teams>,
    condition: &'static str,
    is_meant: impl Fn(&str) -> bool,
    now: Timestamp,
) -> Statement {
    let before = team.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    outcome.holds(condition, is_meant, before, team.metadata.generation.unwrap_or_default(), now)
}

fn is_namespace(kind: &str) -> bool {
    kind == "Namespace"
}

fn access(team: &Team, outcome: &Outcome<Teams>, now: Timestamp) -> Statement {
    let condition = about::RBAC_READY;
    let failed = |trouble| Statement::fails(condition, reason::RBAC_RECONCILE_FAILED, trouble);
    match (&outcome.plan, &outcome.applied.access) {
        (_, Some(Err(error))) => failed(error.told()),
        (Some(Plan::Stay { access, .. }), _) if !access.in_the_way.is_empty() => failed(format!(
            "{} {} in the way and not Butler's, so nothing is done about it; remove or rename it",
            listed_as_is(&access.in_the_way),
            if access.in_the_way.len() == 1 { "is" } else { "are" }
        )),
        (Some(Plan::Stay { .. }), Some(Ok(()))) if !matches!(outcome.applied.namespace, Some(Ok(()))) => {
            Statement::fails(
                condition,
                reason::WAITING_FOR_DEPENDENCIES,
                "members get their access once the team has its namespace",
            )
        }
        (Some(Plan::Stay { .. }), Some(Ok(()))) => {
            holds(team, outcome, condition, |kind| !is_namespace(kind), now)
        }
        (Some(plan), _) if plan.is_gone() && outcome.error.is_none() => {
            Statement::fails(condition, reason::DELETING, "nobody has access to it any more")
        }
        (_, None) => match outcome.trouble() {
            Some(trouble) => failed(trouble),
            None => Statement::is_unknown(condition, reason::PENDING, "nothing has been done yet"),
        },
        (_, Some(Ok(()))) => match outcome.trouble() {
            Some(trouble) => failed(trouble),
            None => Statement::fails(
                condition,
                reason::DELETING,
                "the team is being deleted, and access to it ends",
            ),
        },
    }
}

fn phase(status: &TeamStatus, is_leaving: bool) -> TeamPhase {
    let fails = |name: &str| {
        condition::get(&status.conditions, name).is_some_and(|it| {
            ConditionStatus::from_wire(&it.status) == ConditionStatus::False
                && reason::class(&it.reason) == Class::Failure
        })
    };
    if is_leaving {
        TeamPhase::Terminating
    } else if condition::is_true(&status.conditions, READY) {
        TeamPhase::Ready
    } else if fails(about::NAMESPACE_READY) || fails(about::RBAC_READY) {
        TeamPhase::Failed
    } else {
        TeamPhase::Pending
    }
}

fn count(number: usize) -> Option<i32> {
    Some(i32::try_from(number).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests;
