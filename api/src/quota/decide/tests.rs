use super::*;
use crate::names::ObjectUid;
use crate::quota::dimension::Dimension;
use crate::quota::holding::Holding;
use crate::quota::limit::{Scope, Source};

fn nodes(count: u64) -> Holding {
    Holding { nodes: count, ..Holding::default() }
}

fn create(name: &str, number: u128, count: u64) -> Ask {
    let at = NsRef { name: name.to_owned(), namespace: "payments".to_owned() };
    Ask { at, uid: ObjectUid::from_number(number), base: None, old: None, new: nodes(count) }
}

fn most(most: i32) -> Vec<Limit> {
    let source =
        Source { object: "the Team `payments`".to_owned(), field: "spec".to_owned(), owners: "somebody" };
    vec![Limit { scope: Scope::Team, dimension: Dimension::Nodes, most: most.into(), source }]
}

/// Asks for all of them under a limit of ten, and learns while that is written that the limit is four. The answers, and
/// the ledger after it.
fn lowered_meanwhile(asks: &[Ask]) -> (Vec<bool>, Ledger) {
    let (mut group, mut copy) = (Group::default(), Copy::read(Ledger::new("payments"), 1));
    asks.iter().for_each(|ask| group.push(ask.clone(), most(10), false));
    assert_eq!(group.next(Some(&mut copy)), Next::Write);
    let limits = |_: &Ask| Ok::<_, ()>(most(4));
    assert_eq!(group.limit_anew(&mut copy, limits), Ok(true));
    copy.written();
    group.written();
    (group.answers().map(|answer| answer.is_ok()).collect(), copy.ledger)
}

#[test]
fn what_a_limit_that_was_just_lowered_forbids_is_withdrawn() {
    let (large, small) = (create("a", 1, 5), create("b", 2, 3));
    let (answers, ledger) = lowered_meanwhile(&[large.clone(), small.clone()]);
    assert_eq!(answers, [false, true]);
    assert!(!ledger.has(&large) && ledger.has(&small));
}

/// Two clients may send the same at the same moment.
#[test]
fn who_asks_for_the_same_has_its_line_for_as_long_as_one_of_them_is_admitted() {
    let (small, large) = (create("a", 1, 3), create("b", 2, 5));
    let (answers, ledger) = lowered_meanwhile(&[small.clone(), large.clone(), small.clone()]);
    assert_eq!(answers, [false, false, true]);
    assert!(ledger.has(&small) && !ledger.has(&large));
}
