//! Whether the Secrets that ProviderConfigs refer to exist.
//!
//! Secrets are neither listed nor watched, because that right would let the gate read every Secret there is. Each one is
//! asked for by name, and only for its metadata.

use std::convert::Infallible;

use butler_api::names::dns_subdomain;
use butler_api::reference::NsRef;
use butler_policies::facts::{Fact, FactKind};
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
    let mut next = Instant::now();
    loop {
        tokio::select! {
            changed = wanted.changed() => {
                if changed.is_err() {
                    // The writer is gone; whoever dropped it drops us too.
                    return std::future::pending().await;
                }
            }
            () = sleep_until(next) => asked.clear(),
        }
        let now = wanted.borrow_and_update().clone();
        let due: Vec<NsRef> =
            now.iter().filter(|(at, time)| asked.get(*at) != Some(*time)).map(|(at, _)| at.clone()).collect();
        let is_round = asked.is_empty();
        asked = now;
        let mut failed = false;
        let mut answers = stream::iter(due).map(|at| look(&client, &metrics, at)).buffer_unordered(AT_ONCE);
        while let Some((at, fact)) = answers.next().await {
            failed |= matches!(fact, Fact::Unreadable);
            let _ = writer.send(Message::Secret { at, fact }).await;
        }
        let pause = if failed { pace.failed_secrets } else { pace.secrets };
        if is_round || failed {
            next = next.max(Instant::now() + pause).min(Instant::now() + pause);
        }
    }
}

async fn look(client: &Client, metrics: &Metrics, at: NsRef) -> (NsRef, Fact) {
    let fact = match timeout(PATIENCE, exists(client, &at)).await {
        Ok(Ok(fact)) => fact,
        Ok(Err(failure)) => complain(metrics, &at, &failure),
        Err(_) => complain(metrics, &at, &Failure::no_answer()),
    };
    (at, fact)
}

fn complain(metrics: &Metrics, at: &NsRef, failure: &Failure) -> Fact {
    metrics.failed(FactKind::Secret, failure.label);
    tracing::debug!(name = at.name, namespace = at.namespace, "a Secret cannot be looked for: {failure}");
    Fact::Unreadable
}

/// Whether there is such a Secret. A name that no object can have is not asked for: it would become part of a path.
pub(super) async fn exists(client: &Client, at: &NsRef) -> Result<Fact, Failure> {
    if dns_subdomain(&at.name).is_err() || dns_subdomain(&at.namespace).is_err() {
        return Ok(Fact::Absent);
    }
    let api: Api<Secret> = Api::namespaced(client.clone(), &at.namespace);
    Ok(found(api.get_metadata(&at.name).await)?.map_or(Fact::Absent, |_| Fact::Secret))
}
