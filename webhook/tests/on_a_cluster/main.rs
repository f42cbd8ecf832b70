//! The gate on a real API server.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

mod callers;
mod direct;
mod harness;
mod hostile;
mod in_a_row;
mod load;
mod manifests;
mod objects;
mod policies;
mod quota;
mod recovery;
mod replicas;
mod rights;
mod rollout;
mod rotation;
mod same_file_again;
mod samples;
mod seeds;
mod service;
mod suite;
