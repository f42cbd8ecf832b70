//! What Butler's custom resources accept, refuse, keep and show, on a real API server.
//!
//! The objects are in `tests/corpus/`: `seeds` are the documents' own examples, `valid` uses every property of every
//! kind, `invalid` is refused case by case, and `defaults.yaml` says what is filled in.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends at the first surprise"
)]

mod corpus;
mod platform;
mod properties;

mod coverage;
mod defaults;
mod invalid;
mod readability;
mod seeds;
mod server_side_apply;
mod valid;
