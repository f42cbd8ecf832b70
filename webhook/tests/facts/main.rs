//! Live facts on a real API server, with exactly the rights that their documentation asks for.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test by panicking, like the test itself")]

mod away;
mod looks;
mod watches;
mod world;
