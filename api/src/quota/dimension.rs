//! What quotas count.

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
