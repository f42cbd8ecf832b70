//! What Kubernetes' own CEL makes of an expression, recorded, so that ours is compared with it every day and
//! without Go. See `README.md` beside this file for the commands that need the oracle itself.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets the unexpected must fail"
)]

mod agreement;
mod answer;
mod corpus;
mod estimates;
mod generate;
mod oracle;
mod ours;
mod records;
