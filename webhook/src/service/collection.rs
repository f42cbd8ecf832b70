//! Objects of one resource, and the changes that led to them, for whoever lists and watches.
//!
//! A resourceVersion says what a collection holds and not when it did: it is a sum over all objects, of a hash of each. So
//! replicas that hold the same objects give them the same version, though each came to them by itself, and a client that
//! goes from one replica to another goes on where it was. Every single change leads to a version of its own, so that a
//! client that saw half of several changes is told the other half. A version that a replica does not remember, because it
//! is too long ago or another replica's, is expired, and the client lists again.
//!
//! Versions are numbers, since some clients read them as such, but they do not grow.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::selector::Selected;
use super::table::at;

/// How many changes are remembered. A client that is further behind lists again.
const CHANGES: usize = 1024;
/// How many contents are remembered for lists that are read page by page.
const CONTENTS: usize = 8;

/// Namespace and name; lists are in this order.
pub(super) type Key = (String, String);

/// What a collection holds: all that it holds, and nothing else.
pub(super) type Version = u64;

/// An object as it is shown, but for its resourceVersion.
#[derive(Debug, PartialEq)]
pub(super) struct Stored {
    key: Key,
    labels: BTreeMap<String, String>,
    value: Value,
    mark: u64,
}

impl Stored {
    /// `value` has everything but a resourceVersion.
    pub(super) fn new(value: Value) -> Self {
        let text = |field: &str| at(&value, field).as_str().unwrap_or_default().to_owned();
        let key = (text("/metadata/namespace"), text("/metadata/name"));
        let labels = at(&value, "/metadata/labels").as_object().into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        let mark = number(value.to_string().as_bytes());
        Self { key, labels: labels.collect(), mark, value }
    }

    pub(super) fn selected(&self) -> Selected<'_> {
        Selected { namespace: &self.key.0, name: &self.key.1, labels: &self.labels }
    }

    /// As it is sent, of a collection with that version.
    pub(super) fn at(&self, version: Version) -> Value {
        let mut value = self.value.clone();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), version.to_string().into());
        }
        value
    }
}

/// The first 63 bits of a hash: the numbers that every language has.
fn number(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    let bytes = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    bytes >> 1
}

/// All objects at one moment.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) version: Version,
    pub(super) objects: BTreeMap<Key, Arc<Stored>>,
}

/// One object that came, changed or went.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// What the collection is with it.
    pub(super) version: Version,
    pub(super) before: Option<Arc<Stored>>,
    pub(super) after: Option<Arc<Stored>>,
}

/// A collection now, and how it came to be.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// The version before the oldest change that is remembered, and how many changes came before that one.
    oldest: (Version, u64),
    changes: VecDeque<Change>,
    contents: VecDeque<Arc<Content>>,
    now: Arc<Content>,
}

impl History {
    /// `seed` tells the collection from others, also while both are empty.
    fn new(seed: &str) -> Self {
        let version = number(seed.as_bytes());
        let now = Arc::new(Content { version, objects: BTreeMap::new() });
        Self { oldest: (version, 0), changes: VecDeque::new(), contents: VecDeque::new(), now }
    }

    pub(super) fn now(&self) -> &Arc<Content> {
        &self.now
    }

    /// How many changes there were in all: where whoever has seen everything stands.
    pub(super) fn end(&self) -> u64 {
        self.oldest.1 + self.changes.len() as u64
    }

    /// Where whoever holds this version stands, if that is remembered. A content that there was twice is the later one: it
    /// is the same content.
    pub(super) fn place(&self, version: Version) -> Option<u64> {
        let after = self.changes.iter().rposition(|change| change.version == version);
        match after {
            Some(at) => Some(self.oldest.1 + at as u64 + 1),
            None => (self.oldest.0 == version).then_some(self.oldest.1),
        }
    }

    /// What came after that place; nothing if not all of it is remembered.
    pub(super) fn after(&self, place: u64) -> Option<impl Iterator<Item = &Change>> {
        let skipped = usize::try_from(place.checked_sub(self.oldest.1)?).ok()?;
        Some(self.changes.iter().skip(skipped))
    }

    /// The whole content with that version, if it is remembered.
    pub(super) fn content(&self, version: Version) -> Option<&Arc<Content>> {
        let all = std::iter::once(&self.now).chain(self.contents.iter().rev());
        all.into_iter().find(|content| content.version == version)
    }

    /// Takes these objects in place of all before. Nothing if they are the same.
    fn replace(&self, objects: BTreeMap<Key, Arc<Stored>>) -> Option<Self> {
        let mut next = self.clone();
        let mut version = self.now.version;
        let keys = self.now.objects.keys().chain(objects.keys());
        let keys: std::collections::BTreeSet<&Key> = keys.collect();
        for key in keys {
            let (before, after) = (self.now.objects.get(key), objects.get(key));
            if before.map(|it| it.mark) == after.map(|it| it.mark) {
                continue;
            }
            let mark = |stored: Option<&Arc<Stored>>| stored.map_or(0, |stored| stored.mark);
            version = moved(version, mark(before), mark(after));
            next.changes.push_back(Change { version, before: before.cloned(), after: after.cloned() });
        }
        if next.changes.len() == self.changes.len() {
            return None;
        }
        while next.changes.len() > CHANGES {
            if let Some(forgotten) = next.changes.pop_front() {
                next.oldest = (forgotten.version, next.oldest.1 + 1);
            }
        }
        next.contents.push_back(std::mem::replace(&mut next.now, Arc::new(Content { version, objects })));
        while next.contents.len() > CONTENTS {
            next.contents.pop_front();
        }
        Some(next)
    }
}

/// The sum without one and with the other. Zero means something else to clients.
fn moved(version: Version, before: u64, after: u64) -> Version {
    let mask = u64::MAX >> 1;
    (version.wrapping_sub(before).wrapping_add(after) & mask).max(1)
}

/// The objects of one resource.
#[derive(Debug)]
pub(super) struct Collection {
    history: watch::Sender<Arc<History>>,
}

impl Collection {
    /// An empty one, of the resource of that name.
    pub(super) fn new(resource: &str) -> Self {
        Self { history: watch::Sender::new(Arc::new(History::new(resource))) }
    }

    /// Takes these objects in place of all before.
    pub(super) fn replace(&self, objects: impl IntoIterator<Item = Stored>) {
        let objects: BTreeMap<Key, Arc<Stored>> =
            objects.into_iter().map(|stored| (stored.key.clone(), Arc::new(stored))).collect();
        self.history.send_if_modified(|history| match history.replace(objects) {
            Some(next) => {
                *history = Arc::new(next);
                true
            }
            None => false,
        });
    }

    pub(super) fn now(&self) -> Arc<History> {
        self.history.borrow().clone()
    }

    pub(super) fn follow(&self) -> watch::Receiver<Arc<History>> {
        self.history.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(name: &str, says: &str) -> Stored {
        Stored::new(
            json!({ "metadata": { "name": name, "labels": { "says": says } }, "spec": { "says": says } }),
        )
    }

    fn holding(objects: &[(&str, &str)]) -> Collection {
        let collection = Collection::new("things");
        collection.replace(objects.iter().map(|(name, says)| stored(name, says)));
        collection
    }

    #[test]
    fn the_version_is_that_of_the_content_however_it_came_to_be() {
        let one = holding(&[("a", "1"), ("b", "2")]);
        let other = holding(&[("b", "3"), ("c", "4")]);
        assert_ne!(one.now().now().version, other.now().now().version);
        other.replace([stored("b", "2"), stored("a", "1")]);
        assert_eq!(one.now().now().version, other.now().now().version);
        // Not that of an empty one, and nothing that clients take for a wish.
        assert_ne!(one.now().now().version, Collection::new("things").now().now().version);
        assert_ne!(
            Collection::new("things").now().now().version,
            Collection::new("others").now().now().version
        );
    }

    #[test]
    fn who_saw_half_of_a_change_is_told_the_other_half_and_by_any_replica() {
        let collection = holding(&[("a", "1"), ("b", "1")]);
        let before = collection.now().now().version;
        collection.replace([stored("a", "2"), stored("c", "1")]);
        let history = collection.now();
        let changes: Vec<&Change> = history.after(history.place(before).unwrap()).unwrap().collect();
        assert_eq!(changes.len(), 3);
        let rest: Vec<Version> = {
            let place = history.place(changes[0].version).unwrap();
            history.after(place).unwrap().map(|change| change.version).collect()
        };
        assert_eq!(rest, [changes[1].version, changes[2].version]);
        assert_eq!(changes[2].version, history.now().version);
        assert_eq!(history.place(history.now().version), Some(history.end()));

        let elsewhere = holding(&[("a", "2"), ("b", "1")]);
        assert_eq!(elsewhere.now().now().version, changes[0].version);
        elsewhere.replace([stored("a", "2"), stored("c", "1")]);
        let history = elsewhere.now();
        let seen: Vec<Version> =
            history.after(history.place(changes[0].version).unwrap()).unwrap().map(|it| it.version).collect();
        assert_eq!(seen, rest);
    }

    #[test]
    fn a_version_that_nobody_remembers_has_no_place() {
        let collection = holding(&[("a", "1")]);
        let old = collection.now().now().version;
        assert_eq!(collection.now().place(old.wrapping_add(1)), None);
        for number in 0..=CHANGES {
            collection.replace([stored("a", &format!("{number}-th"))]);
        }
        let history = collection.now();
        assert_eq!(history.place(old), None);
        assert!(history.after(0).is_none());
        assert_eq!(history.after(history.end()).unwrap().count(), 0);
        assert!(history.content(old).is_none() && history.content(history.now().version).is_some());
    }

    #[test]
    fn the_same_again_is_no_change() {
        let collection = holding(&[("a", "1")]);
        let mut follower = collection.follow();
        follower.mark_unchanged();
        collection.replace([stored("a", "1")]);
        assert!(!follower.has_changed().unwrap());
        collection.replace([]);
        assert!(follower.has_changed().unwrap());
    }
}
