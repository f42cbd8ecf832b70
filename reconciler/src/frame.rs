//! What every controller shares: who may write, what is known, when an object's turn comes, and how its status is told.
//!
//! In the order in which an object meets them: a `watch` fills a [`Cache`] and puts the object into a [`Queue`]; the
//! `driver` takes it out, for as long as the [`lease`] is held, and calls the controller's steps (observe, plan, apply,
//! status); what these write goes through a [`Hand`], which refuses once the lease is not safely held any more.
//!
//! The client's own controller runtime has no say in this: it hides its queue, so that nobody can be told how long it
//! is, and it starts an object again for every write that the controller itself made.

mod cache;
pub mod child;
mod controller;
mod driver;
mod events;
mod failure;
mod hand;
pub mod lease;
mod metrics;
mod pace;
mod queue;
mod watch;

pub use cache::{Cache, Change, Key};
pub use controller::{Controller, Outcome};
pub use driver::{Driver, Stopping};
pub use events::{Events, News};
pub use failure::{Error, Problem};
pub use hand::{Hand, Reachable, Scoped};
pub use metrics::Metrics;
pub use pace::Pace;
pub use queue::{Queue, Turns};
pub use watch::Watches;
