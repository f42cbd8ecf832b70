//! Whether the Secrets that ProviderConfigs refer to exist.
//!
//! Secrets are neither listed nor watched, because that right would let the gate read every Secret there is. Each one is
//! asked for by name, and only for its metadata.

use std::convert::Infallible;

use butler_api::names::dns_subdomain;
use butler_api::reference::NsRef;
use butler_policies::facts::{Fact, FactKind};
use butler_program::{Complaints, patiently};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::api_server::{PATIENCE, found};
use super::credentials::Wanted;
use super::failure::Failure;
use super::metrics::Metrics;
use super::pace::Pace;
use super::writer::Message;

/// How many Secrets are asked for at the same time.
const AT_ONCE: usize = 8;

/// Looks after the wanted Secrets until it is dropped.
pub(super) async fn look_after(
    client: Client,
    pace: Pace,
    metrics: Metrics,
    mut wanted: watch::Receiver<Wanted>,
    writer: mpsc::Sender<Message>,
) -> Infallible {
    let mut asked = Wanted::new();
    let mut complaints = Complaints::default();
    let mut next = Instant::now();
    loop {
        tokio::select! {
            changed = wanted.changed() => {
                if changed.is_err() {
                    // The writer is gone; whoever dropped it drops us too.
                    return std::future::pending().await;
                }
            }
            () = sleep_until(next) => {
                asked.clear();
                next = Instant::now() + pace.secrets;
            }
        }
        let now = wanted.borrow_and_update().clone();
        let due = now.iter().filter(|(at, time)| asked.get(*at) != Some(*time)).map(|(at, _)| at.clone());
        let due: Vec<NsRef> = due.collect();
        asked = now;
        let mut answers = stream::iter(due).map(|at| look(&client, at)).buffer_unordered(AT_ONCE);
        while let Some((at, answer)) = answers.next().await {
            let fact = answer.unwrap_or_else(|failure| {
                metrics.failed(FactKind::Secret, failure.label);
                if complaints.is_news(failure.label, std::time::Instant::now()) {
                    tracing::warn!(
                        name = at.name,
                        namespace = at.namespace,
                        reason = failure.label,
                        "whether a Secret with credentials exists cannot be told: {failure}"
                    );
                }
                // A right that is missing does not come back by itself in a moment.
                if failure.label != Failure::FORBIDDEN {
                    next = next.min(Instant::now() + pace.failed_secrets);
                }
                Fact::Unreadable
            });
            // Without a reader there is nobody left to tell.
            let _ = writer.send(Message::Secret { at, fact }).await;
        }
    }
}

async fn look(client: &Client, at: NsRef) -> (NsRef, Result<Fact, Failure>) {
    let answer = timeout(PATIENCE, patiently(|| exists(client, &at))).await;
    (at, answer.unwrap_or_else(|_| Err(Failure::no_answer())))
}

/// Whether there is such a Secret. A name that no object can have is not asked for: it would become part of a path.
pub(super) async fn exists(client: &Client, at: &NsRef) -> Result<Fact, Failure> {
    if dns_subdomain(&at.name).is_err() || dns_subdomain(&at.namespace).is_err() {
        return Ok(Fact::Absent);
    }
    let api: Api<Secret> = Api::namespaced(client.clone(), &at.namespace);
    Ok(found(api.get_metadata(&at.name).await)?.map_or(Fact::Absent, |_| Fact::Secret))
}
