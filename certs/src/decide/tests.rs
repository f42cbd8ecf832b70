use std::time::Duration;

use super::*;
use crate::certificate::Validity;
use crate::state::PrivateKey;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn lifetimes() -> Lifetimes {
    let seconds = Duration::from_secs;
    Lifetimes::new(seconds(900), seconds(90), seconds(10)).unwrap()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn trusted(id: u8, from: i64, until: i64) -> Trusted {
    let validity = Validity { from: at(from), until: at(until) };
    Trusted { id: Fingerprint([id; 32]), validity, certificate: "".into() }
}

fn authority(id: u8, from: i64) -> Authority {
    Authority { trusted: trusted(id, from, from + 900), key: PrivateKey::new("") }
}

fn leaf(issuer: u8, from: i64, until: i64) -> Leaf {
    Leaf {
        id: Fingerprint([100; 32]),
        issuer: Fingerprint([issuer; 32]),
        validity: Validity { from: at(from), until: at(until) },
        names: names(&["a"]),
        certificate: "".into(),
        key: PrivateKey::new(""),
    }
}

/// Authority 1 from 1000 to 1900 (due at 1600), certificate from 1500 to 1590 (due at 1560).
fn calm() -> State {
    State { signing: Some(authority(1, 1000)), serving: Some(leaf(1, 1500, 1590)), ..State::default() }
}

/// Authority 1 is being followed by authority 2; a certificate that is not due.
fn rotating() -> State {
    State { next: Some(authority(2, 1600)), serving: Some(leaf(1, 1590, 1680)), ..calm() }
}

fn with(mut state: State, tweak: impl FnOnce(&mut State)) -> State {
    tweak(&mut state);
    state
}

fn seen(trusted: Vec<Trusted>) -> Seen {
    Seen { trusted, is_refused: false }
}

fn rest(until: i64) -> Step {
    Step::Rest { until: Some(at(until)) }
}

fn announce() -> Step {
    Step::Announce { carry: Vec::new() }
}

fn forget(ids: &[u8]) -> Step {
    Step::Forget { retired: ids.iter().map(|id| Fingerprint([*id; 32])).collect() }
}

#[test]
fn each_state_has_its_step() {
    let one = || vec![trusted(1, 1000, 1900)];
    let both = || vec![trusted(1, 1000, 1900), trusted(2, 1600, 2500)];
    let stranger = || vec![trusted(9, 0, 9999)];
    let retired = |until: Option<i64>| {
        with(calm(), |state| {
            state.retired = vec![trusted(7, 0, 5000)];
            state.retired_until = until.map(at);
        })
    };
    let cases = [
        ("nothing is stored, nothing is trusted", State::default(), vec![], 1000, announce()),
        ("a registration without a bundle", State::default(), vec![vec![]], 1000, announce()),
        (
            "the Secret is lost: what is trusted is carried over once",
            State::default(),
            vec![one(), one()],
            1000,
            Step::Announce { carry: one() },
        ),
        ("what is over is not carried", State::default(), vec![one()], 1900, announce()),
        ("nothing to do before the certificate is due", calm(), vec![one()], 1559, rest(1560)),
        ("the certificate is due", calm(), vec![one()], 1560, Step::Issue),
        ("the certificate is over", calm(), vec![one()], 1595, Step::Issue),
        ("no certificate", with(calm(), |it| it.serving = None), vec![one()], 1501, Step::Issue),
        (
            "a certificate of another authority",
            with(calm(), |it| it.serving = Some(leaf(2, 1500, 1590))),
            vec![one()],
            1501,
            Step::Issue,
        ),
        (
            "a certificate for other names",
            with(calm(), |it| it.serving.as_mut().unwrap().names = names(&["b"])),
            vec![one()],
            1501,
            Step::Issue,
        ),
        (
            "a certificate for more names",
            with(calm(), |it| it.serving.as_mut().unwrap().names = names(&["a", "b"])),
            vec![one()],
            1501,
            rest(1560),
        ),
        (
            "the authority is due",
            with(calm(), |it| it.serving = Some(leaf(1, 1590, 1680))),
            vec![one()],
            1600,
            announce(),
        ),
        (
            "a foreign bundle is not carried while we know our own",
            with(calm(), |it| it.serving = Some(leaf(1, 1590, 1680))),
            vec![stranger()],
            1600,
            announce(),
        ),
        ("the next one is not in every bundle", rotating(), vec![both(), one()], 1601, rest(1650)),
        ("the next one is in every bundle", rotating(), vec![both(), both()], 1601, Step::Confirm),
        ("no registration at all", rotating(), vec![], 1601, Step::Confirm),
        (
            "it settles",
            with(rotating(), |it| it.next_trusted_since = Some(at(1601))),
            vec![both()],
            1610,
            rest(1611),
        ),
        (
            "it has settled",
            with(rotating(), |it| it.next_trusted_since = Some(at(1601))),
            vec![both()],
            1611,
            Step::Promote,
        ),
        (
            "a bundle lost it while it settled",
            with(rotating(), |it| it.next_trusted_since = Some(at(1601))),
            vec![both(), one()],
            1611,
            Step::Doubt,
        ),
        (
            "a certificate is renewed also while a rotation is stuck",
            rotating(),
            vec![one()],
            1650,
            Step::Issue,
        ),
        (
            "but not again and again when the authority's end is its end",
            with(rotating(), |it| it.serving = Some(leaf(1, 1820, 1900))),
            vec![one()],
            1890,
            rest(1900),
        ),
        (
            "the authority is over, nobody is served: no settling",
            with(rotating(), |it| it.serving = Some(leaf(1, 1820, 1900))),
            vec![both()],
            1900,
            Step::Promote,
        ),
        (
            "both are over",
            with(rotating(), |it| it.serving = Some(leaf(1, 1820, 1900))),
            vec![one()],
            2500,
            announce(),
        ),
        (
            "the signing key is lost: the same path as a rotation",
            State { retired: one(), serving: Some(leaf(1, 1500, 1590)), ..State::default() },
            vec![one()],
            1501,
            announce(),
        ),
        (
            "a lost one is still trusted while the next one is announced",
            State {
                retired: one(),
                next: Some(authority(2, 1600)),
                serving: Some(leaf(1, 1590, 1680)),
                ..State::default()
            },
            vec![one()],
            1601,
            rest(1650),
        ),
        ("a retired one stays", retired(Some(1550)), vec![one()], 1549, rest(1550)),
        ("a retired one goes", retired(Some(1550)), vec![one()], 1550, forget(&[7])),
        ("without a moment it stays until it is over", retired(None), vec![one()], 1550, rest(1560)),
        (
            "what signed the certificate in service is never forgotten before it is over",
            State {
                retired: one(),
                retired_until: Some(at(1400)),
                next: Some(authority(2, 1600)),
                serving: Some(leaf(1, 1590, 1680)),
                ..State::default()
            },
            vec![one()],
            1601,
            rest(1650),
        ),
    ];
    for (case, state, bundles, now, expected) in cases {
        let bundles: Vec<Seen> = bundles.into_iter().map(seen).collect();
        assert_eq!(decide(&state, &bundles, &names(&["a"]), &lifetimes(), at(now)), expected, "{case}");
    }
}

#[test]
fn a_bundle_full_of_the_worlds_authorities_is_not_carried_whole() {
    let world = (10..200).map(|id| trusted(id, 0, 9999)).collect();
    let step = decide(&State::default(), &[seen(world)], &names(&["a"]), &lifetimes(), at(1000));
    assert!(matches!(step, Step::Announce { carry } if carry.len() == CARRIED));
}

#[test]
fn a_registration_that_may_not_be_written_holds_up_a_rotation_but_not_the_first_start() {
    let first = State { next: Some(authority(1, 1000)), ..State::default() };
    let refused = |is_refused| [Seen { trusted: Vec::new(), is_refused }];
    let decided =
        |state: &State, seen: &[Seen], now| decide(state, seen, &names(&["a"]), &lifetimes(), at(now));
    assert_eq!(decided(&first, &refused(false), 1001), Step::Rest { until: None });
    assert_eq!(decided(&first, &refused(true), 1001), Step::Promote);
    assert_eq!(decided(&first, &[seen(vec![trusted(1, 1000, 1900)])], 1001), Step::Promote);
    assert_eq!(decided(&rotating(), &refused(true), 1601), rest(1650));
}

#[test]
fn replicas_that_want_different_names_do_not_fight() {
    let state = calm();
    let both = names_to_issue(&state, &names(&["b"]), at(1501));
    assert_eq!(both, names(&["a", "b"]));
    // What both accept stays, until the certificate is due and the names are chosen afresh.
    assert_eq!(names_to_issue(&state, &names(&["b"]), at(1560)), names(&["b"]));
}
