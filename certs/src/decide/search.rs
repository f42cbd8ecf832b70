//! Every order in which two replicas can do what they do, and long random ones with more of everything.
//!
//! The model takes the real `decide` and `advance` and plays the API server: a Secret and registrations with
//! versions, looks made of single requests that anything may come between, a clock, and API servers that go on
//! with an old bundle for as long as the settling time. What must hold in every state: whatever a replica serves
//! with is signed by an authority in every bundle an API server may be using.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::convert::Infallible;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::advance::{Mint, advance};
use crate::certificate::Validity;
use crate::state::PrivateKey;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// An authority lives for 9 ticks, a certificate for 3; a bundle is everywhere after 1.
fn lifetimes() -> Lifetimes {
    let seconds = Duration::from_secs;
    Lifetimes::new(seconds(9), seconds(3), seconds(1)).unwrap()
}

fn names() -> BTreeSet<String> {
    BTreeSet::from(["a".to_owned()])
}

/// Names certificates after the version of the Secret they will be stored in, so that equal worlds are equal.
struct Stamp(u32);

impl Stamp {
    fn id(&self, kind: u8) -> Fingerprint {
        let mut id = [0; 32];
        id[0] = kind;
        id[1..5].copy_from_slice(&self.0.to_be_bytes());
        Fingerprint(id)
    }
}

impl Mint for Stamp {
    type Error = Infallible;

    fn authority(&mut self, now: Timestamp) -> Result<Authority, Infallible> {
        let validity = Validity { from: now, until: now + lifetimes().authority };
        let trusted = Trusted { id: self.id(b'a'), validity, certificate: "".into() };
        Ok(Authority { trusted, key: PrivateKey::new("") })
    }

    fn leaf(
        &mut self,
        signer: &Authority,
        names: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<Leaf, Infallible> {
        let until = (now + lifetimes().serving).min(signer.trusted.validity.until);
        Ok(Leaf {
            id: self.id(b'l'),
            issuer: signer.trusted.id,
            validity: Validity { from: now, until },
            names: names.clone(),
            certificate: "".into(),
            key: PrivateKey::new(""),
        })
    }
}

#[derive(Clone, Hash)]
struct Bundle {
    version: u32,
    content: Vec<Trusted>,
    /// Replaced ones with when: some API server may not have noticed.
    lingering: Vec<(Timestamp, Vec<Trusted>)>,
}

type Read = Option<(u32, State)>;

/// How far a replica is in its look; each variant is the next request it will make.
#[derive(Clone, Hash)]
enum Look {
    ReadSecret,
    ReadBundle { before: Option<u32>, bundles: Vec<(u32, Vec<Trusted>)> },
    ReadAgain { before: Option<u32>, bundles: Vec<(u32, Vec<Trusted>)> },
    Publish { secret: Read, bundles: Vec<(u32, Vec<Trusted>)>, index: usize, now: Timestamp },
    Store { secret: Read, bundles: Vec<(u32, Vec<Trusted>)>, now: Timestamp },
}

#[derive(Clone, Hash)]
struct Replica {
    serves: Option<Leaf>,
    look: Look,
}

impl Replica {
    fn has_seen_none(&self) -> bool {
        match &self.look {
            Look::ReadSecret => false,
            Look::ReadBundle { before, .. } | Look::ReadAgain { before, .. } => before.is_none(),
            Look::Publish { secret, .. } | Look::Store { secret, .. } => secret.is_none(),
        }
    }
}

#[derive(Clone, Hash)]
struct World {
    now: Timestamp,
    version: u32,
    secret: Read,
    bundles: Vec<Bundle>,
    replicas: Vec<Replica>,
    /// Every authority that has ever signed, with the end of the last certificate it signed.
    signers: BTreeMap<Fingerprint, Timestamp>,
    deletions: u32,
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Request(usize),
    Tick,
    DeleteSecret,
    Restart(usize),
}

impl World {
    fn empty(registrations: usize, replicas: usize) -> Self {
        let bundle = Bundle { version: 0, content: Vec::new(), lingering: Vec::new() };
        let replica = Replica { serves: None, look: Look::ReadSecret };
        Self {
            now: at(100),
            version: 0,
            secret: None,
            bundles: vec![bundle; registrations],
            replicas: vec![replica; replicas],
            signers: BTreeMap::new(),
            deletions: 0,
        }
    }

    /// One that has run for a while: everybody has done all there was to do.
    fn settled(registrations: usize, replicas: usize) -> Self {
        let mut world = Self::empty(registrations, replicas);
        for _ in 0..20 {
            world.everybody_looks();
        }
        world
    }

    fn everybody_looks(&mut self) {
        for replica in 0..self.replicas.len() {
            self.request(replica);
            while !matches!(self.replicas[replica].look, Look::ReadSecret) {
                self.request(replica);
            }
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Request(replica) => self.request(replica),
            Happening::Tick => {
                self.now += Duration::from_secs(1);
                for bundle in &mut self.bundles {
                    bundle.lingering.retain(|(replaced, _)| self.now < *replaced + lifetimes().settling);
                }
            }
            // A look that saw no Secret cannot tell one deletion from two. Nobody deletes twice within
            // milliseconds, so the model does not either.
            Happening::DeleteSecret if self.replicas.iter().any(Replica::has_seen_none) => {}
            Happening::DeleteSecret => {
                self.secret = None;
                self.deletions += 1;
            }
            Happening::Restart(replica) => {
                self.replicas[replica] = Replica { serves: None, look: Look::ReadSecret };
            }
        }
    }

    fn request(&mut self, replica: usize) {
        let look = std::mem::replace(&mut self.replicas[replica].look, Look::ReadSecret);
        let version = |secret: &Read| secret.as_ref().map(|(version, _)| *version);
        self.replicas[replica].look = match look {
            Look::ReadSecret => Look::ReadBundle { before: version(&self.secret), bundles: Vec::new() },
            Look::ReadBundle { before, mut bundles } => {
                let bundle = &self.bundles[bundles.len()];
                bundles.push((bundle.version, bundle.content.clone()));
                if bundles.len() < self.bundles.len() {
                    Look::ReadBundle { before, bundles }
                } else {
                    Look::ReadAgain { before, bundles }
                }
            }
            Look::ReadAgain { before, bundles } if version(&self.secret) == before => {
                let leaf = self.secret.as_ref().and_then(|(_, state)| state.serving.as_ref());
                if let Some(leaf) = leaf.filter(|leaf| !leaf.validity.is_over(self.now)) {
                    self.replicas[replica].serves = Some(leaf.clone());
                }
                Look::Publish { secret: self.secret.clone(), bundles, index: 0, now: self.now }
            }
            Look::ReadAgain { .. } => Look::ReadSecret,
            Look::Publish { secret, bundles, index, now } => {
                let wanted: Vec<Trusted> =
                    secret.iter().flat_map(|(_, state)| state.trusted()).cloned().collect();
                let (read, content) = &bundles[index];
                let bundle = &mut self.bundles[index];
                if !wanted.is_empty() && *content != wanted && *read == bundle.version {
                    bundle.version += 1;
                    let old = std::mem::replace(&mut bundle.content, wanted);
                    bundle.lingering.push((self.now, old));
                }
                if index + 1 < bundles.len() {
                    Look::Publish { secret, bundles, index: index + 1, now }
                } else {
                    Look::Store { secret, bundles, now }
                }
            }
            Look::Store { secret, bundles, now } => {
                self.store(secret, bundles, now);
                Look::ReadSecret
            }
        };
    }

    fn store(&mut self, secret: Read, bundles: Vec<(u32, Vec<Trusted>)>, now: Timestamp) {
        let seen = |(_, trusted)| Seen { trusted, is_refused: false };
        let bundles: Vec<_> = bundles.into_iter().map(seen).collect();
        let read = secret.as_ref().map(|(version, _)| *version);
        let state = secret.map(|(_, state)| state).unwrap_or_default();
        let step = decide(&state, &bundles, &names(), &lifetimes(), now);
        if matches!(step, Step::Rest { .. }) || read != self.secret.as_ref().map(|(version, _)| *version) {
            return;
        }
        self.version += 1;
        let mut stamp = Stamp(self.version);
        let Ok(state) = advance(state, &step, &names(), &lifetimes(), now, &mut stamp);
        self.signers.extend(state.serving.as_ref().map(|leaf| (leaf.issuer, leaf.validity.until)));
        self.secret = Some((self.version, state));
    }

    /// The certificate and the bundle that do not fit, if there are any.
    fn failure(&self) -> Option<String> {
        let served = self.replicas.iter().filter_map(|replica| replica.serves.as_ref());
        for leaf in served.filter(|leaf| !leaf.validity.is_over(self.now)) {
            for bundle in &self.bundles {
                let lingering = bundle.lingering.iter().map(|(_, content)| content);
                // Before the first start, or when all slept until every certificate was over, no bundle lets
                // anybody through, and the way out need not wait.
                let lets_through =
                    |trusted: &Trusted| self.signers.get(&trusted.id).is_some_and(|until| self.now < *until);
                let is_of_use = |content: &&Vec<Trusted>| content.iter().any(lets_through);
                for content in lingering.chain([&bundle.content]).filter(is_of_use) {
                    if !content.iter().any(|trusted| trusted.id == leaf.issuer) {
                        return Some(format!("{:?} is not trusted by {content:?}", leaf.issuer));
                    }
                }
            }
        }
        None
    }
}

/// Depth first through every world reachable until `end`. Gives how many there are.
fn search(start: World, end: Timestamp, deletions: u32) -> usize {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut known = HashSet::new();
    let mut open = vec![start];
    while let Some(world) = open.pop() {
        if !known.insert(hasher.hash_one(&world)) {
            continue;
        }
        assert_eq!(world.failure(), None, "at {}", world.now);
        let mut follow = |happening| {
            let mut next = world.clone();
            next.happen(happening);
            open.push(next);
        };
        for replica in 0..world.replicas.len() {
            follow(Happening::Request(replica));
        }
        if world.now < end {
            follow(Happening::Tick);
        }
        if world.deletions < deletions && world.secret.is_some() {
            follow(Happening::DeleteSecret);
        }
    }
    known.len()
}

#[test]
fn no_order_of_two_replicas_breaks_a_rotation() {
    let mut world = World::settled(1, 2);
    // Up to the moment before the authority is due: leaves were renewed, nothing else.
    for _ in 0..5 {
        world.happen(Happening::Tick);
        world.everybody_looks();
    }
    let end = world.now + Duration::from_secs(4);
    let worlds = search(world, end, 0);
    println!("{worlds} worlds");
    assert!(worlds > 10_000);
}

#[test]
fn no_order_of_two_replicas_breaks_the_first_start() {
    let worlds = search(World::empty(1, 2), at(101), 0);
    println!("{worlds} worlds");
    assert!(worlds > 100);
}

#[test]
fn no_order_of_two_replicas_breaks_the_loss_of_the_secret() {
    let world = World::settled(1, 2);
    let end = world.now + Duration::from_secs(2);
    let worlds = search(world, end, 2);
    println!("{worlds} worlds");
    assert!(worlds > 1_000);
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        60 => (0..3_usize).prop_map(Happening::Request),
        4 => Just(Happening::Tick),
        1 => (0..3_usize).prop_map(Happening::Restart),
        1 => Just(Happening::DeleteSecret),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn three_replicas_and_two_registrations_stay_in_step(happenings in prop::collection::vec(happening(), 1..1500)) {
        let mut world = World::empty(2, 3);
        for happening in happenings {
            world.happen(happening);
            prop_assert_eq!(world.failure(), None);
        }
        // Left alone, everybody ends up serving what is stored, trusted by all.
        for _ in 0..4 {
            world.happen(Happening::Tick);
            (0..12).for_each(|_| world.everybody_looks());
        }
        let (_, state) = world.secret.clone().unwrap();
        prop_assert!(state.serving.is_some());
        for replica in &world.replicas {
            prop_assert_eq!(&replica.serves, &state.serving);
        }
        for bundle in &world.bundles {
            prop_assert!(bundle.content.iter().eq(state.trusted()));
        }
    }
}
