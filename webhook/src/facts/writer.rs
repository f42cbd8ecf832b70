//! The one writer: whatever is heard comes here, and snapshots leave from here.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use butler_api::reference::NsRef;
use butler_policies::facts::{Fact, FactKind};
use butler_policies::policy::{ParamScope, WantedParams};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::Snapshots;
use super::credentials::Wanted;
use super::known::{Heard, Known, News, Shelved};
use super::metrics::Metrics;
use super::pace::Pace;

/// How many messages may wait. Watches wait when there are more.
pub(super) const WAITING: usize = 1024;
/// How many of them are taken in before a snapshot is published.
const BATCH: usize = 256;
/// How often silent kinds are looked for, and ages written.
const TICK: Duration = Duration::from_secs(1);

/// What is said to the writer.
#[derive(Debug)]
pub(super) enum Message {
    /// A watch says something.
    Watched {
        /// Of what is on that shelf.
        shelf: Shelved,
        /// What it says.
        heard: Heard,
    },
    /// Whether a Secret exists.
    Secret {
        /// The Secret.
        at: NsRef,
        /// What was found.
        fact: Fact,
    },
    /// Params of policies are watched from now on.
    ParamsWatched {
        /// Which.
        wanted: WantedParams,
        /// Whether they are in namespaces.
        scope: ParamScope,
    },
    /// They are not any more.
    ParamsUnwanted(WantedParams),
}

/// What the writer tells others.
pub(super) struct Writer {
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) metrics: Metrics,
    pub(super) missing: watch::Sender<BTreeSet<FactKind>>,
    pub(super) wanted: watch::Sender<Wanted>,
    pub(super) pace: Pace,
}

impl Writer {
    /// Takes in messages until it is dropped.
    pub(super) async fn run(self, mut known: Known, mut messages: mpsc::Receiver<Message>) -> Infallible {
        let mut batch = Vec::with_capacity(BATCH);
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut news = News::Wait;
            tokio::select! {
                count = messages.recv_many(&mut batch, BATCH) => {
                    if count == 0 {
                        // Nobody is left to say anything; whoever dropped them drops us too.
                        return std::future::pending().await;
                    }
                    let now = Instant::now();
                    for message in batch.drain(..) {
                        news = news.and(match message {
                            Message::Watched { shelf, heard } => known.hear(&shelf, heard, now),
                            Message::Secret { at, fact } => known.hear_of_secret(at, fact),
                            Message::ParamsWatched { wanted, scope } => known.watch_params(wanted, scope, now),
                            Message::ParamsUnwanted(wanted) => known.forget_params(&wanted),
                        });
                    }
                }
                _ = tick.tick() => {
                    let now = Instant::now();
                    for kind in known.lose_silent(now, self.pace.lost_after) {
                        tracing::warn!(%kind, "nothing was heard of the kind for too long, so it counts as unknown");
                        news = News::Publish;
                    }
                    for (kind, (objects, heard)) in known.overview() {
                        self.metrics.seen(kind, objects, now.saturating_duration_since(heard));
                    }
                }
            }
            if news == News::Publish {
                self.snapshots.publish(known.facts().clone());
                self.metrics.published();
            }
            // Only after the snapshot, so that whoever waits for everything finds everything.
            self.share(&known);
        }
    }

    fn share(&self, known: &Known) {
        self.missing.send_if_modified(|missing| {
            // Once nothing is missing, nothing will be again.
            let current = if missing.is_empty() { BTreeSet::new() } else { known.missing() };
            std::mem::replace(missing, current) != *missing
        });
        let wanted = known.credentials().wanted();
        self.wanted.send_if_modified(|shared| {
            let is_new = shared != wanted;
            if is_new {
                shared.clone_from(wanted);
            }
            is_new
        });
    }
}
