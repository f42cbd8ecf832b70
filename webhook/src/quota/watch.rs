//! Keeps the desks informed: of what other replicas wrote, and of new teams.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use butler_api::QuotaLedger;
use futures::StreamExt;
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use tokio::time::{MissedTickBehavior, interval};

use super::{Quota, lock};

/// How often new teams are looked for.
const ROUND: Duration = Duration::from_secs(1);

impl Quota {
    /// Watches ledgers and opens a desk for every team, for as long as it is polled.
    pub async fn run(self: Arc<Self>) -> Infallible {
        let ledgers = watcher(self.shared.store.ledgers(), watcher::Config::default()).default_backoff();
        let mut ledgers = pin!(ledgers);
        let mut round = interval(ROUND);
        round.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = ledgers.next() => match event {
                    Some(Ok(Event::Apply(ledger) | Event::InitApply(ledger))) => self.tell(ledger),
                    Some(Ok(Event::Delete(ledger))) => self.tell_deleted(&ledger.name_any()),
                    Some(Ok(Event::Init | Event::InitDone)) => {}
                    Some(Err(error)) => tracing::debug!("ledgers cannot be watched: {error}"),
                    // A watcher goes on for ever.
                    None => return std::future::pending().await,
                },
                _ = round.tick() => {
                    for team in self.shared.facts.current().teams() {
                        self.desk(&team.name_any());
                    }
                }
            }
        }
    }

    fn tell(&self, ledger: QuotaLedger) {
        let team = ledger.name_any();
        lock(&self.shared.told).insert(team.clone(), Arc::new(ledger));
        if let Some(handle) = self.desk(&team) {
            handle.news.notify_one();
        }
    }

    /// An object that makes no sense stands for one that is gone: the desk reads again.
    fn tell_deleted(&self, team: &str) {
        self.tell(QuotaLedger::new(team, butler_api::QuotaLedgerSpec { writes: -1, ..Default::default() }));
    }
}
