//! One kind, listed and then watched for ever.
//!
//! The client's own watcher keeps to itself that a watch was renewed or that a bookmark came, and then a kind in which
//! nothing happens cannot be told from one that nobody hears of any more. Here both are passed on as signs of life.

use std::convert::Infallible;
use std::fmt::Debug;
use std::pin::pin;
use std::time::{Duration, Instant};

use butler_program::{Backoff, Complaints};
use futures::StreamExt;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::failure::Failure;
use super::kept::{Entry, Watched, name_of};
use super::known::{Heard, Shelved};
use super::metrics::Metrics;
use super::pace::Pace;
use super::writer::Message;

/// Objects per page of a list. A page is held twice while it is read.
const PAGE: u32 = 250;
/// How long one page may take.
const PAGE_PATIENCE: Duration = Duration::from_secs(15);
/// How long a watch may take to open, and to end after its time.
pub(super) const OPENING: Duration = Duration::from_secs(5);
/// A watch that ends sooner, and without a word, was not worth opening again at once.
const SHORT: Duration = Duration::from_secs(1);

/// What is listed and watched.
pub(super) trait Source: Send + Sync + 'static {
    type Object: Resource + Clone + Debug + DeserializeOwned + Send + 'static;

    fn api(&self) -> &Api<Self::Object>;

    /// Where what is heard goes.
    fn shelf(&self) -> Shelved;

    /// Selects the objects that count, if not all do.
    fn fields(&self) -> Option<&'static str> {
        None
    }

    fn entry(&self, object: Self::Object) -> Entry;
}

/// All objects of a kind that the program knows.
struct AllOf<K>(Api<K>);

impl<K: Watched> Source for AllOf<K> {
    type Object = K;

    fn api(&self) -> &Api<K> {
        &self.0
    }

    fn shelf(&self) -> Shelved {
        Shelved::Kind(K::KIND)
    }

    fn fields(&self) -> Option<&'static str> {
        K::FIELDS
    }

    fn entry(&self, object: K) -> Entry {
        object.into_entry()
    }
}

/// Lists and watches one kind and passes on what it hears, until it is dropped.
pub(super) async fn follow<K: Watched>(
    client: Client,
    pace: Pace,
    metrics: Metrics,
    writer: mpsc::Sender<Message>,
) -> Infallible {
    follow_source(AllOf::<K>(Api::all(client)), pace, metrics, writer).await
}

/// The same of anything that can be listed and watched.
pub(super) async fn follow_source<S: Source>(
    source: S,
    pace: Pace,
    metrics: Metrics,
    writer: mpsc::Sender<Message>,
) -> Infallible {
    let shelf = source.shelf();
    let mut watch = Watch { source, pace, writer, version: None, is_well: false };
    let (mut backoff, mut complaints) = (Backoff::default(), Complaints::default());
    let mut has_listed_again = false;
    loop {
        let result = match watch.version.clone() {
            None => watch.list().await,
            Some(version) => watch.listen(version).await,
        };
        if std::mem::take(&mut watch.is_well) {
            backoff.reset();
            has_listed_again = false;
            if complaints.settle() {
                tracing::info!(kind = %shelf, "the kind is watched again");
            }
        }
        let Err(failure) = result else { continue };
        metrics.failed(shelf.kind(), failure.label);
        complain(&shelf, &watch.source, &failure, &mut complaints);
        if failure.needs_list() {
            watch.version = None;
            // Every restart of the API server makes this necessary, and then it is not to be waited for. When it
            // did not help, it is.
            if !std::mem::replace(&mut has_listed_again, true) {
                continue;
            }
        }
        sleep(backoff.next()).await;
    }
}

fn complain<S: Source>(shelf: &Shelved, source: &S, failure: &Failure, complaints: &mut Complaints) {
    if failure.label == Failure::EXPIRED {
        tracing::debug!(kind = %shelf, "the kind is listed again: {failure}");
    } else if !complaints.is_news(failure.label, Instant::now()) {
        tracing::debug!(kind = %shelf, reason = failure.label, "the kind cannot be watched: {failure}");
    } else if failure.label == Failure::NOT_SERVED {
        tracing::warn!(
            kind = %shelf, reason = failure.label,
            "the API server does not serve `{}`; install its CustomResourceDefinition: {failure}",
            source.api().resource_url()
        );
    } else {
        tracing::warn!(kind = %shelf, reason = failure.label, "the kind cannot be watched: {failure}");
    }
}

struct Watch<S> {
    source: S,
    pace: Pace,
    writer: mpsc::Sender<Message>,
    /// From where to go on; nothing before the first list.
    version: Option<String>,
    /// Whether a watch has said anything good: one that only opens may fail right after, again and again.
    is_well: bool,
}

impl<S: Source> Watch<S> {
    async fn tell(&self, heard: Heard) {
        // Without a reader there is nobody left to tell; whoever dropped it drops us too.
        let _ = self.writer.send(Message::Watched { shelf: self.source.shelf(), heard }).await;
    }

    /// Lists everything, page by page.
    async fn list(&mut self) -> Result<(), Failure> {
        self.tell(Heard::Listing).await;
        let mut params = ListParams::default().limit(PAGE);
        params.field_selector = self.source.fields().map(str::to_owned);
        loop {
            let page = timeout(PAGE_PATIENCE, self.source.api().list(&params)).await;
            let page = page.map_err(|_| Failure::no_answer())??;
            for object in page.items {
                self.tell(Heard::Listed(self.source.entry(object))).await;
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_some() {
                self.tell(Heard::Alive).await;
                continue;
            }
            let version = page.metadata.resource_version.filter(|version| !version.is_empty());
            let version =
                version.ok_or_else(|| Failure::new("Refused", "the list has no resourceVersion"))?;
            self.version = Some(version);
            self.tell(Heard::ListedAll).await;
            return Ok(());
        }
    }

    /// Watches until the API server ends it, which it does in order after a while.
    async fn listen(&mut self, version: String) -> Result<(), Failure> {
        let params = WatchParams {
            field_selector: self.source.fields().map(str::to_owned),
            timeout: Some(u32::try_from(self.pace.watch.as_secs()).unwrap_or(u32::MAX).max(1)),
            ..WatchParams::default()
        };
        let opened = Instant::now();
        // A copy, so that what comes out of the stream can be taken in while it is open.
        let api = self.source.api().clone();
        let stream = timeout(OPENING, api.watch(&params, &version)).await;
        let mut stream = pin!(stream.map_err(|_| Failure::no_answer())??);
        self.tell(Heard::Alive).await;
        let mut is_silent = true;
        loop {
            let Ok(event) = timeout(self.pace.watch + OPENING, stream.next()).await else {
                return Err(Failure::no_answer());
            };
            let Some(event) = event else { break };
            let event = event?;
            is_silent = false;
            self.is_well |= !matches!(event, WatchEvent::Error(_));
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.version = version_of(&object).or_else(|| self.version.take());
                    self.tell(Heard::Applied(self.source.entry(object))).await;
                }
                WatchEvent::Deleted(object) => {
                    self.version = version_of(&object).or_else(|| self.version.take());
                    self.tell(Heard::Deleted(name_of(object.meta()))).await;
                }
                WatchEvent::Bookmark(bookmark) => {
                    self.version = Some(bookmark.metadata.resource_version);
                    self.tell(Heard::Alive).await;
                }
                WatchEvent::Error(status) => return Err(Failure::of_status(&status)),
            }
        }
        if is_silent && opened.elapsed() < SHORT {
            return Err(Failure::new("Ended", "the API server ends watches at once"));
        }
        self.is_well = true;
        self.tell(Heard::Alive).await;
        Ok(())
    }
}

fn version_of(object: &impl Resource) -> Option<String> {
    object.meta().resource_version.clone()
}
