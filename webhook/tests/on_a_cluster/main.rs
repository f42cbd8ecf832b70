//! The gate on a real API server.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

mod callers;
mod direct;
mod harness;
mod load;
mod manifests;
mod objects;
mod recovery;
mod replicas;
mod rights;
mod rollout;
mod rotation;
mod samples;
mod seeds;
