//! What is known of one kind: the newest that was heard of each object, also from our own writes.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use tokio::sync::watch;

/// Names an object of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its namespace, unless it is in none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl Key {
    /// An object that is in no namespace.
    pub fn cluster_wide(name: impl Into<String>) -> Self {
        Self { namespace: None, name: name.into() }
    }

    /// An object in a namespace.
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), name: name.into() }
    }

    /// The object that this is the metadata of.
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self { namespace: metadata.namespace.clone(), name: metadata.name.clone().unwrap_or_default() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// What happened to an object.
#[derive(Debug)]
pub struct Change<'a, K> {
    /// As it was known before.
    pub old: Option<&'a K>,
    /// As it is now.
    pub new: Option<&'a K>,
}

/// What is known of an object that is not what its kind should be.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// Its metadata, which can always be read.
    pub metadata: ObjectMeta,
    /// What is wrong with the rest.
    pub why: String,
    /// Whether the object says so of itself.
    pub is_told: bool,
}

/// Under which words an object is found besides its name.
type Index<K> = fn(&K) -> Vec<String>;

/// All objects of one kind that were heard of, by name and by index. Cheap to clone. Of an object that became unreadable,
/// what it was before is still known: others that build on it are not to be torn down by a slip of somebody's pen.
pub struct Cache<K> {
    inner: Arc<RwLock<Inner<K>>>,
    synced: Arc<watch::Sender<bool>>,
    index: Index<K>,
}

struct Inner<K> {
    objects: HashMap<Key, Arc<K>>,
    unreadable: HashMap<Key, Arc<Unreadable>>,
    index: HashMap<String, BTreeSet<Key>>,
    /// While the kind is listed: what we wrote meanwhile, which the list may be too old to have.
    learned: Option<BTreeSet<Key>>,
}

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), synced: self.synced.clone(), index: self.index }
    }
}

impl<K> fmt::Debug for Cache<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("synced", &*self.synced.borrow()).finish_non_exhaustive()
    }
}

impl<K: Resource> Cache<K> {
    /// Knows nothing yet. `index` gives the words under which [`by`](Self::by) finds an object.
    pub fn new(index: Index<K>) -> Self {
        let inner = Inner {
            objects: HashMap::new(),
            unreadable: HashMap::new(),
            index: HashMap::new(),
            learned: None,
        };
        Self { inner: Arc::new(RwLock::new(inner)), synced: Arc::new(watch::Sender::new(false)), index }
    }

    /// The object.
    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        self.read().objects.get(key).cloned()
    }

    /// What is wrong with the object, if it cannot be read as it now is.
    pub fn unreadable(&self, key: &Key) -> Option<Arc<Unreadable>> {
        self.read().unreadable.get(key).cloned()
    }

    /// The objects under that word, by name.
    pub fn by(&self, word: &str) -> Vec<Arc<K>> {
        let inner = self.read();
        let keys = inner.index.get(word).into_iter().flatten();
        keys.filter_map(|key| inner.objects.get(key).cloned()).collect()
    }

    /// Everything.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.read().objects.values().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of everything, also of what cannot be read.
    pub fn keys(&self) -> Vec<Key> {
        let inner = self.read();
        let unreadable = inner.unreadable.keys().filter(|key| !inner.objects.contains_key(*key));
        inner.objects.keys().chain(unreadable).cloned().collect()
    }

    /// Whether the kind has been listed.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits until the kind has been listed.
    pub async fn synced(&self) {
        // The sender is here, so it cannot fail.
        let _ = self.synced.subscribe().wait_for(|is_synced| *is_synced).await;
    }

    /// Takes in what a write returned, so that the next look sees it although no watch has told yet.
    pub fn learn(&self, object: K) {
        if let Some(learned) = &mut self.write().learned {
            learned.insert(Key::of(object.meta()));
        }
        self.take_in(object, |_| {});
    }

    /// Takes in an object that is at least as new as what is known, and tells of it if it is newer.
    pub(super) fn take_in(&self, object: K, tell: impl FnOnce(Change<'_, K>)) {
        let (key, new) = (Key::of(object.meta()), Arc::new(object));
        let mut inner = self.write();
        let old = inner.objects.get(&key).cloned();
        if old.as_ref().is_some_and(|old| version(old.meta()) >= version(new.meta())) {
            return;
        }
        if inner.unreadable.get(&key).is_some_and(|it| version(&it.metadata) >= version(new.meta())) {
            return;
        }
        inner.unreadable.remove(&key);
        self.forget_words(&mut inner, &key, old.as_deref());
        for word in (self.index)(&new) {
            inner.index.entry(word).or_default().insert(key.clone());
        }
        inner.objects.insert(key, new.clone());
        drop(inner);
        tell(Change { old: old.as_deref(), new: Some(&new) });
    }

    /// Notes that an object cannot be read as it now is. Whether that is new.
    pub(super) fn note(&self, unreadable: Unreadable) -> bool {
        let (key, new) = (Key::of(&unreadable.metadata), version(&unreadable.metadata));
        let mut inner = self.write();
        let is_known = inner.objects.get(&key).is_some_and(|it| version(it.meta()) >= new)
            || inner.unreadable.get(&key).is_some_and(|it| version(&it.metadata) >= new);
        if !is_known {
            inner.unreadable.insert(key, Arc::new(unreadable));
        }
        !is_known
    }

    /// Forgets an object that is gone, unless something newer of that name is known.
    pub(super) fn take_out(&self, gone: &ObjectMeta, tell: impl FnOnce(Change<'_, K>)) {
        let key = Key::of(gone);
        let mut inner = self.write();
        if inner.unreadable.get(&key).is_some_and(|it| version(&it.metadata) <= version(gone)) {
            inner.unreadable.remove(&key);
        }
        let Some(old) = inner.objects.get(&key).cloned() else { return };
        if version(old.meta()) > version(gone) {
            return;
        }
        self.forget_words(&mut inner, &key, Some(&old));
        inner.objects.remove(&key);
        drop(inner);
        tell(Change { old: Some(&old), new: None });
    }

    /// Everything is about to be listed.
    pub(super) fn begin_list(&self) {
        self.write().learned = Some(BTreeSet::new());
    }

    /// Everything was listed: what is not among it is gone, unless we wrote it meanwhile.
    pub(super) fn keep_only(&self, listed: &BTreeSet<Key>, mut tell: impl FnMut(Change<'_, K>)) {
        let learned = self.write().learned.take().unwrap_or_default();
        let is_gone = |key: &Key| !listed.contains(key) && !learned.contains(key);
        let gone: Vec<Key> = self.keys().into_iter().filter(is_gone).collect();
        for key in gone {
            let mut inner = self.write();
            inner.unreadable.remove(&key);
            let Some(old) = inner.objects.remove(&key) else { continue };
            self.forget_words(&mut inner, &key, Some(&old));
            drop(inner);
            tell(Change { old: Some(&old), new: None });
        }
        self.synced.send_replace(true);
    }

    fn forget_words(&self, inner: &mut Inner<K>, key: &Key, old: Option<&K>) {
        for word in old.map(self.index).unwrap_or_default() {
            if let Some(keys) = inner.index.get_mut(&word) {
                keys.remove(key);
                if keys.is_empty() {
                    inner.index.remove(&word);
                }
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner<K>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner<K>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Versions of one kind can be compared as numbers. One that is none is older than all.
fn version(metadata: &ObjectMeta) -> u128 {
    metadata.resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    fn object(name: &str, version: u32, word: &str) -> ConfigMap {
        serde_json::from_value(json!({ "metadata": {
            "name": name, "namespace": "n", "resourceVersion": version.to_string(), "labels": { "word": word } } }))
        .unwrap()
    }

    fn cache() -> Cache<ConfigMap> {
        Cache::new(|object| object.metadata.labels.iter().filter_map(|it| it.get("word").cloned()).collect())
    }

    fn names(found: Vec<Arc<ConfigMap>>) -> Vec<String> {
        found.iter().map(|object| object.metadata.name.clone().unwrap()).collect()
    }

    #[test]
    fn objects_are_found_by_name_and_by_word() {
        let cache = cache();
        for (name, word) in [("b", "x"), ("a", "x"), ("c", "y")] {
            cache.learn(object(name, 1, word));
        }
        assert_eq!(names(cache.by("x")), ["a", "b"]);
        cache.learn(object("a", 2, "y"));
        assert_eq!(
            (names(cache.by("x")), names(cache.by("y"))),
            (vec!["b".into()], vec!["a".into(), "c".into()])
        );
        assert!(cache.get(&Key::namespaced("n", "c")).is_some() && cache.len() == 3);
    }

    #[test]
    fn nothing_older_replaces_what_is_known_and_our_own_writes_are_no_news() {
        let (cache, mut told) = (cache(), 0);
        cache.learn(object("a", 5, "x"));
        for version in [4, 5] {
            cache.take_in(object("a", version, "y"), |_| told += 1);
        }
        cache.take_out(&object("a", 4, "x").metadata, |_| told += 1);
        assert_eq!((told, names(cache.by("x"))), (0, vec!["a".to_owned()]));
        cache.take_in(object("a", 6, "x"), |change| told += u32::from(change.old.is_some()));
        cache.take_out(&object("a", 7, "x").metadata, |change| told += u32::from(change.new.is_none()));
        assert_eq!((told, cache.len()), (2, 0));
    }

    #[test]
    fn what_became_unreadable_is_noted_once_and_known_as_it_was() {
        let (cache, key) = (cache(), Key::namespaced("n", "a"));
        let unreadable = |version| Unreadable {
            metadata: object("a", version, "x").metadata,
            why: "?".into(),
            is_told: false,
        };
        cache.learn(object("a", 5, "x"));
        assert!(!cache.note(unreadable(5)) && cache.unreadable(&key).is_none());
        assert!(cache.note(unreadable(6)) && !cache.note(unreadable(6)));
        assert_eq!((names(cache.by("x")), cache.keys().len()), (vec!["a".to_owned()], 1));
        cache.learn(object("a", 7, "x"));
        assert!(cache.unreadable(&key).is_none(), "it was mended");
        assert!(cache.note(unreadable(8)));
        cache.take_out(&object("a", 9, "x").metadata, |_| {});
        assert!(cache.keys().is_empty() && cache.unreadable(&key).is_none());
    }

    #[test]
    fn what_is_not_listed_any_more_is_gone() {
        let (cache, mut gone) = (cache(), Vec::new());
        for name in ["a", "b"] {
            cache.learn(object(name, 1, "x"));
        }
        assert!(!cache.is_synced());
        cache.keep_only(&BTreeSet::from([Key::namespaced("n", "b")]), |change| {
            gone.extend(change.old.map(|old| old.metadata.name.clone().unwrap()));
        });
        assert_eq!((gone, names(cache.by("x"))), (vec!["a".to_owned()], vec!["b".to_owned()]));
        assert!(cache.is_synced());
    }

    #[test]
    fn what_was_written_during_a_list_outlives_that_list_and_no_other() {
        let cache = cache();
        cache.learn(object("before", 1, "x"));
        cache.begin_list();
        cache.learn(object("meanwhile", 2, "x"));
        cache.keep_only(&BTreeSet::new(), |_| {});
        assert_eq!(names(cache.by("x")), ["meanwhile"]);
        cache.begin_list();
        cache.keep_only(&BTreeSet::new(), |_| {});
        assert!(cache.is_empty());
    }
}
