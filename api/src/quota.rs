//! What clusters use, what they may use, and the ledger that keeps the second above the first.
//!
//! Pure, like everything here: the webhook, the reconciler and the search through all orders of events (in the tests of
//! [`decide`]) decide with the same functions.

pub mod decide;
pub mod dimension;
pub mod holding;
pub mod ledger;
pub mod limit;
pub mod report;

pub use self::decide::{Copy, Group, Next};
pub use self::dimension::Dimension;
pub use self::holding::Holding;
pub use self::ledger::{Ask, Ledger, Refusal};
pub use self::limit::{Exceeded, Limit, Limits, Scope};
