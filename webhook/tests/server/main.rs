//! The server as its callers meet it: real sockets, real TLS, and a gate that does what the body says.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test by panicking, like the test itself")]
#![expect(clippy::panic, reason = "the gate panics when it is told to, and helpers fail the test that way")]
#![expect(clippy::expect_used, reason = "a test's helpers fail the test by panicking, like the test itself")]

mod answers;
mod connections;
mod drain;
mod http2;
mod plain;
mod slow;
mod world;
