//! Pure judgement: a [`Review`] and [`Facts`] in, a [`Verdict`] and a patch out. No I/O, no client, no clock.
//!
//! Follow one review by opening the modules in this order.

pub mod cel;
pub mod defaults;
pub mod facts;
pub mod finding;
pub mod judge;
pub mod policy;
pub mod presumption;
pub mod quota;
pub mod ratchet;
pub mod review;
pub mod rules;
pub mod verdict;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod properties;

pub use facts::{FactKey, Facts};
pub use finding::Finding;
pub use judge::{complete, judge, judge_by_policies};
pub use presumption::Presumption;
pub use review::{Change, Review, Subject};
pub use verdict::Verdict;
