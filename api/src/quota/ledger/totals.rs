//! The sums of a ledger, kept as its slots change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Slot;
use crate::quota::dimension::Dimension;
use crate::quota::holding::Holding;
use crate::quota::limit::Scope;
use crate::reference::NsRef;

/// What a line of a ledger takes beside its name and its numbers: uid, separators, quotes, and places in the lists of
/// environments, owners and providers.
const WIDTH: usize = 22 + 12 + 4 + 3 * 5;
/// What a name in a list takes beside itself: quotes and a comma.
const AROUND: usize = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Totals {
    sums: BTreeMap<(Scope, Dimension), u128>,
    pub(super) open: usize,
    /// At most how many bytes the text of the ledger has.
    pub(super) bytes: usize,
    /// How often each environment, owner and provider is named. Each is written once.
    names: BTreeMap<(List, Arc<str>), usize>,
}

/// The lists that lines refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum List {
    Environments,
    Owners,
    Providers,
}

impl Totals {
    pub(super) fn amount(&self, scope: &Scope, dimension: Dimension) -> u128 {
        // A map of pairs is asked by a pair, and a scope is cheap to copy.
        self.sums.get(&(scope.clone(), dimension)).copied().unwrap_or(0)
    }

    /// At most how many bytes the text has with one line more.
    pub(super) fn bytes_with(&self, at: &NsRef, holding: &Holding) -> usize {
        let new = names(holding).filter(|name| !self.names.contains_key(name));
        self.bytes + width(at, holding) + new.map(|(_, name)| length(&name)).sum::<usize>()
    }

    pub(super) fn add(&mut self, at: &NsRef, slot: &Slot) {
        for (key, amount) in contributions(slot) {
            *self.sums.entry(key).or_default() += amount;
        }
        self.open += slot.open.len();
        for holding in slot.alternatives() {
            self.bytes += width(at, holding);
            for name in names(holding) {
                let length = length(&name.1);
                let count = self.names.entry(name).or_default();
                *count += 1;
                self.bytes += if *count == 1 { length } else { 0 };
            }
        }
    }

    pub(super) fn remove(&mut self, at: &NsRef, slot: &Slot) {
        for (key, amount) in contributions(slot) {
            if let Some(sum) = self.sums.get_mut(&key) {
                *sum -= amount;
                if *sum == 0 {
                    self.sums.remove(&key);
                }
            }
        }
        self.open -= slot.open.len();
        for holding in slot.alternatives() {
            self.bytes -= width(at, holding);
            for name in names(holding) {
                let Some(count) = self.names.get_mut(&name) else { continue };
                *count -= 1;
                if *count == 0 {
                    self.bytes -= length(&name.1);
                    self.names.remove(&name);
                }
            }
        }
    }
}

/// What a slot adds to each sum: the most of its alternatives.
fn contributions(slot: &Slot) -> impl Iterator<Item = ((Scope, Dimension), u128)> + use<'_> {
    let keys: BTreeSet<(Scope, Dimension)> = slot.alternatives().flat_map(Holding::sums).collect();
    let amounts = keys.into_iter().map(|(scope, dimension)| {
        let amount = slot.amount(&scope, dimension);
        ((scope, dimension), amount)
    });
    amounts.filter(|(_, amount)| *amount > 0)
}

fn names(holding: &Holding) -> impl Iterator<Item = (List, Arc<str>)> + use<> {
    let Holding { environment, owner, provider, .. } = holding;
    let names = [(List::Environments, environment), (List::Owners, owner), (List::Providers, provider)];
    names.map(|(list, name)| Some((list, name.clone()?))).into_iter().flatten()
}

/// At most how many bytes a name takes as JSON, in which some characters take six.
fn length(name: &str) -> usize {
    let of = |character: char| match character {
        '"' | '\\' => 2,
        character if character.is_control() => 6,
        character => character.len_utf8(),
    };
    name.chars().map(of).sum::<usize>() + AROUND
}

/// At most how many bytes a line takes.
fn width(at: &NsRef, holding: &Holding) -> usize {
    let digits = |number: u128| number.checked_ilog10().map_or(1, |log| log as usize + 1);
    let Holding { nodes, cpu, memory, storage, .. } = *holding;
    // Whole gibibytes are written as such, the rest in bytes.
    let bytes = |count: u128| if count.is_multiple_of(1 << 30) { count >> 30 } else { count };
    let numbers = [nodes.into(), cpu.into(), bytes(memory), bytes(storage)];
    at.name.len() + at.namespace.len() + WIDTH + 20 + numbers.map(digits).iter().sum::<usize>()
}
