//! Params of policies that are in the cluster: watched while a policy in force wants them.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::Instant;

use butler_api::names::dns_subdomain;
use butler_api::reference::NsRef;
use butler_policies::facts::{Fact, FactKey, FactKind};
use butler_policies::policy::{ParamKind, ParamScope, WantedParams};
use butler_program::{Backoff, Complaints};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, TypeMeta};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::api_server::{PATIENCE, found};
use super::failure::Failure;
use super::kept::{Entry, document, name_of};
use super::known::Shelved;
use super::metrics::Metrics;
use super::pace::Pace;
use super::stream::{Source, follow_source};
use super::writer::Message;

/// What is watched at the same time at most; what is wanted beyond that stays unknown.
const MOST: usize = 64;

/// A watch that ends when it is dropped.
struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Watches what is wanted, and nothing else.
pub(super) async fn look_after(
    client: Client,
    pace: Pace,
    metrics: Metrics,
    mut wanted: watch::Receiver<BTreeSet<WantedParams>>,
    writer: mpsc::Sender<Message>,
) -> Infallible {
    let mut running: BTreeMap<WantedParams, Watching> = BTreeMap::new();
    loop {
        let now = wanted.borrow_and_update().clone();
        let gone: Vec<WantedParams> = running.keys().filter(|old| !now.contains(old)).cloned().collect();
        for old in gone {
            running.remove(&old);
            // Without a reader there is nobody left to tell; whoever dropped it drops us too.
            let _ = writer.send(Message::ParamsUnwanted(old)).await;
        }
        for new in now.into_iter().filter(|new| !running.contains_key(new)).collect::<Vec<_>>() {
            if running.len() >= MOST {
                tracing::error!(kind = %new.kind, "params are not watched: policies want more than {MOST} kinds of them");
                continue;
            }
            let following = follow(client.clone(), new.clone(), pace, metrics.clone(), writer.clone());
            running.insert(new, Watching(tokio::spawn(async { match following.await {} })));
        }
        if wanted.changed().await.is_err() {
            // Nobody will want anything else.
            return std::future::pending().await;
        }
    }
}

async fn follow(
    client: Client,
    wanted: WantedParams,
    pace: Pace,
    metrics: Metrics,
    writer: mpsc::Sender<Message>,
) -> Infallible {
    let (mut backoff, mut complaints) = (Backoff::default(), Complaints::default());
    let (resource, scope) = loop {
        match discover(&client, &wanted.kind).await {
            Ok(discovered) => break discovered,
            Err(failure) => {
                metrics.failed(FactKind::Param, failure.label);
                if complaints.is_news(failure.label, Instant::now()) {
                    tracing::warn!(
                        kind = %wanted.kind, reason = failure.label,
                        "params of policies cannot be watched, so those policies cannot be judged by: {failure}"
                    );
                }
                sleep(backoff.next()).await;
            }
        }
    };
    // As above.
    let _ = writer.send(Message::ParamsWatched { wanted: wanted.clone(), scope }).await;
    let api = match (&wanted.namespace, scope) {
        (Some(namespace), ParamScope::Namespaced) => Api::namespaced_with(client, namespace, &resource),
        _ => Api::all_with(client, &resource),
    };
    follow_source(Params { api, wanted }, pace, metrics, writer).await
}

/// How a kind is called in paths, and whether it is in namespaces.
async fn discover(client: &Client, kind: &ParamKind) -> Result<(ApiResource, ParamScope), Failure> {
    let (group, version) = kind.api_version.split_once('/').unwrap_or(("", &kind.api_version));
    let kind = GroupVersionKind::gvk(group, version, &kind.kind);
    let asked = timeout(PATIENCE, pinned_kind(client, &kind)).await.map_err(|_| Failure::no_answer())?;
    let (resource, capabilities) = asked.map_err(|error| match error {
        kube::Error::Discovery(error) => Failure::new(Failure::NOT_SERVED, error.to_string()),
        error => error.into(),
    })?;
    let scope = match capabilities.scope {
        Scope::Cluster => ParamScope::Cluster,
        Scope::Namespaced => ParamScope::Namespaced,
    };
    Ok((resource, scope))
}

/// One param, as it is now.
pub(super) async fn read(client: &Client, kind: &ParamKind, at: &NsRef) -> Result<Fact, Failure> {
    let is_name = |name: &str| dns_subdomain(name).is_ok();
    if !is_name(&at.name) || !(at.namespace.is_empty() || is_name(&at.namespace)) {
        return Ok(Fact::Absent);
    }
    let (resource, _) = discover(client, kind).await?;
    let api: Api<DynamicObject> = match at.namespace.as_str() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    Ok(found(api.get(&at.name).await)?.map_or(Fact::Absent, |object| fact_of(kind, object)))
}

/// A list leaves out of its items what they are, and nobody needs to know who wrote which field.
fn fact_of(kind: &ParamKind, mut object: DynamicObject) -> Fact {
    object.types = Some(TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() });
    object.metadata.managed_fields = None;
    document(&object).map_or(Fact::Unreadable, Fact::Param)
}

struct Params {
    api: Api<DynamicObject>,
    wanted: WantedParams,
}

impl Source for Params {
    type Object = DynamicObject;

    fn api(&self) -> &Api<DynamicObject> {
        &self.api
    }

    fn shelf(&self) -> Shelved {
        Shelved::Params(self.wanted.clone())
    }

    fn entry(&self, object: DynamicObject) -> Entry {
        let (kind, name) = (&self.wanted.kind, name_of(&object.metadata));
        Entry { key: Some(FactKey::Param(kind.clone(), name.clone())), fact: fact_of(kind, object), name }
    }
}
