//! Self-managed certificates on a real API server.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

mod callers;
mod hands;
mod replica;
mod rotation;
mod start;
mod world;
