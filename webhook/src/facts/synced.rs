//! Whether the facts are complete.

use std::collections::BTreeSet;

use butler_policies::facts::FactKind;
use tokio::sync::watch;

/// Says whether every kind has been listed once. It stays so: a kind that is lost later is unknown, and what needs it is
/// denied with a reason, which is more than a gate that is not ready could say.
#[derive(Clone, Debug)]
pub struct Synced(pub(super) watch::Receiver<BTreeSet<FactKind>>);

impl Synced {
    /// Whether every kind has been listed.
    pub fn is_synced(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// The kinds that have not been listed yet.
    pub fn missing(&self) -> Vec<FactKind> {
        self.0.borrow().iter().copied().collect()
    }

    /// Waits until every kind has been listed. Never ends if the watches are dropped before.
    pub async fn wait(&mut self) {
        if self.0.wait_for(BTreeSet::is_empty).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
