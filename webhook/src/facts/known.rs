//! What has been heard so far: the one place where facts change. No I/O and no clock of its own.
//!
//! Until a kind has been listed once, and after nothing good was heard of it for a while, it counts as unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::time::{Duration, Instant};

use butler_api::reference::NsRef;
use butler_policies::facts::{Fact, FactKey, FactKind, Facts, Lookup};
use butler_policies::policy::{ParamScope, WantedParams};

use super::credentials::Credentials;
use super::kept::Entry;

/// The kinds that are watched.
pub(super) const KINDS: [FactKind; 11] = [
    FactKind::Config,
    FactKind::Team,
    FactKind::Cluster,
    FactKind::Addon,
    FactKind::Definition,
    FactKind::Provider,
    FactKind::Pool,
    FactKind::Allocation,
    FactKind::CreationPolicy,
    FactKind::User,
    FactKind::Namespace,
];

/// What is watched as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shelved {
    /// A kind that rules look at.
    Kind(FactKind),
    /// Params of policies.
    Params(WantedParams),
}

impl Shelved {
    pub(super) fn kind(&self) -> FactKind {
        match self {
            Self::Kind(kind) => *kind,
            Self::Params(_) => FactKind::Param,
        }
    }
}

impl fmt::Display for Shelved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => kind.fmt(f),
            Self::Params(WantedParams { kind, namespace: None }) => kind.fmt(f),
            Self::Params(WantedParams { kind, namespace: Some(at) }) => write!(f, "{kind} in {at}"),
        }
    }
}

/// What a watch says.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    /// A list begins; what is not in it is gone.
    Listing,
    /// An object of that list.
    Listed(Entry),
    /// The list is complete.
    ListedAll,
    /// An object is new or has changed.
    Applied(Entry),
    /// An object is gone.
    Deleted(NsRef),
    /// Nothing new, but the watch lives.
    Alive,
}

/// Whether what was heard is worth a snapshot of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing changed, or more of the same burst follows.
    Wait,
    /// Readers should see it now.
    Publish,
}

impl News {
    pub(super) fn and(self, other: Self) -> Self {
        if self == Self::Publish { self } else { other }
    }
}

/// The facts and what is needed to keep them right.
#[derive(Debug)]
pub(super) struct Known {
    facts: Facts,
    shelves: BTreeMap<Shelved, Shelf>,
    people: HashMap<FactKey, BTreeMap<NsRef, Fact>>,
    credentials: Credentials,
}

/// The objects of one kind.
#[derive(Debug)]
struct Shelf {
    objects: HashMap<NsRef, FactKey>,
    /// What the list that is under way has shown.
    listing: Option<HashSet<NsRef>>,
    was_listed: bool,
    is_lost: bool,
    heard: Instant,
}

impl Shelf {
    fn new(now: Instant) -> Self {
        Self { objects: HashMap::new(), listing: None, was_listed: false, is_lost: true, heard: now }
    }
}

impl Known {
    /// Nothing is known yet.
    pub(super) fn new(now: Instant) -> Self {
        let mut facts = Facts::default();
        let shelves = KINDS.map(|kind| {
            facts.lose(kind);
            (Shelved::Kind(kind), Shelf::new(now))
        });
        Self { facts, shelves: shelves.into(), people: HashMap::new(), credentials: Credentials::default() }
    }

    /// The facts as they are now.
    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The Secrets that ProviderConfigs refer to.
    pub(super) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The kinds that have not been listed yet.
    pub(super) fn missing(&self) -> BTreeSet<FactKind> {
        let missing = self.shelves.iter().filter(|(_, shelf)| !shelf.was_listed);
        // Params come and go with policies; whoever needs one that is not there yet is told so.
        missing.map(|(shelf, _)| shelf.kind()).filter(|kind| *kind != FactKind::Param).collect()
    }

    /// How many objects there are of each kind, and when something good was last heard of it.
    pub(super) fn overview(&self) -> BTreeMap<FactKind, (usize, Instant)> {
        let mut overview = BTreeMap::new();
        for (at, shelf) in &self.shelves {
            let (objects, heard) = overview.entry(at.kind()).or_insert((0, shelf.heard));
            *objects += shelf.objects.len();
            *heard = shelf.heard.min(*heard);
        }
        overview
    }

    /// Params of policies are watched from now on; until they are listed, nobody can say what there is of them.
    pub(super) fn watch_params(&mut self, wanted: WantedParams, scope: ParamScope, now: Instant) -> News {
        self.facts.params.watch(wanted.kind.clone(), scope);
        self.shelves.insert(Shelved::Params(wanted), Shelf::new(now));
        News::Publish
    }

    /// They are not any more. What others of the kind know stays.
    pub(super) fn forget_params(&mut self, wanted: &WantedParams) -> News {
        let Some(shelf) = self.shelves.remove(&Shelved::Params(wanted.clone())) else { return News::Wait };
        self.facts.params.lose(wanted);
        let others = self.shelves.iter().filter_map(|(at, shelf)| match at {
            Shelved::Params(other) if other.kind == wanted.kind => Some(shelf),
            _ => None,
        });
        let others: Vec<&Shelf> = others.collect();
        if others.is_empty() {
            self.facts.params.forget(&wanted.kind);
        }
        for name in shelf.objects.into_keys() {
            if !others.iter().any(|other| other.objects.contains_key(&name)) {
                self.facts.params.learn(&wanted.kind, name, None);
            }
        }
        News::Publish
    }

    /// Takes in what a watch says.
    pub(super) fn hear(&mut self, kind: &Shelved, heard: Heard, now: Instant) -> News {
        let Some(shelf) = self.shelves.get_mut(kind) else { return News::Wait };
        // A list that begins is a question, not yet an answer.
        if !matches!(heard, Heard::Listing) {
            shelf.heard = now;
        }
        match heard {
            Heard::Listing => {
                shelf.listing = Some(HashSet::new());
                News::Wait
            }
            Heard::Listed(entry) => {
                if let Some(listing) = &mut shelf.listing {
                    listing.insert(entry.name.clone());
                }
                self.learn(kind, entry);
                News::Wait
            }
            Heard::ListedAll => {
                let seen = shelf.listing.take().unwrap_or_default();
                let gone: Vec<NsRef> =
                    shelf.objects.keys().filter(|name| !seen.contains(*name)).cloned().collect();
                shelf.was_listed = true;
                for name in gone {
                    self.forget(kind, &name);
                }
                self.regain(kind);
                News::Publish
            }
            Heard::Applied(entry) => {
                self.learn(kind, entry);
                self.regain(kind);
                News::Publish
            }
            Heard::Deleted(name) => {
                self.forget(kind, &name);
                self.regain(kind);
                News::Publish
            }
            Heard::Alive => self.regain(kind),
        }
    }

    /// Takes in whether a Secret exists. Answers about one that nobody refers to any more are late, and dropped.
    pub(super) fn hear_of_secret(&mut self, at: NsRef, fact: Fact) -> News {
        if !self.credentials.is_wanted(&at) {
            return News::Wait;
        }
        let is_old = matches!(
            (self.facts.secret(&at), &fact),
            (Lookup::Found(()), Fact::Secret)
                | (Lookup::Absent, Fact::Absent)
                | (Lookup::Unknown, Fact::Unreadable)
        );
        if is_old {
            return News::Wait;
        }
        self.facts.learn(FactKey::Secret(at), fact);
        News::Publish
    }

    /// Makes unknown what nothing good was heard of for that long, and says which kinds those are.
    pub(super) fn lose_silent(&mut self, now: Instant, patience: Duration) -> Vec<Shelved> {
        let mut lost = Vec::new();
        for (kind, shelf) in &mut self.shelves {
            if !shelf.is_lost && now.saturating_duration_since(shelf.heard) >= patience {
                shelf.is_lost = true;
                match kind {
                    Shelved::Kind(kind) => self.facts.lose(*kind),
                    Shelved::Params(wanted) => self.facts.params.lose(wanted),
                }
                lost.push(kind.clone());
            }
        }
        lost
    }

    /// While a list is under way, nobody knows what is gone: only its end makes a lost kind known again.
    fn regain(&mut self, kind: &Shelved) -> News {
        match self.shelves.get_mut(kind) {
            Some(shelf) if shelf.is_lost && shelf.was_listed && shelf.listing.is_none() => {
                shelf.is_lost = false;
                match kind {
                    Shelved::Kind(kind) => self.facts.regain(*kind),
                    Shelved::Params(wanted) => self.facts.params.regain_in(wanted),
                }
                News::Publish
            }
            _ => News::Wait,
        }
    }

    fn learn(&mut self, kind: &Shelved, entry: Entry) {
        let Some(shelf) = self.shelves.get_mut(kind) else { return };
        let Entry { name, key, fact } = entry;
        let old = shelf.objects.get(&name);
        let key = match (key, kind.kind()) {
            (Some(key), _) => key,
            // A User that cannot be read may still have the address that it had. One that never could be read is
            // kept under its name, which is nobody's address, so that not everybody is known.
            (None, FactKind::User) => old.cloned().unwrap_or_else(|| FactKey::User(name.name.clone())),
            // An object that does not count.
            (None, _) => return,
        };
        if let Some(old) = old.filter(|old| **old != key).cloned() {
            self.release(&old, &name);
        }
        if kind.kind() == FactKind::Provider {
            let secret = match &fact {
                Fact::Provider(provider) => provider.credentials(),
                _ => None,
            };
            self.refer(&name, secret);
        }
        if let Some(shelf) = self.shelves.get_mut(kind) {
            shelf.objects.insert(name.clone(), key.clone());
        }
        self.claim(key, name, fact);
    }

    fn forget(&mut self, kind: &Shelved, name: &NsRef) {
        let Some(key) = self.shelves.get_mut(kind).and_then(|shelf| shelf.objects.remove(name)) else {
            return;
        };
        if kind.kind() == FactKind::Provider {
            self.refer(name, None);
        }
        self.release(&key, name);
    }

    /// Several Users may claim one address. The first by name counts, so that the answer does not depend on the order
    /// in which they were heard of.
    fn claim(&mut self, key: FactKey, name: NsRef, fact: Fact) {
        if key.kind() != FactKind::User {
            return self.facts.learn(key, fact);
        }
        let claims = self.people.entry(key.clone()).or_default();
        claims.insert(name, fact);
        if let Some(first) = claims.values().next() {
            self.facts.learn(key, first.clone());
        }
    }

    fn release(&mut self, key: &FactKey, name: &NsRef) {
        let mut fact = Fact::Absent;
        if let Some(claims) = self.people.get_mut(key) {
            claims.remove(name);
            match claims.values().next() {
                Some(next) => fact = next.clone(),
                None => drop(self.people.remove(key)),
            }
        }
        self.facts.learn(key.clone(), fact);
    }

    fn refer(&mut self, provider: &NsRef, secret: Option<NsRef>) {
        if let Some(unwanted) = self.credentials.refer(provider, secret) {
            self.facts.learn(FactKey::Secret(unwanted), Fact::Absent);
        }
    }
}

#[cfg(test)]
mod tests;
