use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use proptest::prelude::*;

use super::{ClusterPhase, ESSENTIALS, GATES, PhaseFacts};
use crate::condition::{DEGRADED, PROGRESSING, READY, reason, tenant_cluster};

/// Everything a condition can say that makes a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Nothing,
    True,
    Unknown,
    Waiting,
    Failing,
}

use Says::{Failing, Nothing, True, Unknown, Waiting};

const ALL: [Says; 5] = [Nothing, True, Unknown, Waiting, Failing];

/// The generation of the spec in these tests.
const NOW: i64 = 5;

const NEW: PhaseFacts = PhaseFacts { deletion_requested: false, generation: NOW, ready_generation: None };
const SETTLED: PhaseFacts = PhaseFacts { ready_generation: Some(NOW), ..NEW };
const CHANGED: PhaseFacts = PhaseFacts { ready_generation: Some(NOW - 1), ..NEW };

fn condition(name: &str, says: Says, generation: i64) -> Option<Condition> {
    let (status, reason) = match says {
        Nothing => return None,
        True => ("True", reason::READY),
        Unknown => ("Unknown", reason::FAILED),
        Waiting => ("False", reason::WAITING_FOR_DEPENDENCIES),
        Failing => ("False", reason::PROVIDER_ERROR),
    };
    Some(Condition {
        type_: name.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: "because".to_owned(),
        observed_generation: Some(generation),
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    })
}

fn conditions(pairs: &[(&str, Says)]) -> Vec<Condition> {
    pairs.iter().filter_map(|(name, says)| condition(name, *says, NOW)).collect()
}

fn essentials(says: [Says; 4]) -> Vec<Condition> {
    conditions(&ESSENTIALS.into_iter().zip(says).collect::<Vec<_>>())
}

fn with(mut list: Vec<Condition>, name: &str, says: Says) -> Vec<Condition> {
    list.extend(condition(name, says, NOW));
    list
}

#[test]
fn a_first_life_goes_through_the_phases_in_order() {
    let life = [
        ([Nothing, Nothing, Nothing, Nothing], ClusterPhase::Pending),
        ([Waiting, Nothing, Nothing, Nothing], ClusterPhase::Provisioning),
        ([True, Waiting, Waiting, Unknown], ClusterPhase::Provisioning),
        ([True, True, Waiting, Waiting], ClusterPhase::Provisioning),
        ([True, True, True, Nothing], ClusterPhase::Installing),
        ([True, True, True, Waiting], ClusterPhase::Installing),
        ([True, True, True, Unknown], ClusterPhase::Installing),
        ([True, True, True, True], ClusterPhase::Ready),
    ];
    for (says, phase) in life {
        assert_eq!(ClusterPhase::derive(&essentials(says), NEW), phase, "{says:?}");
    }
}

#[test]
fn any_failure_on_the_way_is_failed_and_its_end_is_not() {
    let stuck = essentials([True, Failing, Waiting, Nothing]);
    assert_eq!(ClusterPhase::derive(&stuck, NEW), ClusterPhase::Failed);
    let recovered = essentials([True, Waiting, Waiting, Nothing]);
    assert_eq!(ClusterPhase::derive(&recovered, NEW), ClusterPhase::Provisioning);
    for gate in GATES {
        assert_eq!(ClusterPhase::derive(&conditions(&[(gate, Failing)]), NEW), ClusterPhase::Failed);
        assert_eq!(ClusterPhase::derive(&conditions(&[(gate, Waiting)]), NEW), ClusterPhase::Provisioning);
        assert_eq!(ClusterPhase::derive(&conditions(&[(gate, True)]), NEW), ClusterPhase::Provisioning);
    }
}

#[test]
fn a_spec_change_is_updating_until_it_is_rolled_out() {
    assert_eq!(
        ClusterPhase::derive(&essentials([True, Waiting, True, True]), CHANGED),
        ClusterPhase::Updating
    );
    assert_eq!(
        ClusterPhase::derive(&essentials([True, True, Unknown, True]), CHANGED),
        ClusterPhase::Updating
    );
    assert_eq!(ClusterPhase::derive(&essentials([True, True, Failing, True]), CHANGED), ClusterPhase::Failed);
    assert_eq!(ClusterPhase::derive(&essentials([True, True, True, True]), CHANGED), ClusterPhase::Ready);
}

#[test]
fn what_was_said_about_an_older_spec_counts_for_nothing() {
    let old = |says| -> Vec<Condition> {
        ESSENTIALS.into_iter().filter_map(|name| condition(name, says, NOW - 1)).collect()
    };
    assert_eq!(ClusterPhase::derive(&old(True), CHANGED), ClusterPhase::Updating);
    assert_eq!(ClusterPhase::derive(&old(Failing), CHANGED), ClusterPhase::Updating);
    assert_eq!(ClusterPhase::derive(&old(Failing), NEW), ClusterPhase::Provisioning);
}

#[test]
fn a_condition_without_a_generation_counts_as_current() {
    let mut list = essentials([True, True, True, True]);
    for condition in &mut list {
        condition.observed_generation = None;
    }
    assert_eq!(ClusterPhase::derive(&list, CHANGED), ClusterPhase::Ready);
}

#[test]
fn a_gate_never_breaks_a_cluster_that_has_been_ready() {
    for gate in GATES {
        let list = with(essentials([True; 4]), gate, Failing);
        assert_eq!(ClusterPhase::derive(&list, SETTLED), ClusterPhase::Ready, "{gate}");
        assert_eq!(ClusterPhase::derive(&list, CHANGED), ClusterPhase::Updating, "{gate}");
    }
}

#[test]
fn a_ready_cluster_with_something_optional_degraded_stays_ready() {
    let list = with(with(essentials([True; 4]), DEGRADED, True), PROGRESSING, True);
    assert_eq!(ClusterPhase::derive(&with(list, "Someone/Else", Failing), SETTLED), ClusterPhase::Ready);
}

#[test]
fn a_cluster_that_lost_a_node_is_updating_while_it_is_repaired() {
    assert_eq!(
        ClusterPhase::derive(&essentials([True, True, Waiting, True]), SETTLED),
        ClusterPhase::Updating
    );
}

#[test]
fn a_reason_that_is_not_ours_is_no_failure() {
    let mut list = essentials([True, True, True, Failing]);
    list[3].reason = "SomebodyElse".to_owned();
    assert_eq!(ClusterPhase::derive(&list, NEW), ClusterPhase::Installing);
}

#[test]
fn phases_on_the_wire_are_their_names() {
    for phase in [
        ClusterPhase::Pending,
        ClusterPhase::Provisioning,
        ClusterPhase::Installing,
        ClusterPhase::Ready,
        ClusterPhase::Updating,
        ClusterPhase::Deleting,
        ClusterPhase::Failed,
    ] {
        assert_eq!(serde_json::to_string(&phase).unwrap(), format!("\"{}\"", phase.as_str()));
    }
}

/// The facts every phase must respect, stated without the derivation's own order.
fn check(gates: &[Says], essentials: [Says; 4], facts: PhaseFacts, phase: ClusterPhase) {
    let context = format!("{gates:?} {essentials:?} {facts:?} gave {phase:?}");
    let all = || gates.iter().chain(&essentials);
    assert_eq!(facts.deletion_requested, phase == ClusterPhase::Deleting, "{context}");
    if facts.deletion_requested {
        return;
    }
    let ready_before = facts.ready_generation.is_some();
    let first_life = [ClusterPhase::Pending, ClusterPhase::Provisioning, ClusterPhase::Installing];
    assert!(!(ready_before && first_life.contains(&phase)), "no way back to a first life: {context}");
    assert!(ready_before || phase != ClusterPhase::Updating, "nothing to update before: {context}");
    if essentials == [True; 4] && gates.iter().all(|says| matches!(says, True | Nothing)) {
        assert_eq!(phase, ClusterPhase::Ready, "{context}");
    }
    if phase == ClusterPhase::Ready {
        assert_eq!(essentials, [True; 4], "{context}");
    }
    if phase == ClusterPhase::Pending {
        assert!(all().all(|says| *says == Nothing), "{context}");
    }
    if phase == ClusterPhase::Failed {
        assert!(all().any(|says| *says == Failing), "{context}");
    }
    if essentials.contains(&Failing) {
        assert_eq!(phase, ClusterPhase::Failed, "{context}");
    }
    if phase == ClusterPhase::Installing {
        assert!(essentials[..3] == [True; 3] && essentials[3] != True, "{context}");
    }
}

#[test]
fn every_combination_has_one_phase_and_keeps_the_facts() {
    let times = [None, Some(NOW - 1), Some(NOW)];
    let (first_gate, second_gate) = (tenant_cluster::ACCEPTED, tenant_cluster::QUOTA_SATISFIED);
    for combination in 0..5_usize.pow(6) {
        let says: [Says; 6] = std::array::from_fn(|place| ALL[combination / 5_usize.pow(place as u32) % 5]);
        let [first, second, rest @ ..] = says;
        let list = with(with(essentials(rest), first_gate, first), second_gate, second);
        for ready_generation in times {
            for deletion_requested in [false, true] {
                let facts = PhaseFacts { deletion_requested, generation: NOW, ready_generation };
                check(&[first, second], rest, facts, ClusterPhase::derive(&list, facts));
            }
        }
    }
}

fn any_says() -> impl Strategy<Value = Says> {
    proptest::sample::select(ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn all_gates_together_keep_the_facts_in_any_order_of_conditions(
        gates in proptest::array::uniform5(any_says()),
        rest in proptest::array::uniform4(any_says()),
        summary in any_says(),
        ready_generation in proptest::option::of(NOW - 1..=NOW),
        deletion_requested in any::<bool>(),
        turn in 0..10_usize,
    ) {
        let mut list = conditions(&GATES.into_iter().zip(gates).collect::<Vec<_>>());
        list.extend(essentials(rest));
        list.extend(condition(READY, summary, NOW));
        let facts = PhaseFacts { deletion_requested, generation: NOW, ready_generation };
        let phase = ClusterPhase::derive(&list, facts);
        check(&gates, rest, facts, phase);
        let middle = turn.min(list.len());
        list.rotate_left(middle);
        prop_assert_eq!(ClusterPhase::derive(&list, facts), phase);
    }
}
