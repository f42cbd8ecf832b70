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
        plan: Some(Plan::Stay { namespace: Err(problem), access: Access::default(), clusters: Vec::new() }),
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
    going.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap());
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
    going.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-02T03:04:05Z")).unwrap());
    let gone = Problem::new(reason::DELETING, "the namespace is gone");
    let plan = Plan::Stay { namespace: Err(gone), access: Access::default(), clusters: vec!["a".to_owned()] };
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
