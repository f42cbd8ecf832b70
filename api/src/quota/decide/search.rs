//! Every order in which two replicas, an API server and its clients can do what they do.
//!
//! The model takes the real `Group`, `Copy` and `Ledger` and plays the rest ([`world`]: what there is; [`steps`]: what can
//! happen): an API server that stores a request that was admitted, or asks again, or never does either; replicas that
//! crash between any two calls, or after a call whose answer they never see, or that go on without it; watches that tell
//! what was true long ago, also while something is being decided; people who shrink, delete and keep clusters, bring them
//! into the team, only try, or go past the gate; somebody who deletes the ledger. Time is played at its worst: a request
//! counts as over for a replica as soon as it really is, and no ledger is made anew before that.
//!
//! What must hold in every state: what was admitted and is stored, with the machines of what is being deleted, is within the
//! limit, and granted; what is granted is within the limit; and what went past the gate is not granted. From every state: once
//! the requests have ended, one replica that looks once leaves nothing reserved, and the whole limit can be used again, and
//! not more.

mod steps;
mod world;

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use self::world::{Budget, Wish, World};

/// Goes through every state that can come about, and gives their number.
fn search(start: World) -> usize {
    let number = BuildHasherDefault::<DefaultHasher>::default();
    let mut seen = HashSet::from([number.hash_one(&start)]);
    let mut next = vec![start];
    while let Some(world) = next.pop() {
        world.check();
        world.clone().ends_well();
        for happening in world.happenings() {
            let mut after = world.clone();
            after.happen(happening);
            let after = after.in_order(&number);
            if seen.insert(number.hash_one(&after)) {
                next.push(after);
            }
        }
    }
    seen.len()
}

const CREATE_A: Wish = Wish::Create { name: 0, nodes: 1 };
const CREATE_B: Wish = Wish::Create { name: 1, nodes: 1 };
const CREATE_LARGE_B: Wish = Wish::Create { name: 1, nodes: 2 };
const GROW_A: Wish = Wish::Grow { name: 0, nodes: 2 };
const JOIN_A: Wish = Wish::Join { name: 0 };
const TRY_B: Wish = Wish::Try { name: 1, nodes: 2 };

fn goes_well(name: &str, start: World) {
    let states = search(start);
    println!("{name}: {states} states");
    assert!(states > 100, "{states}");
}

/// With more of everything there are hundreds of times as many states, for which nobody waits every day.
fn is_full() -> bool {
    std::env::var_os("BUTLER_SEARCH").is_some()
}

#[test]
fn two_replicas_never_admit_more_than_fits_and_lose_nothing_when_they_crash() {
    let budget = Budget { crashes: 1, ..Budget::default() };
    goes_well("crash", World::new(&[CREATE_A, CREATE_LARGE_B], budget));
    if is_full() {
        goes_well("crash, in full", World::new(&[CREATE_A, CREATE_B, GROW_A], budget));
    }
}

#[test]
fn an_answer_that_is_lost_takes_nothing_twice() {
    let budget = Budget { lost_answers: 1, ..Budget::default() };
    goes_well("lost answer", World::new(&[CREATE_A, CREATE_LARGE_B], budget));
    if is_full() {
        let budget = Budget { lost_answers: 2, ..budget };
        goes_well("lost answer, in full", World::with_a(&[GROW_A, CREATE_B], budget));
    }
}

#[test]
fn a_name_that_is_taken_and_freed_again_counts_once() {
    let budget = Budget { deletions: 1, ..Budget::default() };
    goes_well("clash", World::new(&[CREATE_A, CREATE_A], budget));
    if is_full() {
        goes_well("clash, in full", World::new(&[CREATE_A, CREATE_A, CREATE_LARGE_B], budget));
    }
}

#[test]
fn growing_and_shrinking_frees_exactly_its_part() {
    let budget = Budget { shrinks: 1, deletions: 1, ..Budget::default() };
    goes_well("grow", World::with_a(&[GROW_A], budget));
    if is_full() {
        goes_well("grow and crash", World::with_a(&[GROW_A], Budget { crashes: 1, ..budget }));
        goes_well("compete", World::with_a(&[GROW_A, CREATE_B], Budget::default()));
        let budget = Budget { shrinks: 2, deletions: 1, ..Budget::default() };
        goes_well("grow, in full", World::with_a(&[GROW_A, GROW_A, CREATE_B], budget));
    }
}

#[test]
fn what_is_being_deleted_keeps_its_machines() {
    let budget = Budget { leavings: 1, shrinks: 1, ..Budget::default() };
    goes_well("leave", World::with_a(&[GROW_A], budget));
    if is_full() {
        let budget = Budget { deletions: 1, ..budget };
        goes_well("leave, in full", World::with_a(&[GROW_A, CREATE_B], budget));
    }
}

#[test]
fn a_cluster_that_joins_counts_while_it_does() {
    let budget = Budget { crashes: 1, ..Budget::default() };
    goes_well("join", World::with_stranger(&[JOIN_A, CREATE_LARGE_B], budget));
    if is_full() {
        let budget = Budget { deletions: 1, ..budget };
        goes_well("join, in full", World::with_stranger(&[JOIN_A, CREATE_B, GROW_A], budget));
    }
}

#[test]
fn what_goes_past_the_gate_is_never_granted_by_growing() {
    let budget = Budget { slips: 1, ..Budget::default() };
    goes_well("slip", World::new(&[GROW_A], budget));
    if is_full() {
        goes_well("slip, in full", World::new(&[GROW_A, CREATE_B], budget));
    }
}

#[test]
fn who_only_tries_takes_nothing() {
    goes_well("try", World::new(&[TRY_B, CREATE_A], Budget::default()));
    if is_full() {
        goes_well("try, in full", World::new(&[TRY_B, CREATE_A, CREATE_B], Budget::default()));
    }
}

#[test]
fn a_lost_ledger_comes_back_with_everything_that_was_admitted() {
    let budget = Budget { losses: 1, ..Budget::default() };
    goes_well("loss", World::new(&[CREATE_A, CREATE_LARGE_B], budget));
    // What is granted then is within the limit, whatever went past the gate before.
    goes_well("loss of what slipped", World::new(&[CREATE_LARGE_B], Budget { slips: 1, ..budget }));
    if is_full() {
        let budget = Budget { crashes: 1, deletions: 1, ..budget };
        goes_well("loss, in full", World::new(&[CREATE_A, CREATE_LARGE_B], budget));
    }
}
