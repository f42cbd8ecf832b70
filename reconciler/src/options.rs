//! What whoever starts the program chooses.

use butler_program::ProgramOptions;
use clap::Args;

/// How the engine is run. The defaults are those of the manifests.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Where it runs.
    #[command(flatten)]
    pub program: ProgramOptions,
    /// The namespace of the Lease by which replicas agree on who writes.
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE", default_value = "butler-system")]
    pub namespace: String,
    /// The name of that Lease.
    #[arg(long, value_name = "NAME", default_value = "butler-reconciler")]
    pub lease: String,
    /// How this replica is called in the Lease and in events; a few characters are added, so that no two are the same.
    #[arg(long, value_name = "NAME", env = "POD_NAME", default_value = "butler-reconciler")]
    pub identity: String,
    /// How long a replica that gives no sign stays the one that writes.
    #[arg(long, value_name = "SECONDS", default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=120))]
    pub lease_seconds: u16,
    /// How many objects of a kind are worked on at the same time.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: u16,
    /// How often an object is looked at although nothing was heard of it.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    pub resync_seconds: u32,
}
