//! A watch: what has changed since, and then every change as it happens, a line of JSON each.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use butler_program::connection::Asking;
use butler_program::{Finishing, Share};
use bytes::Bytes;
use futures::{Stream, stream};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::asked::Query;
use super::collection::{Change, Collection, History, Stored, Version};
use super::list::Wanted;
use super::negotiate::Shape;
use super::status::Refusal;
use super::table::{Column, Include, at, metadata_of, table};

/// How long a watch goes on that says nothing of it. Clients begin the next one where this one ends.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How often a client that wants to is told that nothing has happened.
const BOOKMARK: Duration = Duration::from_secs(60);
/// Says that everything that there was at the beginning has been told.
const INITIAL_END: &str = "k8s.io/initial-events-end";

/// How objects are shown on a watch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub(super) kind: &'static str,
    pub(super) shape: Shape,
    pub(super) include: Include,
    pub(super) columns: &'static [Column],
}

/// Why a watch goes on.
enum Wake {
    Changed,
    /// Nothing has happened for a while.
    Bookmark,
    /// Its time is over, or ours.
    Over,
}

/// One watch.
#[derive(Debug)]
pub(super) struct Watch {
    wanted: Wanted,
    shown: Shown,
    follower: watch::Receiver<Arc<History>>,
    finishing: Finishing,
    /// Up to where it has been told.
    place: u64,
    version: Version,
    lines: VecDeque<Bytes>,
    has_bookmarks: bool,
    has_header: bool,
    is_over: bool,
    ends: Instant,
    bookmark: Instant,
    /// Kept as long as the watch goes on: its place among all watches, and that its connection is in use.
    _held: (Share, Asking),
}

impl Watch {
    /// A watch of that collection, from where the query says.
    ///
    /// # Errors
    /// When it cannot begin there.
    pub(super) fn begin(
        collection: &Collection,
        wanted: Wanted,
        query: &Query,
        shown: Shown,
        finishing: Finishing,
        held: (Share, Asking),
    ) -> Result<Self, Refusal> {
        let mut follower = collection.follow();
        let history = follower.borrow_and_update().clone();
        let wants_initial = match query.get("sendInitialEvents") {
            // Without a word: what there is, unless a version says from where on.
            None => wanted.version.is_none(),
            Some(_) => query.is_true("sendInitialEvents"),
        };
        let expired = || Refusal::expired(&wanted.version.unwrap_or_default().to_string());
        let place = match wanted.version {
            Some(version) => history.place(version).ok_or_else(expired)?,
            None => history.end(),
        };
        let place = if wants_initial { history.end() } else { place };
        let timeout = match query.get("timeoutSeconds") {
            None | Some("0") => USUAL_TIMEOUT,
            Some(text) => Duration::from_secs(text.parse::<u32>().map(u64::from).map_err(|_| {
                Refusal::bad_request(format!("timeoutSeconds: Invalid value: {text:?}: it is a number"))
            })?),
        };
        let now = Instant::now();
        let mut watch = Self {
            wanted,
            shown,
            follower,
            finishing,
            place,
            version: history.now().version,
            lines: VecDeque::new(),
            has_bookmarks: query.is_true("allowWatchBookmarks"),
            has_header: true,
            is_over: false,
            ends: now + timeout,
            bookmark: now + BOOKMARK,
            _held: held,
        };
        if wants_initial {
            for stored in history.now().objects.values() {
                if watch.wanted.has(stored) {
                    let line = watch.line("ADDED", stored.at(watch.version));
                    watch.lines.push_back(line);
                }
            }
            // Who asks for what there is wants to know when that was all.
            if query.get("sendInitialEvents").is_some() && watch.has_bookmarks {
                let line = watch.bookmark_line(true);
                watch.lines.push_back(line);
            }
        } else {
            watch.tell(&history);
        }
        Ok(watch)
    }

    /// As the body of an answer.
    pub(super) fn stream(self) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
        stream::unfold(self, async |mut watch| {
            let line = watch.next().await?;
            Some((Ok(Frame::data(line)), watch))
        })
    }

    /// The next line, when there is one.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(line);
            }
            if self.is_over {
                return None;
            }
            match self.wake().await {
                Wake::Changed => {
                    let history = self.follower.borrow_and_update().clone();
                    self.tell(&history);
                }
                Wake::Bookmark => {
                    self.bookmark = Instant::now() + BOOKMARK;
                    let line = self.bookmark_line(false);
                    self.lines.push_back(line);
                }
                Wake::Over => self.finish(),
            }
        }
    }

    /// Waits until there is something to do.
    async fn wake(&mut self) -> Wake {
        let Self { follower, finishing, ends, bookmark, has_bookmarks, .. } = self;
        tokio::select! {
            biased;
            changed = follower.changed() => match changed {
                Ok(()) => Wake::Changed,
                // The collection is gone, and so are we.
                Err(_) => Wake::Over,
            },
            is_finishing = finishing.wait_for(|is_finishing| *is_finishing) => {
                drop(is_finishing);
                Wake::Over
            }
            () = sleep_until(*ends) => Wake::Over,
            () = sleep_until(*bookmark), if *has_bookmarks => Wake::Bookmark,
        }
    }

    /// A last word, from which the next watch goes on.
    fn finish(&mut self) {
        if self.has_bookmarks {
            let line = self.bookmark_line(false);
            self.lines.push_back(line);
        }
        self.is_over = true;
    }

    /// Every change that was not told yet.
    fn tell(&mut self, history: &History) {
        let Some(changes) = history.after(self.place) else {
            // So slow a reader that what it has not read is forgotten.
            let expired = Refusal::expired(&self.version.to_string()).status();
            self.lines.push_back(event("ERROR", &expired));
            self.is_over = true;
            return;
        };
        let changes: Vec<Change> = changes.cloned().collect();
        for change in changes {
            self.version = change.version;
            let (before, after) = (self.chosen(change.before), self.chosen(change.after));
            // An object that is no longer selected has gone, for this watch.
            let (kind, stored) = match (before, after) {
                (None, None) => continue,
                (None, Some(after)) => ("ADDED", after),
                (Some(_), Some(after)) => ("MODIFIED", after),
                (Some(before), None) => ("DELETED", before),
            };
            let line = self.line(kind, stored.at(change.version));
            self.lines.push_back(line);
        }
        self.place = history.end();
    }

    fn chosen(&self, stored: Option<Arc<Stored>>) -> Option<Arc<Stored>> {
        stored.filter(|stored| self.wanted.has(stored))
    }

    fn line(&mut self, kind: &str, object: Value) -> Bytes {
        let object = match self.shown.shape {
            Shape::Whole => object,
            Shape::Metadata => metadata_of(&object),
            Shape::Table => {
                let metadata = json!({ "resourceVersion": at(&object, "/metadata/resourceVersion") });
                // Who has the columns from the first event needs them no more.
                let has_header = std::mem::take(&mut self.has_header);
                let Shown { include, columns, .. } = self.shown;
                table(columns, has_header, include, metadata, &[object])
            }
        };
        event(kind, &object)
    }

    fn bookmark_line(&self, is_end_of_initial: bool) -> Bytes {
        let (kind, api_version) = match self.shown.shape {
            Shape::Whole => (self.shown.kind, super::API_VERSION),
            Shape::Table => ("Table", "meta.k8s.io/v1"),
            Shape::Metadata => ("PartialObjectMetadata", "meta.k8s.io/v1"),
        };
        let mut metadata = json!({ "resourceVersion": self.version.to_string(), "creationTimestamp": null });
        if let (true, Some(fields)) = (is_end_of_initial, metadata.as_object_mut()) {
            fields.insert("annotations".to_owned(), json!({ INITIAL_END: "true" }));
        }
        event("BOOKMARK", &json!({ "kind": kind, "apiVersion": api_version, "metadata": metadata }))
    }
}

fn event(kind: &str, object: &Value) -> Bytes {
    let mut line = json!({ "type": kind, "object": object }).to_string();
    line.push('\n');
    line.into()
}

#[cfg(test)]
mod tests {
    use butler_program::Budget;
    use butler_program::connection::Activity;
    use futures::StreamExt;
    use prometheus_client::metrics::gauge::Gauge;

    use super::super::asked::Target;
    use super::*;

    const COLUMNS: &[Column] = &[Column {
        name: "Name",
        about: "its name",
        is_wide: false,
        cell: |object| object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
    }];

    fn stored(name: &str, color: &str) -> Stored {
        Stored::new(json!({ "metadata": { "name": name, "labels": { "color": color } } }))
    }

    struct World {
        collection: Collection,
        finishing: watch::Sender<bool>,
        used: Gauge,
    }

    impl World {
        fn of(objects: &[(&str, &str)]) -> Self {
            let collection = Collection::new("things");
            collection.replace(objects.iter().map(|(name, color)| stored(name, color)));
            Self { collection, finishing: watch::Sender::new(false), used: Gauge::default() }
        }

        fn version(&self) -> Version {
            self.collection.now().now().version
        }

        fn watch(&self, query: &str, shape: Shape) -> Result<Watch, Refusal> {
            let uri = format!("/x?watch=1&{query}").parse().unwrap();
            let query = Query::of(&uri);
            let target = Target {
                verb: "watch",
                resource: "things".to_owned(),
                subresource: String::new(),
                namespace: String::new(),
                name: String::new(),
            };
            let wanted = Wanted::read(&target, &query)?;
            let shown = Shown { kind: "Thing", shape, include: Include::Nothing, columns: COLUMNS };
            let held =
                (Budget::new(5, self.used.clone()).take(1).unwrap(), Arc::new(Activity::default()).ask());
            Watch::begin(&self.collection, wanted, &query, shown, self.finishing.subscribe(), held)
        }

        /// All lines until the watch ends, which it is asked to.
        async fn told(&self, watch: Watch) -> Vec<(String, Value)> {
            self.finishing.send_replace(true);
            let lines: Vec<_> = watch.stream().collect().await;
            let read = |line: Result<Frame<Bytes>, Infallible>| {
                let line = line.unwrap().into_data().unwrap();
                assert!(line.ends_with(b"\n"));
                let event: Value = serde_json::from_slice(&line).unwrap();
                (event["type"].as_str().unwrap().to_owned(), event["object"].clone())
            };
            lines.into_iter().map(read).collect()
        }
    }

    fn names(told: &[(String, Value)]) -> Vec<String> {
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or("-").to_owned();
        told.iter().map(|(kind, object)| format!("{kind} {}", name(object))).collect()
    }

    #[tokio::test]
    async fn without_a_version_it_begins_with_what_there_is_and_goes_on() {
        let world = World::of(&[("a", "red"), ("b", "red")]);
        let watch = world.watch("", Shape::Whole).unwrap();
        world.collection.replace([stored("a", "blue"), stored("c", "red")]);
        let told = world.told(watch).await;
        assert_eq!(names(&told), ["ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "ADDED c"]);
        assert_eq!(told.last().unwrap().1["metadata"]["resourceVersion"], world.version().to_string());
        assert_eq!(world.used.get(), 0);
    }

    #[tokio::test]
    async fn from_a_version_it_tells_what_came_after() {
        let world = World::of(&[("a", "red")]);
        let before = world.version();
        world.collection.replace([stored("a", "blue")]);
        let watch = world.watch(&format!("resourceVersion={before}"), Shape::Whole).unwrap();
        assert_eq!(names(&world.told(watch).await), ["MODIFIED a"]);
        let unknown = world.watch(&format!("resourceVersion={}", before ^ 1), Shape::Whole);
        assert_eq!(unknown.unwrap_err(), Refusal::expired(&(before ^ 1).to_string()));
    }

    #[tokio::test]
    async fn an_object_that_leaves_the_selection_goes_and_one_that_enters_it_comes() {
        let world = World::of(&[("a", "red"), ("b", "blue")]);
        let query = format!("resourceVersion={}&labelSelector=color%3Dred", world.version());
        let watch = world.watch(&query, Shape::Whole).unwrap();
        world.collection.replace([stored("a", "blue"), stored("b", "red")]);
        assert_eq!(names(&world.told(watch).await), ["DELETED a", "ADDED b"]);
    }

    #[tokio::test]
    async fn who_asks_is_told_when_that_was_all_and_where_the_next_watch_goes_on() {
        let world = World::of(&[("a", "red")]);
        let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
        let watch = world.watch(query, Shape::Whole).unwrap();
        let told = world.told(watch).await;
        assert_eq!(names(&told), ["ADDED a", "BOOKMARK -", "BOOKMARK -"]);
        assert_eq!(told[1].1["metadata"]["annotations"][INITIAL_END], "true");
        assert_eq!(told[1].1["kind"], "Thing");
        assert_eq!(told[2].1["metadata"]["resourceVersion"], world.version().to_string());
    }

    #[tokio::test]
    async fn who_reads_too_slowly_is_told_to_list_again() {
        let world = World::of(&[("a", "red")]);
        let watch = world.watch("", Shape::Whole).unwrap();
        for number in 0..2000 {
            world.collection.replace([stored("a", &format!("{number}"))]);
        }
        let told = world.told(watch).await;
        assert_eq!(names(&told), ["ADDED a", "ERROR -"]);
        assert_eq!(told[1].1["code"], 410);
    }

    #[tokio::test]
    async fn a_table_has_its_columns_once() {
        let world = World::of(&[("a", "red"), ("b", "red")]);
        let watch = world.watch("", Shape::Table).unwrap();
        let told = world.told(watch).await;
        assert_eq!(told[0].1["columnDefinitions"].as_array().unwrap().len(), 1);
        assert_eq!(told[1].1["columnDefinitions"], json!([]));
        assert_eq!(told[1].1["rows"][0]["cells"], json!(["b"]));
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_after_its_time_and_tells_now_and_then_that_nothing_happens() {
        let world = World::of(&[]);
        let watch =
            world.watch("resourceVersion=0&timeoutSeconds=150&allowWatchBookmarks=1", Shape::Whole).unwrap();
        let lines: Vec<_> = watch.stream().collect().await;
        // After one minute, after two, and at the end.
        assert_eq!(lines.len(), 3);
    }
}
