//! What every controller shares: who may write, what is known, when an object's turn comes, and how its status is told.
//!
//! In the order in which an object meets them: a `watch` fills a [`Cache`] and puts the object into a [`Queue`]; the
//! `driver` takes it out, for as long as the [`lease`] is held, and gives it its `turn`: the controller's steps (observe,
//! plan, apply, status); what these write goes through a [`Hand`], which refuses once the lease is not safely held any more.
//!
//! Of the client's own runtime this uses `watcher`, which lists, watches, resumes and begins anew, and the recorder of
//! events. Its `Controller` would not carry what is promised here, and so is not used:
//!
//! - Our own writes are known at once. The answer of a write goes into the cache, so the next look sees it, and the watch
//!   that repeats it is no news. A `reflector`'s `Store` is written by its watch alone: each write would start its object
//!   again, on a state from before the write.
//! - A turn belongs to a term of the lease. It ends with the term, in the middle of a request if need be, and is waited for
//!   before the lease is handed over. A `Controller` owns its tasks, and can be asked to finish but not be made to.
//! - What is known outlives a term, so that whoever waits for the lease begins with everything known, and turns exist only
//!   within one.
//! - Stale, failed and disputed turns each have a pace of their own for each object, and how long the queue is and how old
//!   its first item can be told.
//!
//! The cost: a cache and a queue of our own, some 700 lines with their tests, and what the runtime gains later is not
//! ours for free.

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
mod reachable;
mod turn;
mod watch;

pub use cache::{Cache, Change, Key, Unreadable};
pub use controller::{Controller, Outcome};
pub use driver::{Driver, Stopping};
pub use events::{Events, News};
pub use failure::{Error, Problem};
pub use hand::{Hand, SetBack};
pub use metrics::Metrics;
pub use pace::Pace;
pub use queue::{Queue, Turns};
pub use reachable::{Reachable, Scoped};
pub use watch::Watches;
