//! What the rules may know, as it is now: watches keep a snapshot, and single facts can be looked up live.

use std::future::Future;
use std::sync::Arc;

use arc_swap::ArcSwap;
use butler_policies::facts::{Fact, FactKey, Facts};
use butler_policies::review::Caller;

/// The newest snapshot of what is known.
#[derive(Debug, Default)]
pub struct Snapshots(ArcSwap<Facts>);

impl Snapshots {
    /// Begins with that.
    pub fn new(facts: Facts) -> Self {
        Self(ArcSwap::from_pointee(facts))
    }

    /// The newest. A review is judged on one snapshot from its beginning to its end.
    pub fn current(&self) -> Arc<Facts> {
        self.0.load_full()
    }

    /// From now on this is known.
    pub fn publish(&self, facts: Facts) {
        self.0.store(Arc::new(facts));
    }
}

/// Reads one fact where it is kept, because a snapshot may lag behind.
pub trait Look: Send + Sync + 'static {
    /// The fact now. What cannot be read is [`Fact::Unreadable`].
    fn look(&self, key: &FactKey, caller: &Caller<'_>) -> impl Future<Output = Fact> + Send;
}
