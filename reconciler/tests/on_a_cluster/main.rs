//! The real program on a real API server, with the garbage collector, under the rights that the manifests give it.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

mod blind;
mod butler_config;
mod crash_points;
mod disputes;
mod faults;
mod leaders;
mod manifests;
mod narrowing;
mod provider_config;
mod rights;
mod roles;
mod steady;
mod team;
mod told;
mod trouble;
mod world;
