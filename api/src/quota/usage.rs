//! What clusters use, exactly: the numbers that quotas are compared with.
//!
//! A cluster's usage is its worker count times its machine template, worked out by multiplication and never by walking over
//! replicas. Counts are 128 bits wide and amounts exact, so no honest sum comes near an end; a dishonest one gives an error
//! that names the dimension, never a wrapped or capped number.

use std::cmp::Ordering;
use std::fmt;

use crate::quantity::Amount;

/// What a quota may limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Clusters.
    Clusters,
    /// Worker machines.
    Nodes,
    /// Cores of all workers.
    Cpu,
    /// Bytes of memory of all workers.
    Memory,
    /// Bytes of disk of all workers.
    Storage,
}

/// Why a usage cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// A machine has less than nothing of something, which would make room in a quota.
    #[error("the {0} of a machine is below zero; write a positive quantity")]
    Negative(Dimension),
    /// A total does not fit, which only an absurd spec can bring about.
    #[error("the total of {0} is too large to count; lower the replicas or the size of the machines")]
    TooLarge(Dimension),
    /// More was taken away than there was.
    #[error("the total of {0} would fall below zero; count it anew")]
    BelowZero(Dimension),
}

/// What one cluster, or several together, use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    /// How many clusters.
    pub clusters: u128,
    /// How many worker machines.
    pub nodes: u128,
    /// Cores of all workers.
    pub cpu: Amount,
    /// Bytes of memory of all workers.
    pub memory: Amount,
    /// Bytes of disk of all workers.
    pub storage: Amount,
}

/// One machine, as the template describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MachineSize {
    /// Cores.
    pub cpu: Amount,
    /// Bytes of memory.
    pub memory: Amount,
    /// Bytes of disk.
    pub storage: Amount,
}

impl Dimension {
    /// All dimensions, in the order messages list them.
    pub const ALL: [Self; 5] = [Self::Clusters, Self::Nodes, Self::Cpu, Self::Memory, Self::Storage];

    /// An amount of it as a message shows it.
    pub fn shown(self, amount: Amount) -> String {
        match self {
            Self::Clusters | Self::Nodes | Self::Cpu => amount.to_string(),
            Self::Memory | Self::Storage => amount.bytes().to_string(),
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clusters => "clusters",
            Self::Nodes => "nodes",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Storage => "storage",
        })
    }
}

impl Usage {
    /// Nothing.
    pub const NONE: Self =
        Self { clusters: 0, nodes: 0, cpu: Amount::ZERO, memory: Amount::ZERO, storage: Amount::ZERO };

    /// What one cluster with that many workers of that size uses.
    pub fn of_cluster(workers: u32, machine: MachineSize) -> Result<Self, UsageError> {
        let all = |each: Amount, dimension| {
            if each.is_negative() {
                return Err(UsageError::Negative(dimension));
            }
            each.checked_mul(workers).ok_or(UsageError::TooLarge(dimension))
        };
        Ok(Self {
            clusters: 1,
            nodes: u128::from(workers),
            cpu: all(machine.cpu, Dimension::Cpu)?,
            memory: all(machine.memory, Dimension::Memory)?,
            storage: all(machine.storage, Dimension::Storage)?,
        })
    }

    /// The two together.
    pub fn checked_add(self, other: Self) -> Result<Self, UsageError> {
        self.each_with(other, u128::checked_add, Amount::checked_add, UsageError::TooLarge)
    }

    /// This one without `other`. Nothing can go below zero: that is an error, because something was taken away twice.
    pub fn checked_sub(self, other: Self) -> Result<Self, UsageError> {
        let amounts = |left: Amount, right| left.checked_sub(right).filter(|rest| !rest.is_negative());
        self.each_with(other, u128::checked_sub, amounts, UsageError::BelowZero)
    }

    /// All together.
    pub fn checked_sum(usages: impl IntoIterator<Item = Self>) -> Result<Self, UsageError> {
        usages.into_iter().try_fold(Self::NONE, Self::checked_add)
    }

    /// How this one compares with `other` in one dimension.
    pub fn compare(&self, other: &Self, dimension: Dimension) -> Ordering {
        match dimension {
            Dimension::Clusters => self.clusters.cmp(&other.clusters),
            Dimension::Nodes => self.nodes.cmp(&other.nodes),
            Dimension::Cpu => self.cpu.cmp(&other.cpu),
            Dimension::Memory => self.memory.cmp(&other.memory),
            Dimension::Storage => self.storage.cmp(&other.storage),
        }
    }

    /// The dimensions in which this one is more than `other`; none means that a change from `other` to this one raises
    /// nothing.
    pub fn exceeds(&self, other: &Self) -> Vec<Dimension> {
        Dimension::ALL.into_iter().filter(|dimension| self.compare(other, *dimension).is_gt()).collect()
    }

    /// The value in one dimension as a message shows it.
    pub fn shown(&self, dimension: Dimension) -> String {
        match dimension {
            Dimension::Clusters => self.clusters.to_string(),
            Dimension::Nodes => self.nodes.to_string(),
            Dimension::Cpu => dimension.shown(self.cpu),
            Dimension::Memory => dimension.shown(self.memory),
            Dimension::Storage => dimension.shown(self.storage),
        }
    }

    fn each_with(
        self,
        other: Self,
        counts: impl Fn(u128, u128) -> Option<u128>,
        amounts: impl Fn(Amount, Amount) -> Option<Amount>,
        error: impl Fn(Dimension) -> UsageError,
    ) -> Result<Self, UsageError> {
        // Taken apart in full, so that a new dimension cannot be forgotten.
        let Self { clusters, nodes, cpu, memory, storage } = other;
        Ok(Self {
            clusters: counts(self.clusters, clusters).ok_or_else(|| error(Dimension::Clusters))?,
            nodes: counts(self.nodes, nodes).ok_or_else(|| error(Dimension::Nodes))?,
            cpu: amounts(self.cpu, cpu).ok_or_else(|| error(Dimension::Cpu))?,
            memory: amounts(self.memory, memory).ok_or_else(|| error(Dimension::Memory))?,
            storage: amounts(self.storage, storage).ok_or_else(|| error(Dimension::Storage))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Dimension, MachineSize, Usage, UsageError};
    use crate::quantity::Amount;

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    fn machine() -> MachineSize {
        MachineSize { cpu: amount("4"), memory: amount("16Gi"), storage: amount("100Gi") }
    }

    #[test]
    fn a_cluster_uses_its_workers_times_its_machine() {
        let usage = Usage::of_cluster(3, machine()).unwrap();
        let shown = Dimension::ALL.map(|dimension| format!("{dimension} {}", usage.shown(dimension)));
        assert_eq!(shown, ["clusters 1", "nodes 3", "cpu 12", "memory 48Gi", "storage 300Gi"]);
    }

    #[test]
    fn the_largest_number_of_workers_is_counted_exactly() {
        let usage = Usage::of_cluster(u32::MAX, machine()).unwrap();
        assert_eq!(usage.nodes, 4_294_967_295);
        assert_eq!(usage.cpu, amount("17179869180"));
        assert_eq!(usage.memory, amount("68719476720Gi"));
    }

    #[test]
    fn what_does_not_fit_names_its_dimension() {
        let absurd = MachineSize { memory: amount("1e29"), ..machine() };
        assert_eq!(
            Usage::of_cluster(2, absurd).unwrap_err().to_string(),
            "the total of memory is too large to count; lower the replicas or the size of the machines",
        );
        let most = Usage { clusters: u128::MAX, ..Usage::NONE };
        let one = Usage { clusters: 1, ..Usage::NONE };
        assert_eq!(most.checked_add(one), Err(UsageError::TooLarge(Dimension::Clusters)));
    }

    #[test]
    fn taking_away_too_much_names_its_dimension() {
        let one = Usage::of_cluster(1, machine()).unwrap();
        assert_eq!(Usage::NONE.checked_sub(one), Err(UsageError::BelowZero(Dimension::Clusters)));
        let less_memory = Usage { memory: amount("1Gi"), ..one };
        assert_eq!(
            less_memory.checked_sub(one).unwrap_err().to_string(),
            "the total of memory would fall below zero; count it anew",
        );
    }

    #[test]
    fn a_machine_with_less_than_nothing_makes_no_room_in_a_quota() {
        let dishonest = MachineSize { memory: amount("-16Gi"), ..machine() };
        assert_eq!(
            Usage::of_cluster(3, dishonest).unwrap_err().to_string(),
            "the memory of a machine is below zero; write a positive quantity",
        );
    }

    #[test]
    fn each_dimension_is_compared_by_itself() {
        let small = Usage::of_cluster(3, machine()).unwrap();
        let more_memory = MachineSize { cpu: amount("2"), memory: amount("32Gi"), ..machine() };
        let other = Usage::of_cluster(3, more_memory).unwrap();
        assert_eq!(other.exceeds(&small), [Dimension::Memory]);
        assert_eq!(small.exceeds(&other), [Dimension::Cpu]);
        assert_eq!(small.exceeds(&small), []);
    }

    fn any_usage() -> impl Strategy<Value = Usage> {
        (any::<u32>(), 0..1_i64 << 40, 0..1_i64 << 60, 0..1_i64 << 60).prop_map(
            |(workers, cpu, memory, storage)| {
                let machine = MachineSize {
                    cpu: Amount::from_units(cpu),
                    memory: Amount::from_units(memory),
                    storage: Amount::from_units(storage),
                };
                // 2^60 bytes on 2^32 machines is beyond an amount; a thousandth of the machines is not.
                Usage::of_cluster(workers / 1024, machine).unwrap()
            },
        )
    }

    proptest! {
        #[test]
        fn taking_away_undoes_adding(a in any_usage(), b in any_usage()) {
            let sum = a.checked_add(b).unwrap();
            prop_assert_eq!(sum.checked_sub(b), Ok(a));
            prop_assert_eq!(sum, b.checked_add(a).unwrap());
            prop_assert_eq!(sum.exceeds(&a).contains(&Dimension::Clusters), true);
        }

        #[test]
        fn the_order_of_a_sum_does_not_matter(mut usages in proptest::collection::vec(any_usage(), 0..6)) {
            let sum = Usage::checked_sum(usages.iter().copied());
            usages.reverse();
            prop_assert_eq!(Usage::checked_sum(usages), sum);
        }

        #[test]
        fn one_multiplication_is_as_good_as_adding_every_worker(workers in 0..50_u32, nanos in 0..i64::MAX) {
            let machine = MachineSize { cpu: Amount::from_nanos(i128::from(nanos)), ..MachineSize::default() };
            let added = Amount::checked_sum((0..workers).map(|_| machine.cpu));
            prop_assert_eq!(Usage::of_cluster(workers, machine).unwrap().cpu, added.unwrap());
        }
    }
}
