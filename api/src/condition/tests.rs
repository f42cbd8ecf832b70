use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use proptest::prelude::*;

use super::tenant_cluster::{ADDONS_READY, CONTROL_PLANE_READY, WORKERS_READY};
use super::{
    ConditionStatus, LONGEST_MESSAGE, READY, Statement, equal_ignoring_time, get, is_true, reason, set,
    status, summarise,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn waiting() -> Statement {
    Statement::fails(WORKERS_READY, reason::WORKERS_PROVISIONING, "1 of 3 workers joined")
}

fn list(statements: Vec<Statement>) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for statement in statements {
        set(&mut conditions, statement, 1, at(1));
    }
    conditions
}

#[test]
fn a_new_condition_is_added_with_the_time_and_the_generation() {
    let mut conditions = Vec::new();
    assert!(set(&mut conditions, waiting(), 7, at(100)));
    assert_eq!(
        conditions,
        [Condition {
            type_: "WorkersReady".into(),
            status: "False".into(),
            reason: "WorkersProvisioning".into(),
            message: "1 of 3 workers joined".into(),
            observed_generation: Some(7),
            last_transition_time: Time(at(100)),
        }],
    );
}

#[test]
fn saying_the_same_again_changes_nothing() {
    let mut conditions = list(vec![waiting()]);
    let before = conditions.clone();
    assert!(!set(&mut conditions, waiting(), 1, at(200)));
    assert_eq!(conditions, before);
}

#[test]
fn the_transition_time_moves_only_with_the_status() {
    let mut conditions = list(vec![waiting()]);
    assert!(set(
        &mut conditions,
        Statement::fails(WORKERS_READY, reason::PROVIDER_ERROR, "no quota"),
        2,
        at(200)
    ));
    assert_eq!(conditions[0].last_transition_time, Time(at(1)));
    assert_eq!(conditions[0].reason, "ProviderError");
    assert_eq!(conditions[0].message, "no quota");
    assert_eq!(conditions[0].observed_generation, Some(2));
    assert!(set(&mut conditions, Statement::holds(WORKERS_READY, reason::WORKERS_READY, ""), 2, at(300)));
    assert_eq!(conditions[0].last_transition_time, Time(at(300)));
}

#[test]
fn a_doubled_condition_is_made_single() {
    let mut conditions = list(vec![waiting(), Statement::holds(ADDONS_READY, reason::ADDONS_INSTALLED, "")]);
    conditions.insert(0, conditions[0].clone());
    assert!(set(&mut conditions, waiting(), 1, at(200)));
    assert_eq!(
        conditions,
        list(vec![waiting(), Statement::holds(ADDONS_READY, reason::ADDONS_INSTALLED, "")])
    );
}

#[test]
fn what_does_not_hold_always_says_something() {
    for empty in ["", "  \n"] {
        assert_eq!(
            Statement::fails(WORKERS_READY, reason::PROVIDER_ERROR, empty).message(),
            "WorkersReady is False (ProviderError); no detail was reported",
        );
        assert_eq!(
            Statement::is_unknown(WORKERS_READY, reason::PENDING, empty).message(),
            "WorkersReady is Unknown (Pending); no detail was reported",
        );
    }
    assert_eq!(Statement::holds(WORKERS_READY, reason::WORKERS_READY, "").message(), "");
}

#[test]
fn a_message_that_is_too_long_is_cut_between_characters() {
    let fits = "é".repeat(LONGEST_MESSAGE / 2);
    assert_eq!(Statement::fails(READY, reason::FAILED, fits.clone()).message(), fits);
    let cut = Statement::fails(READY, reason::FAILED, format!("{fits}x"));
    assert!(cut.message().len() <= LONGEST_MESSAGE);
    assert!(cut.message().ends_with("éé … (cut)"));
}

#[test]
fn conditions_are_found_by_type() {
    let conditions = list(vec![waiting(), Statement::holds(ADDONS_READY, reason::ADDONS_INSTALLED, "")]);
    assert_eq!(
        get(&conditions, WORKERS_READY).map(|condition| condition.reason.as_str()),
        Some("WorkersProvisioning")
    );
    assert_eq!(status(&conditions, WORKERS_READY), Some(ConditionStatus::False));
    assert!(
        is_true(&conditions, ADDONS_READY)
            && !is_true(&conditions, WORKERS_READY)
            && !is_true(&conditions, READY)
    );
    assert_eq!(status(&conditions, READY), None);
}

#[test]
fn lists_are_compared_without_times_and_order() {
    let one = list(vec![waiting(), Statement::holds(ADDONS_READY, reason::ADDONS_INSTALLED, "")]);
    let mut other = one.clone();
    other.reverse();
    other[0].last_transition_time = Time(at(999));
    assert!(equal_ignoring_time(&one, &other));
    other[0].observed_generation = Some(2);
    assert!(!equal_ignoring_time(&one, &other));
    other.pop();
    assert!(!equal_ignoring_time(&one, &other));
}

#[test]
fn the_summary_names_everything_that_is_missing_worst_first() {
    let required = [CONTROL_PLANE_READY, WORKERS_READY, ADDONS_READY];
    let conditions = list(vec![
        Statement::is_unknown(CONTROL_PLANE_READY, reason::RECONCILING, "the tenant API did not answer"),
        waiting(),
    ]);
    assert_eq!(
        summarise(&conditions, READY, &required),
        Statement::fails(
            READY,
            reason::WORKERS_PROVISIONING,
            "WorkersReady: 1 of 3 workers joined; ControlPlaneReady: the tenant API did not answer; AddonsReady: not reported yet",
        ),
    );
}

#[test]
fn the_summary_is_unknown_when_nothing_is_false() {
    let required = [CONTROL_PLANE_READY, WORKERS_READY];
    let control_plane =
        Statement::is_unknown(CONTROL_PLANE_READY, reason::RECONCILING, "the tenant API did not answer");
    assert_eq!(
        summarise(&list(vec![control_plane]), READY, &required),
        Statement::is_unknown(
            READY,
            reason::RECONCILING,
            "ControlPlaneReady: the tenant API did not answer; WorkersReady: not reported yet",
        ),
    );
    assert_eq!(
        summarise(&[], READY, &[WORKERS_READY]),
        Statement::is_unknown(READY, reason::PENDING, "WorkersReady: not reported yet"),
    );
}

#[test]
fn the_summary_holds_when_all_required_conditions_hold() {
    let conditions = list(vec![
        Statement::holds(WORKERS_READY, reason::WORKERS_READY, "3 of 3"),
        Statement::fails(ADDONS_READY, reason::FAILED, "optional here"),
    ]);
    assert_eq!(summarise(&conditions, READY, &[WORKERS_READY]), Statement::holds(READY, reason::READY, ""));
}

#[test]
fn a_foreign_reason_and_an_empty_message_are_summarised_safely() {
    let mut conditions = list(vec![waiting()]);
    conditions[0].reason = "SomebodyElse".into();
    conditions[0].message = String::new();
    assert_eq!(
        summarise(&conditions, READY, &[WORKERS_READY]),
        Statement::fails(READY, reason::RECONCILING, "WorkersReady: False (SomebodyElse)"),
    );
}

#[test]
fn every_reason_is_unique_and_acceptable_to_the_api() {
    let mut seen = std::collections::BTreeSet::new();
    for (reason, class) in reason::ALL {
        assert!(seen.insert(reason), "{reason} appears twice");
        assert!(
            reason.len() <= 1024 && reason.starts_with(|first: char| first.is_ascii_uppercase()),
            "{reason}"
        );
        assert!(reason.chars().all(|character| character.is_ascii_alphanumeric()), "{reason}");
        assert_eq!(reason::class(reason), *class);
        assert_eq!(reason::known(reason), *reason);
    }
}

proptest! {
    #[test]
    fn any_message_becomes_one_the_api_accepts(message in ".{0,40}", times in 0..3000_usize) {
        let statement = Statement::fails(READY, reason::FAILED, message.repeat(times));
        prop_assert!(statement.message().chars().count() <= LONGEST_MESSAGE);
        prop_assert!(!statement.message().trim().is_empty());
    }

    #[test]
    fn after_any_sequence_each_type_appears_once_with_the_last_word(
        steps in proptest::collection::vec((0..3_usize, any::<bool>(), 0..5_i64), 1..30),
    ) {
        let types = [CONTROL_PLANE_READY, WORKERS_READY, ADDONS_READY];
        let mut conditions = Vec::new();
        for (second, (which, holds, generation)) in steps.iter().enumerate() {
            let condition = types[*which];
            let before = status(&conditions, condition);
            let since = get(&conditions, condition).map(|condition| condition.last_transition_time.clone());
            let statement = if *holds {
                Statement::holds(condition, reason::READY, "")
            } else {
                Statement::fails(condition, reason::FAILED, "no")
            };
            let now = at(i64::try_from(second).unwrap());
            let stated = statement.status();
            set(&mut conditions, statement, *generation, now);
            let after = get(&conditions, condition).unwrap();
            prop_assert_eq!(after.observed_generation, Some(*generation));
            let expected = if before == Some(stated) { since.unwrap() } else { Time(now) };
            prop_assert_eq!(&after.last_transition_time, &expected);
            let count = conditions.iter().filter(|present| present.type_ == condition).count();
            prop_assert_eq!(count, 1);
        }
    }
}
