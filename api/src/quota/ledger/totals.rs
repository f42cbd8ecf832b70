//! The sums of a ledger, kept as its slots change.

use std::collections::{BTreeMap, BTreeSet};

use super::Slot;
use crate::quota::dimension::Dimension;
use crate::quota::holding::Holding;
use crate::quota::limit::Scope;
use crate::reference::NsRef;

/// What a line of a ledger takes beside its name and its numbers: uid, separators, quotes, and places in the lists of
/// environments, owners and providers.
const WIDTH: usize = 22 + 12 + 4 + 3 * 5;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Totals {
    sums: BTreeMap<(Scope, Dimension), u128>,
    pub(super) open: usize,
    /// At most how many bytes the text of the ledger has.
    pub(super) bytes: usize,
}

impl Totals {
    pub(super) fn amount(&self, scope: &Scope, dimension: Dimension) -> u128 {
        // A map of pairs is asked by a pair, and a scope is cheap to copy.
        self.sums.get(&(scope.clone(), dimension)).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, at: &NsRef, slot: &Slot) {
        for (key, amount) in contributions(slot) {
            *self.sums.entry(key).or_default() += u128::from(amount);
        }
        self.open += slot.open.len();
        self.bytes += slot.alternatives().map(|holding| width(at, holding)).sum::<usize>();
    }

    pub(super) fn remove(&mut self, at: &NsRef, slot: &Slot) {
        for (key, amount) in contributions(slot) {
            if let Some(sum) = self.sums.get_mut(&key) {
                *sum -= u128::from(amount);
                if *sum == 0 {
                    self.sums.remove(&key);
                }
            }
        }
        self.open -= slot.open.len();
        self.bytes -= slot.alternatives().map(|holding| width(at, holding)).sum::<usize>();
    }
}

/// What a slot adds to each sum: the most of its alternatives.
fn contributions(slot: &Slot) -> impl Iterator<Item = ((Scope, Dimension), u64)> + use<'_> {
    let keys: BTreeSet<(Scope, Dimension)> = slot.alternatives().flat_map(Holding::sums).collect();
    let amounts = keys.into_iter().map(|(scope, dimension)| {
        let amount = slot.amount(&scope, dimension);
        ((scope, dimension), amount)
    });
    amounts.filter(|(_, amount)| *amount > 0)
}

/// At most how many bytes a line takes.
pub(super) fn width(at: &NsRef, holding: &Holding) -> usize {
    let digits = |number: u64| number.checked_ilog10().map_or(1, |log| log as usize + 1);
    let Holding { nodes, cpu, memory, storage, .. } = holding;
    let numbers = [*nodes, *cpu, memory >> 30, storage >> 30].map(digits).iter().sum::<usize>();
    let odd = [*memory, *storage].iter().filter(|bytes| !bytes.is_multiple_of(1 << 30)).count() * 20;
    at.name.len() + at.namespace.len() + WIDTH + 20 + numbers + odd
}
