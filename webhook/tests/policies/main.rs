//! Policies of a directory, as callers of the gate and whoever writes the files meet them: real files, real TLS.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

mod answers;
mod files;
#[path = "../shared/over_tls.rs"]
mod over_tls;
mod storm;
mod world;
