//! Keeps caches up to date, and tells what changes.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use butler_program::failure::without_quotes;
use butler_program::{Backoff, Complaints, Failure};
use futures::StreamExt;
use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::cache::{Change, Unreadable};
use super::{Cache, Key, Metrics, Turns};

/// How long the API server keeps one watch open, in seconds. A connection that died without a word is found out soon
/// after that time.
const WATCH_SECONDS: u32 = 60;

type Check = Arc<dyn Fn() -> bool + Send + Sync>;

/// Everything that is watched. Dropped, it stops.
pub struct Watches {
    client: Client,
    metrics: Metrics,
    running: JoinSet<Infallible>,
    checks: Vec<(String, Check)>,
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watches").field("kinds", &self.checks.len()).finish_non_exhaustive()
    }
}

impl Watches {
    /// Nothing yet.
    pub fn new(client: Client, metrics: Metrics) -> Self {
        Self { client, metrics, running: JoinSet::new(), checks: Vec::new() }
    }

    /// Watches a kind of Butler's. An object that cannot be read is noted and logged, and gets a turn, if objects of the
    /// kind have any, to say so of itself.
    pub fn ours<K>(
        &mut self,
        cache: &Cache<K>,
        turns: Option<Arc<Turns>>,
        tell: impl Fn(Change<'_, K>) + Send + Sync + 'static,
    ) where
        K: Resource<DynamicType = ()> + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let api = Api::<DeserializeGuard<K>>::all(self.client.clone());
        self.spawn(api, cache, turns, |guard| guard.0.map_err(Box::new), tell);
    }

    /// Watches a kind of Kubernetes', or only the metadata of one.
    pub fn theirs<K>(&mut self, cache: &Cache<K>, tell: impl Fn(Change<'_, K>) + Send + Sync + 'static)
    where
        K: Resource<DynamicType = ()> + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static,
    {
        self.spawn(Api::<K>::all(self.client.clone()), cache, None, Ok, tell);
    }

    /// Tells which kinds have not been listed yet.
    pub fn missing(&self) -> impl Fn() -> Vec<String> + Send + Sync + use<> {
        let checks = self.checks.clone();
        move || checks.iter().filter(|(_, is_synced)| !is_synced()).map(|(kind, _)| kind.clone()).collect()
    }

    fn spawn<W, K>(
        &mut self,
        api: Api<W>,
        cache: &Cache<K>,
        turns: Option<Arc<Turns>>,
        read: fn(W) -> Result<K, Box<InvalidObject>>,
        tell: impl Fn(Change<'_, K>) + Send + Sync + 'static,
    ) where
        W: Resource<DynamicType = ()> + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static,
        K: Resource<DynamicType = ()> + Send + Sync + 'static,
    {
        let kind = K::kind(&()).into_owned();
        let synced = cache.clone();
        self.checks.push((kind.clone(), Arc::new(move || synced.is_synced())));
        let watch = Watch { kind, cache: cache.clone(), turns, metrics: self.metrics.clone(), tell };
        self.running.spawn(watch.follow(api, read));
    }
}

struct Watch<K, T> {
    kind: String,
    cache: Cache<K>,
    turns: Option<Arc<Turns>>,
    metrics: Metrics,
    tell: T,
}

impl<K, T> Watch<K, T>
where
    K: Resource<DynamicType = ()> + Send + Sync + 'static,
    T: Fn(Change<'_, K>) + Send + Sync,
{
    /// Lists and watches for ever; what fails is tried again by the watcher itself, when it is asked for more.
    async fn follow<W>(self, api: Api<W>, read: fn(W) -> Result<K, Box<InvalidObject>>) -> Infallible
    where
        W: Resource<DynamicType = ()> + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let (mut backoff, mut complaints) = (Backoff::default(), Complaints::default());
        let mut listed = BTreeSet::new();
        let mut events = pin!(watcher(api, Config::default().timeout(WATCH_SECONDS)));
        loop {
            match events.next().await {
                Some(Ok(event)) => {
                    backoff.reset();
                    if complaints.settle() {
                        tracing::info!(kind = self.kind, "the kind is watched again");
                    }
                    self.hear(event, read, &mut listed);
                }
                Some(Err(error)) => {
                    let failure = failure(error);
                    self.metrics.watch_failed(&self.kind, failure.label);
                    if complaints.is_news(failure.label, Instant::now()) {
                        tracing::warn!(kind = self.kind, reason = failure.label, "cannot watch: {failure}");
                    }
                    sleep(backoff.next()).await;
                }
                // The stream has no end.
                None => std::future::pending().await,
            }
        }
    }

    fn hear<W>(
        &self,
        event: Event<W>,
        read: fn(W) -> Result<K, Box<InvalidObject>>,
        listed: &mut BTreeSet<Key>,
    ) where
        W: Resource<DynamicType = ()>,
    {
        match event {
            Event::Init => {
                listed.clear();
                self.cache.begin_list();
            }
            Event::InitApply(object) => {
                listed.insert(Key::of(object.meta()));
                self.take_in(read(object));
            }
            Event::InitDone => self.cache.keep_only(&std::mem::take(listed), |change| (self.tell)(change)),
            Event::Apply(object) => self.take_in(read(object)),
            Event::Delete(object) => self.cache.take_out(object.meta(), |change| (self.tell)(change)),
        }
    }

    fn take_in(&self, read: Result<K, Box<InvalidObject>>) {
        match read {
            Ok(object) => self.cache.take_in(object, |change| (self.tell)(change)),
            Err(unreadable) => {
                let InvalidObject { error, metadata } = *unreadable;
                let (object, why) = (Key::of(&metadata), without_quotes(&error));
                if !self.cache.note(Unreadable { metadata, why: why.clone(), is_told: false }) {
                    return;
                }
                self.metrics.watch_failed(&self.kind, Failure::UNREADABLE);
                tracing::warn!(kind = self.kind, %object, "an object cannot be read and is left alone: {why}");
                if let Some(turns) = &self.turns {
                    turns.add(object);
                }
            }
        }
    }
}

fn failure(error: watcher::Error) -> Failure {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => error.into(),
        watcher::Error::WatchError(status) => Failure::of_status(&status),
        watcher::Error::NoResourceVersion => Failure::new("Refused", "the list has no resourceVersion"),
    }
}
