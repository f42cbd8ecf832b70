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
    let ready = match &outcome.plan {
        Some(Plan::Stay { clusters, .. }) if !clusters.is_empty() => Statement::fails(
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
mod tests {
    use std::sync::Arc;

    use butler_api::{QuotaLedger, TenantCluster};
    use butler_program::Failure;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    use serde_json::{Value, json};

    use super::*;
    use crate::frame::child::Step;
    use crate::frame::{Error, Problem, SetBack};
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
            plan: Some(Plan::Stay { namespace: Ok(Step::Make(json!({}))), access, clusters: Vec::new() }),
            applied: Applied { namespace: Some(Ok(())), access: Some(Ok(())) },
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
            [
                "NamespaceReady True Ready: ",
                "RBACReady True Ready: ",
                "QuotaExceeded False WithinQuota: the team uses nothing yet",
                "Ready True Ready: "
            ]
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
        let told = |team: &Team, ledger: Option<QuotaLedger>, clusters: Vec<Arc<TenantCluster>>| {
            let observed = Observed { ledger: ledger.map(Arc::new), clusters, ..Observed::default() };
            let outcome = Outcome { observed: Some(observed), ..stays(Access::default()) };
            let status = status(team, &outcome, NOW);
            let said = shown(&status)[2].clone();
            let TeamStatus { resource_usage, quota_status, quota_message, .. } = status;
            (resource_usage.and_then(|usage| usage.clusters), quota_status, quota_message, said)
        };
        let ledger = |held: Value| -> Option<QuotaLedger> {
            serde_json::from_value(json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "QuotaLedger",
                "metadata": { "name": "payments", "namespace": "butler-system", "generation": 1 },
                "spec": { "team": "payments", "writes": 1, "held": held },
            }))
            .unwrap()
        };
        let one = json!(["orders 0123456789ABCDEFGHIJKL 41 3 8 32Gi 200Gi - - -"]);
        let (usage, is, message, said) = told(&limited, ledger(one.clone()), Vec::new());
        assert_eq!((usage, is), (Some(1), Some(QuotaStatus::Exceeded)));
        assert_eq!(message.as_deref(), Some("clusters: 1 of 0"));
        assert_eq!(said, "QuotaExceeded True QuotaExceeded: clusters: 1 of 0; nothing of it can grow");
        let (usage, is, message, said) = told(&team(), ledger(one), Vec::new());
        assert_eq!((usage, is, message.as_deref()), (Some(1), Some(QuotaStatus::Ok), Some("")));
        assert_eq!(said, "QuotaExceeded False WithinQuota: the team uses no more than it may");

        // What was said before is not said for ever, and not knowing is said.
        limited.status = Some(TeamStatus { quota_status: Some(QuotaStatus::Ok), ..TeamStatus::default() });
        let (usage, is, message, said) = told(&limited, None, Vec::new());
        assert_eq!((usage, is, message), (None, None, None));
        assert_eq!(said, "QuotaExceeded False WithinQuota: the team uses nothing yet");
        let cluster = Arc::new(TenantCluster::new("orders", serde_json::from_value(json!({})).unwrap()));
        for (ledger, expected) in [
            (
                None,
                "QuotaExceeded Unknown WaitingForDependencies: there is no QuotaLedger `butler-system/payments` yet that",
            ),
            (
                ledger(json!(["nonsense"])),
                "QuotaExceeded Unknown InvalidConfiguration: the QuotaLedger `butler-system/payments` cannot be read: ",
            ),
        ] {
            let (usage, is, message, said) = told(&limited, ledger, vec![cluster.clone()]);
            assert_eq!((usage, is), (None, None));
            assert!(said.starts_with(expected), "{said}");
            assert!(said.ends_with(&message.unwrap()));
        }
    }

    #[test]
    fn what_a_person_has_to_do_is_said_and_the_team_failed() {
        let problem = Problem::new(reason::NAMESPACE_ERROR, "the namespace is somebody else's");
        let outcome = Outcome {
            plan: Some(Plan::Stay {
                namespace: Err(problem),
                access: Access::default(),
                clusters: Vec::new(),
            }),
            applied: Applied { namespace: None, access: Some(Ok(())) },
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
            applied: Applied { namespace: Some(Ok(())), access: Some(Err(error.clone())) },
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
        let namespace = Ok(Step::Make(json!({})));
        let plan = Some(Plan::Stay { namespace, access: Access::default(), clusters });
        let status = status(&going, &Outcome { plan, ..stays(Access::default()) }, NOW);
        assert_eq!(
            shown(&status)[3],
            "Ready False DeletionBlocked: the team is being deleted and still has clusters (`a`, `b`, `c`, `d`, `e` and 2 \
             more); delete them first"
        );
        assert_eq!(status.phase, Some(TeamPhase::Terminating));
    }

    #[test]
    fn a_team_that_waits_says_only_what_was_looked_at() {
        let mut going = team();
        going.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap());
        let gone = Problem::new(reason::DELETING, "the namespace is gone");
        let plan =
            Plan::Stay { namespace: Err(gone), access: Access::default(), clusters: vec!["a".to_owned()] };
        let error = Error::api("delete", "RoleBinding `payments/b`", Failure::new("ServerError", "no"));
        let outcome = Outcome {
            plan: Some(plan),
            applied: Applied { namespace: None, access: Some(Err(error.clone())) },
            error: Some(error),
            ..Outcome::default()
        };
        assert_eq!(
            shown(&status(&going, &outcome, NOW))[..2],
            [
                "NamespaceReady False Deleting: the namespace is gone",
                "RBACReady False RBACReconcileFailed: cannot delete RoleBinding `payments/b`: no; it is tried again",
            ]
        );
    }

    #[test]
    fn what_was_set_back_is_told_where_it_belongs() {
        let set_back = |kind: &str, name: &str| SetBack {
            kind: kind.to_owned(),
            name: name.to_owned(),
            by: vec!["kubectl-edit".to_owned()],
        };
        let set_back = vec![set_back("Namespace", "payments"), set_back("RoleBinding", "b")];
        let first = status(&team(), &Outcome { set_back, ..stays(Access::default()) }, NOW);
        let told = [
            "NamespaceReady True Ready: set back Namespace `payments`, which `kubectl-edit` had changed (1970-01-01T00:00:00Z)",
            "RBACReady True Ready: set back RoleBinding `b`, which `kubectl-edit` had changed (1970-01-01T00:00:00Z)",
        ];
        assert_eq!(shown(&first)[..2], told);
        // It is there to be read until the team is changed.
        let mut later = Team { status: Some(first), ..team() };
        let now = "2030-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(shown(&status(&later, &stays(Access::default()), now))[..2], told);
        later.metadata.generation = Some(4);
        let changed = shown(&status(&later, &stays(Access::default()), now));
        assert_eq!(changed[..2], ["NamespaceReady True Ready: ", "RBACReady True Ready: "]);
    }
}
