//! Policies in a directory: read, loaded, and taken into force all at once.
//!
//! Follow a change by opening the modules in this order: `follow` notices it and decides, `read` collects the files,
//! `butler_policies` makes a set of them, [`Policies`] holds the one in force, and `metrics` shows it. A set that cannot
//! be loaded is told of, and the last good one goes on.

mod follow;
mod in_force;
mod meters;
mod metrics;
mod read;

pub use self::follow::{Pace, PolicyFiles};
pub use self::in_force::{InForce, Policies};
pub use self::metrics::Metrics;
pub use self::read::{ReadError, read};
