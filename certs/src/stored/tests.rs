use std::time::Duration;

use super::*;
use crate::advance::{Mint, advance};
use crate::decide::Step;
use crate::mint::Minter;
use crate::settings::Lifetimes;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn lifetimes() -> Lifetimes {
    Lifetimes::new(Duration::from_secs(900), Duration::from_secs(90), Duration::ZERO).unwrap()
}

/// In the middle of the second rotation: one retired, one signing, one next.
fn full() -> State {
    let names = ["a.b.svc".to_owned()].into();
    let mut mint = Minter { lifetimes: lifetimes() };
    let announce = Step::Announce { carry: Vec::new() };
    let steps = [(&announce, 1000), (&Step::Promote, 1000), (&announce, 1600), (&Step::Promote, 1601)];
    let last = [(&announce, 2200), (&Step::Confirm, 2201)];
    steps.iter().chain(&last).fold(State::default(), |state, (step, now)| {
        advance(state, step, &names, &lifetimes(), at(*now), &mut mint).unwrap()
    })
}

fn secret(state: &State) -> Secret {
    let mut secret = Secret::default();
    write(&mut secret, state);
    secret
}

fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

#[test]
fn what_is_written_is_read() {
    let full = full();
    assert_eq!(full.trusted().count(), 3);
    let mut without_serving = full.clone();
    without_serving.serving = None;
    let mut only_next = full.clone();
    only_next.signing = None;
    only_next.serving = None;
    only_next.retired.clear();
    only_next.retired_until = None;
    for state in [State::default(), full, without_serving, only_next] {
        let stored = read(&secret(&state), &provider());
        assert_eq!(stored.state, state);
        assert_eq!(stored.faults, []);
    }
}

#[test]
fn an_empty_secret_is_an_empty_state_and_no_fault() {
    for secret in [Secret::default(), Secret { data: Some(BTreeMap::new()), ..Secret::default() }] {
        let stored = read(&secret, &provider());
        assert_eq!((stored.state, stored.faults), (State::default(), vec![]));
    }
}

#[test]
fn what_is_not_ours_stays() {
    let mut secret = secret(&full());
    secret.data.as_mut().unwrap().insert("theirs".to_owned(), ByteString(vec![1]));
    secret.metadata.annotations.as_mut().unwrap().insert("theirs".to_owned(), "too".to_owned());
    write(&mut secret, &State::default());
    assert_eq!(secret.data.unwrap().into_keys().collect::<Vec<_>>(), ["theirs"]);
    assert_eq!(secret.metadata.annotations.unwrap().into_keys().collect::<Vec<_>>(), ["theirs"]);
}

#[test]
fn each_damage_costs_only_what_it_touches() {
    type Damage = fn(&mut BTreeMap<String, ByteString>);
    let garbage = || ByteString(b"garbage \xff".to_vec());
    let full = full();
    let judge = |damage: &dyn Fn(&mut BTreeMap<String, ByteString>)| {
        let mut secret = secret(&full);
        damage(secret.data.as_mut().unwrap());
        let stored = read(&secret, &provider());
        let State { signing, next, retired, serving, .. } = &stored.state;
        let left = (serving.is_some(), signing.is_some(), next.is_some(), retired.len());
        (left, stored.faults)
    };
    let serving = |refusal| vec![Fault::Serving(refusal)];
    let gone: [(&str, _, _); 5] = [
        ("tls.crt", (false, true, true, 1), serving(Refusal::NoCertificate)),
        ("tls.key", (false, true, true, 1), serving(Refusal::NoKey)),
        ("ca.key", (true, false, true, 2), vec![]),
        ("ca-next.key", (true, true, false, 2), vec![]),
        (
            "ca.crt",
            (false, false, false, 0),
            vec![Fault::Serving(Refusal::UnknownIssuer), Fault::Key("ca.key"), Fault::Key("ca-next.key")],
        ),
    ];
    for (key, left, faults) in gone {
        assert_eq!(judge(&|data| drop(data.remove(key))), (left, faults), "{key} removed");
    }
    let damaged: [(&str, _, _); 5] = [
        ("tls.crt", (false, true, true, 1), serving(Refusal::NoCertificate)),
        ("tls.key", (false, true, true, 1), serving(Refusal::NoKey)),
        ("ca.key", (true, false, true, 2), vec![Fault::Key("ca.key")]),
        ("ca-next.key", (true, true, false, 2), vec![Fault::Key("ca-next.key")]),
        // Bytes without a PEM block hold no certificate: as if removed.
        (
            "ca.crt",
            (false, false, false, 0),
            vec![Fault::Serving(Refusal::UnknownIssuer), Fault::Key("ca.key"), Fault::Key("ca-next.key")],
        ),
    ];
    for (key, left, faults) in damaged {
        assert_eq!(
            judge(&|data| drop(data.insert(key.to_owned(), garbage()))),
            (left, faults),
            "{key} damaged"
        );
    }
    let swapped: Damage = |data| {
        let key = data["ca.key"].clone();
        data.insert("tls.key".to_owned(), key);
    };
    assert_eq!(judge(&swapped), ((false, true, true, 1), serving(Refusal::KeyMismatch)));
}

#[test]
fn a_certificate_of_a_stranger_is_not_served() {
    let mut state = full();
    let mut mint = Minter { lifetimes: lifetimes() };
    let stranger = mint.authority(at(2200)).unwrap();
    state.serving = Some(mint.leaf(&stranger, &["a.b.svc".to_owned()].into(), at(2200)).unwrap());
    let stored = read(&secret(&state), &provider());
    assert!(stored.state.serving.is_none());
    assert_eq!(stored.faults, [Fault::Serving(Refusal::UnknownIssuer)]);
}
