//! What every controller shares: who may write, what is known, when an object's turn comes, and how its status is told.
//!
//! In the order in which an object meets them: a `watch` fills a [`Cache`] and puts the object into a [`Queue`]; the
//! `driver` takes it out, for as long as the [`lease`] is held, and gives it its `turn`: the controller's steps (observe,
//! plan, apply, status); what these write goes through a [`Hand`], which refuses once the lease is not safely held any more.
//!
//! To add a kind, implement [`Controller`] as `provider_config` does, which makes nothing, or as `team` does, which makes a
//! lot; give what it looks at a cache in `known`, say in `turns` whom a change of it concerns, and start a [`Driver`] in `run`.
//!
//! - A child is of any type with a static kind, also one of somebody else's kind with only the fields that we own, and in any
//!   namespace: it is found again by an index over its labels, not by its owner.
//! - A child is written by a [`Step`](child::Step) and in no other way, so that what was seen is what is written over, what
//!   others undo is noticed, and nothing is written that is already so.
//! - Deletion in an order is a plan: of an object that is being deleted it says what goes next, and a change of a child gives
//!   the object its next turn. `may_leave` says when nothing is left; who else keeps the object then, [`Outcome::kept`] says.
//! - [`Outcome`] has everything that a status may depend on. Whatever happens, also a defect, the status is told.
//!
//! Of the client's own runtime this uses `watcher`, which lists, watches, resumes and begins anew. Its `Controller` would not
//! carry what is promised here, and so is not used:
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
mod disputes;
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
