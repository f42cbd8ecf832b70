//! The gate on a real API server.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

mod harness;
mod manifests;
mod objects;
mod recovery;
mod replicas;
mod rights;
mod samples;
mod seeds;
