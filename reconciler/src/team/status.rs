//! What a team says of itself. Pure.

use butler_api::condition::reason::{self, Class};
use butler_api::condition::{self, ConditionStatus, READY, Statement, team as about};
use butler_api::quota::Limits;
use butler_api::quota::ledger::Ledger;
use butler_api::quota::report::Report;
use butler_api::team::TeamPhase;
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
    for statement in [namespace(team, outcome), access(outcome)] {
        condition::set(&mut status.conditions, statement, generation, now);
    }
    let ready = match &outcome.plan {
        Some(Plan::Wait { clusters }) => Statement::fails(
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
    if let Some(observed) = &outcome.observed {
        status.cluster_count = count(observed.clusters.len());
        quota(team, observed, &mut status);
    }
    let has_namespace = condition::is_true(&status.conditions, about::NAMESPACE_READY);
    status.namespace = has_namespace.then(|| team.name_any());
    status.phase = Some(phase(&status, is_leaving));
    status
}

/// What the ledger says. Where there is none, or none that can be read, nothing is known, and nothing is said.
fn quota(team: &Team, observed: &Observed, status: &mut TeamStatus) {
    let name = team.name_any();
    let config = observed.config.as_ref().map(|config| &config.spec);
    let limits = Limits { name: &name, team: &team.spec, config };
    let ledger = observed.ledger.as_ref().and_then(|ledger| Ledger::read(ledger).ok());
    let report = ledger.map(|ledger| Report::of(&ledger, &limits));
    (status.resource_usage, status.quota_status, status.quota_message) = match report {
        None => (None, None, None),
        Some(Ok(report)) => (Some(report.resource_usage()), Some(report.status), Some(report.message)),
        Some(Err(error)) => (None, None, Some(error.to_string())),
    };
}

fn namespace(team: &Team, outcome: &Outcome<Teams>) -> Statement {
    let name = team.name_any();
    match (&outcome.plan, outcome.trouble()) {
        (Some(Plan::Stay { namespace: Err(problem), .. }), _) => {
            Statement::fails(about::NAMESPACE_READY, problem.reason, problem.message.clone())
        }
        (Some(Plan::Stay { namespace: Ok(_), .. }), _) if outcome.applied.namespace => {
            Statement::holds(about::NAMESPACE_READY, reason::READY, "")
        }
        (Some(Plan::Wait { .. }), _) => Statement::holds(about::NAMESPACE_READY, reason::READY, ""),
        (_, Some(trouble)) => {
            Statement::fails(about::NAMESPACE_READY, reason::NAMESPACE_RECONCILE_FAILED, trouble)
        }
        (Some(Plan::Clear { going_since: Some(since), .. }), None) => Statement::fails(
            about::NAMESPACE_READY,
            reason::DELETING,
            format!(
                "the namespace `{name}` is being deleted since {since} (`kubectl get namespace {name} -o yaml` says what \
                 keeps it)"
            ),
        ),
        (Some(Plan::Clear { .. }), None) => Statement::fails(
            about::NAMESPACE_READY,
            reason::DELETING,
            format!("the namespace `{name}` is being deleted"),
        ),
        (_, None) => {
            Statement::is_unknown(about::NAMESPACE_READY, reason::PENDING, "nothing has been done yet")
        }
    }
}

fn access(outcome: &Outcome<Teams>) -> Statement {
    let condition = about::RBAC_READY;
    match (&outcome.plan, outcome.trouble()) {
        (Some(Plan::Stay { namespace: Err(_), .. }), _) => Statement::fails(
            condition,
            reason::WAITING_FOR_DEPENDENCIES,
            "members get their access once the team has its namespace",
        ),
        (Some(Plan::Stay { access, .. }), _) if !access.in_the_way.is_empty() => Statement::fails(
            condition,
            reason::RBAC_RECONCILE_FAILED,
            format!(
                "{} {} in the way and not Butler's, so nothing is done about it; remove or rename it",
                listed_as_is(&access.in_the_way),
                if access.in_the_way.len() == 1 { "is" } else { "are" }
            ),
        ),
        (Some(Plan::Stay { .. }), _) if outcome.applied.access => {
            let message = match outcome.set_back.as_slice() {
                [] => String::new(),
                what => format!("set back {}", what.join("; ")),
            };
            Statement::holds(condition, reason::READY, message)
        }
        (Some(Plan::Wait { .. }), _) => Statement::holds(condition, reason::READY, ""),
        (_, Some(trouble)) => Statement::fails(condition, reason::RBAC_RECONCILE_FAILED, trouble),
        (Some(Plan::Clear { .. }), None) => {
            Statement::fails(condition, reason::DELETING, "the team is being deleted, and access to it ends")
        }
        (_, None) => Statement::is_unknown(condition, reason::PENDING, "nothing has been done yet"),
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
mod tests {
    use std::sync::Arc;

    use butler_api::QuotaLedger;
    use butler_api::team::QuotaStatus;
    use butler_program::Failure;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    use serde_json::{Value, json};

    use super::*;
    use crate::frame::child::Step;
    use crate::frame::{Error, Problem};
    use crate::team::apply::Applied;
    use crate::team::observe::Observed;
    use crate::team::plan::Access;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn team() -> Team {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team",
            "metadata": { "name": "payments", "uid": "u", "generation": 3 },
            "spec": { "access": { "users": [{ "name": "bo" }], "groups": [{ "name": "sre" }] } },
        }))
        .unwrap()
    }

    fn stays(access: Access) -> Outcome<Teams> {
        Outcome {
            observed: Some(Observed::default()),
            plan: Some(Plan::Stay { namespace: Ok(Step::Make(json!({}))), access }),
            applied: Applied { namespace: true, access: true },
            ..Outcome::default()
        }
    }

    fn shown(status: &TeamStatus) -> Vec<String> {
        let line = |it: &Condition| format!("{} {} {}: {}", it.type_, it.status, it.reason, it.message);
        status.conditions.iter().map(line).collect()
    }

    #[test]
    fn a_team_that_has_everything_is_ready_and_stays_so_without_another_word() {
        let first = status(&team(), &stays(Access::default()), NOW);
        assert_eq!(
            shown(&first),
            ["NamespaceReady True Ready: ", "RBACReady True Ready: ", "Ready True Ready: "]
        );
        assert_eq!((first.phase, first.namespace.as_deref()), (Some(TeamPhase::Ready), Some("payments")));
        assert_eq!(
            (first.member_count, first.cluster_count, first.observed_generation),
            (Some(2), Some(0), Some(3))
        );
        let later = Team { status: Some(first.clone()), ..team() };
        let now = "2030-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(status(&later, &stays(Access::default()), now), first, "time alone is no news");
    }

    #[test]
    fn what_the_team_uses_is_what_its_ledger_says_and_nothing_without_one() {
        let mut limited = team();
        limited.spec.resource_limits = serde_json::from_value(json!({ "maxClusters": 0 })).unwrap();
        let told = |team: &Team, ledger: Option<QuotaLedger>| {
            let observed = Observed { ledger: ledger.map(Arc::new), ..Observed::default() };
            let outcome = Outcome { observed: Some(observed), ..stays(Access::default()) };
            let TeamStatus { resource_usage, quota_status, quota_message, .. } = status(team, &outcome, NOW);
            (resource_usage.and_then(|usage| usage.clusters), quota_status, quota_message)
        };
        let ledger = |held: Value| -> QuotaLedger {
            serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "QuotaLedger",
                "metadata": { "name": "payments", "namespace": "butler-system", "generation": 1 },
                "spec": { "team": "payments", "writes": 1, "held": held },
            }))
            .unwrap()
        };
        let one = json!(["orders 0123456789ABCDEFGHIJKL 41 3 8 32Gi 200Gi - - -"]);
        assert_eq!(
            told(&limited, Some(ledger(one.clone()))),
            (Some(1), Some(QuotaStatus::Exceeded), Some("clusters: 1 of 0".to_owned()))
        );
        assert_eq!(told(&team(), Some(ledger(one))), (Some(1), Some(QuotaStatus::Ok), Some(String::new())));
        // What was said before is not said for ever.
        limited.status = Some(TeamStatus { quota_status: Some(QuotaStatus::Ok), ..TeamStatus::default() });
        assert_eq!(told(&limited, None), (None, None, None));
        assert_eq!(told(&limited, Some(ledger(json!(["nonsense"])))), (None, None, None));
    }

    #[test]
    fn what_a_person_has_to_do_is_said_and_the_team_failed() {
        let problem = Problem::new(reason::NAMESPACE_ERROR, "the namespace is somebody else's");
        let outcome = Outcome {
            plan: Some(Plan::Stay { namespace: Err(problem), access: Access::default() }),
            ..Outcome::default()
        };
        let status = status(&team(), &outcome, NOW);
        assert_eq!(
            shown(&status),
            [
                "NamespaceReady False NamespaceError: the namespace is somebody else's",
                "RBACReady False WaitingForDependencies: members get their access once the team has its namespace",
                "Ready False NamespaceError: NamespaceReady: the namespace is somebody else's; RBACReady: members get \
                 their access once the team has its namespace",
            ]
        );
        assert_eq!((status.phase, status.namespace), (Some(TeamPhase::Failed), None));
    }

    #[test]
    fn what_the_world_did_is_told_where_it_happened() {
        let error = Error::api("apply", "RoleBinding `payments/b`", Failure::new(Failure::FORBIDDEN, "no"));
        let outcome = Outcome {
            applied: Applied { namespace: true, access: false },
            error: Some(error),
            ..stays(Access::default())
        };
        let status = status(&team(), &outcome, NOW);
        assert_eq!(
            shown(&status)[..2],
            [
                "NamespaceReady True Ready: ",
                "RBACReady False RBACReconcileFailed: cannot apply RoleBinding `payments/b`: no; give butler-reconciler \
                 the rights of its manifests again",
            ]
        );
        assert_eq!(status.phase, Some(TeamPhase::Failed));
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let access = Access { in_the_way: vec!["RoleBinding `b`".to_owned()], ..Access::default() };
        assert_eq!(
            shown(&status(&team(), &stays(access), NOW))[1],
            "RBACReady False RBACReconcileFailed: RoleBinding `b` is in the way and not Butler's, so nothing is done about \
             it; remove or rename it"
        );
    }

    #[test]
    fn a_team_on_its_way_out_names_what_it_waits_for() {
        let mut going = team();
        going.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap());
        let clusters = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned).to_vec();
        let outcome = Outcome { plan: Some(Plan::Wait { clusters }), ..Outcome::default() };
        let status = status(&going, &outcome, NOW);
        assert_eq!(
            shown(&status)[2],
            "Ready False DeletionBlocked: the team is being deleted and still has clusters (`a`, `b`, `c`, `d`, `e` and 2 \
             more); delete them first"
        );
        assert_eq!(status.phase, Some(TeamPhase::Terminating));
    }
}
