//! A map whose copies share what they have in common.
//!
//! A new snapshot of the facts is published for every watch event, so copying must not cost the number of
//! objects. The entries are spread over a fixed number of parts; a write copies the list of parts and the one
//! part that it touches, and shares all others with the snapshots that are still being read.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::fast::RandomState;

/// With 10,000 objects a part holds about 160 entries, each a pair of pointers: copying one takes a
/// microsecond or two, as does copying the list of parts.
const PARTS: usize = 64;

type Part<K, V> = HashMap<Arc<K>, V, RandomState>;
type Parts<K, V> = Vec<Option<Arc<Part<K, V>>>>;

/// A map that is cheap to copy and cheap to change after it was copied.
#[derive(Debug)]
pub struct SharedMap<K: ?Sized, V> {
    /// No list at all while the map is empty: most teams have few clusters, and an index has one map per team.
    parts: Option<Arc<Parts<K, V>>>,
    hasher: RandomState,
    len: usize,
}

impl<K: ?Sized, V> Clone for SharedMap<K, V> {
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), hasher: self.hasher.clone(), len: self.len }
    }
}

impl<K: ?Sized, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        Self { parts: None, hasher: RandomState::default(), len: 0 }
    }
}

impl<K: Hash + Eq + ?Sized, V: Clone> SharedMap<K, V> {
    /// The entry of that key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.parts.as_ref()?.get(self.part_of(key))?.as_ref()?.get(key)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let parts = self.parts.iter().flat_map(|parts| parts.iter()).flatten();
        parts.flat_map(|part| part.iter()).map(|(key, value)| (&**key, value))
    }

    /// Sets the entry and returns the one that was there.
    pub fn insert(&mut self, key: Arc<K>, value: V) -> Option<V> {
        let part = self.part_of(&key);
        let parts = self.parts.get_or_insert_with(|| Arc::new(vec![None; PARTS]));
        let slot = Arc::make_mut(parts).get_mut(part)?;
        let old = Arc::make_mut(slot.get_or_insert_default()).insert(key, value);
        self.len += usize::from(old.is_none());
        old
    }

    /// Removes the entry and returns it.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes the entry and returns it with its key.
    pub fn remove_entry(&mut self, key: &K) -> Option<(Arc<K>, V)> {
        self.get(key)?;
        let part = self.part_of(key);
        let slot = Arc::make_mut(self.parts.as_mut()?).get_mut(part)?.as_mut()?;
        let old = Arc::make_mut(slot).remove_entry(key);
        self.len -= usize::from(old.is_some());
        old
    }

    fn part_of(&self, key: &K) -> usize {
        // Inside a part another hasher, with another secret, chooses the slot.
        (self.hasher.hash_one(key) >> 32) as usize % PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_does_not_see_later_changes() {
        let mut map: SharedMap<str, u32> = SharedMap::default();
        for number in 0..1000_u32 {
            map.insert(Arc::from(number.to_string()), number);
        }
        let before = map.clone();
        assert_eq!(map.insert("7".into(), 70), Some(7));
        assert_eq!(map.remove("8"), Some(8));
        assert_eq!(map.remove("8"), None);
        assert_eq!((map.get("7"), map.get("8"), map.len()), (Some(&70), None, 999));
        assert_eq!((before.get("7"), before.get("8"), before.len()), (Some(&7), Some(&8), 1000));
        assert_eq!(before.iter().map(|(_, number)| u64::from(*number)).sum::<u64>(), 499_500);
    }

    #[test]
    fn untouched_parts_are_shared() {
        let mut map: SharedMap<str, u32> = SharedMap::default();
        for number in 0..1000_u32 {
            map.insert(Arc::from(number.to_string()), number);
        }
        let before = map.clone();
        map.insert("new".into(), 1);
        let (Some(old), Some(new)) = (&before.parts, &map.parts) else { panic!("parts") };
        let shared = old.iter().zip(new.iter()).filter(|pair| match pair {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            _ => false,
        });
        assert_eq!(shared.count(), PARTS - 1);
    }
}
