//! Large objects, found into by hash: looking up a key costs an expression the same whatever the size of the object.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::Node;

/// The keys of every large object, by where its children begin.
#[derive(Debug, Default)]
pub(super) struct Index {
    seed: RandomState,
    of: HashMap<u32, Vec<(u64, u32)>, RandomState>,
}

/// Objects with more keys than this are found into by hash.
pub(super) const FEW: usize = 16;

impl Index {
    /// The hash and the place of each key, ordered by hash.
    pub(super) fn hashed(&self, entries: &[Node<'_>]) -> Vec<(u64, u32)> {
        let hashes = entries.iter().map(|entry| self.seed.hash_one(entry.key.as_ref()));
        let mut hashed: Vec<(u64, u32)> = hashes.zip(0..).collect();
        hashed.sort_unstable();
        hashed
    }

    pub(super) fn add(&mut self, start: u32, hashed: Vec<(u64, u32)>) {
        self.of.insert(start, hashed);
    }

    pub(super) fn find<'n, 'a>(
        &self,
        start: u32,
        entries: &'n [Node<'a>],
        key: &str,
    ) -> Option<&'n Node<'a>> {
        let (hashed, wanted) = (self.of.get(&start)?, self.seed.hash_one(key));
        let first = hashed.partition_point(|(hash, _)| *hash < wanted);
        let same = hashed.get(first..)?.iter().take_while(|(hash, _)| *hash == wanted);
        same.filter_map(|(_, place)| entries.get(*place as usize)).find(|entry| entry.key == key)
    }
}
