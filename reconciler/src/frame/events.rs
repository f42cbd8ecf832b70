//! What people are told besides the status: once per change, never once per look.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use butler_api::condition::reason::{self, Class};
use butler_api::condition::{self, ConditionStatus, READY};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

/// Who tells.
const REPORTER: &str = "butler-reconciler";
/// The longest note that the API takes.
const LONGEST_NOTE: usize = 1024;

/// Something happened to an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct News {
    /// Whether somebody may have to do something.
    pub is_warning: bool,
    /// In one word.
    pub reason: &'static str,
    /// In a sentence.
    pub note: String,
}

impl News {
    /// What others had changed was set back.
    pub(super) fn of_set_back(note: String) -> Option<Self> {
        (!note.is_empty()).then_some(Self { is_warning: true, reason: "SetBack", note })
    }

    /// What is new about an object as a whole: only what its summary says otherwise than before.
    pub(super) fn of_change(old: &[Condition], new: &[Condition]) -> Option<Self> {
        let now = condition::get(new, READY)?;
        let before = condition::get(old, READY);
        if before.is_some_and(|before| before.status == now.status && before.reason == now.reason) {
            return None;
        }
        let is_ready = ConditionStatus::from_wire(&now.status) == ConditionStatus::True;
        let note =
            if now.message.is_empty() { "all is as it should be".to_owned() } else { now.message.clone() };
        Some(Self {
            is_warning: !is_ready && reason::class(&now.reason) == Class::Failure,
            reason: reason::known(&now.reason),
            note,
        })
    }
}

/// For how long the same news about the same object are counted and not written anew.
const SERIES: SignedDuration = SignedDuration::from_mins(6);

/// Writes events. The client's own recorder counts whatever has the same reason, under the words of the first; here only the
/// same words are the same news.
#[derive(Clone)]
pub struct Events(Arc<Inner>);

struct Inner {
    client: Client,
    instance: String,
    recent: Mutex<HashMap<Told, Recent>>,
}

/// Of which object, by its uid, what was told.
type Told = (Option<String>, News);

/// An event that may become a series.
#[derive(Clone, Debug)]
struct Recent {
    name: String,
    count: i32,
    last: Timestamp,
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Events {
    /// Events that come from this replica.
    pub fn new(client: Client, instance: &str) -> Self {
        Self(Arc::new(Inner { client, instance: instance.to_owned(), recent: Mutex::default() }))
    }

    pub(super) async fn publish(&self, about: ObjectReference, news: &News) -> Result<(), kube::Error> {
        let now = Timestamp::now();
        // Events are where their object is, and in `default` for one that is in no namespace.
        let namespace = about.namespace.as_deref().unwrap_or("default");
        let api: Api<Event> = Api::namespaced(self.0.client.clone(), namespace);
        let key = (about.uid.clone(), news.clone());
        let again = self.recent(now).get(&key).cloned();
        let told = match again {
            Some(Recent { name, count, .. }) => {
                let (count, last) = (count.saturating_add(1), now);
                let series = json!({ "series": { "count": count, "lastObservedTime": MicroTime(now) } });
                api.patch(&name, &PatchParams::default(), &Patch::Merge(&series)).await?;
                Recent { name, count, last }
            }
            None => {
                let event = self.event(&about, news, now);
                let name = event.metadata.name.clone().unwrap_or_default();
                api.create(&PostParams::default(), &event).await?;
                Recent { name, count: 1, last: now }
            }
        };
        self.recent(now).insert(key, told);
        Ok(())
    }

    /// What was told lately.
    fn recent(&self, now: Timestamp) -> MutexGuard<'_, HashMap<Told, Recent>> {
        let mut recent = self.0.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|_, it| now.duration_since(it.last) < SERIES);
        recent
    }

    fn event(&self, about: &ObjectReference, news: &News, now: Timestamp) -> Event {
        let mut note = news.note.clone();
        note.truncate(note.floor_char_boundary(LONGEST_NOTE));
        let name = about.name.as_deref().unwrap_or(REPORTER);
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                ..ObjectMeta::default()
            },
            type_: Some(if news.is_warning { "Warning" } else { "Normal" }.to_owned()),
            reason: Some(news.reason.to_owned()),
            note: Some(note),
            action: Some("Reconcile".to_owned()),
            event_time: Some(MicroTime(now)),
            regarding: Some(about.clone()),
            reporting_controller: Some(REPORTER.to_owned()),
            reporting_instance: Some(self.0.instance.clone()),
            ..Event::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use butler_api::condition::Statement;
    use jiff::Timestamp;

    use super::*;

    fn ready(statement: Statement) -> Vec<Condition> {
        let mut conditions = Vec::new();
        condition::set(&mut conditions, statement, 1, Timestamp::UNIX_EPOCH);
        conditions
    }

    #[test]
    fn only_a_change_of_the_summary_is_news() {
        let taken = |message: &str| ready(Statement::fails(READY, reason::NAMESPACE_ERROR, message));
        let well = ready(Statement::holds(READY, reason::READY, ""));
        let news = News::of_change(&[], &taken("it is taken")).unwrap();
        assert_eq!((news.is_warning, news.reason, &*news.note), (true, "NamespaceError", "it is taken"));
        assert_eq!(News::of_change(&taken("it is taken"), &taken("it is still taken")), None);
        let news = News::of_change(&taken("it is taken"), &well).unwrap();
        assert_eq!((news.is_warning, news.reason, &*news.note), (false, "Ready", "all is as it should be"));
        assert_eq!(News::of_change(&well, &well), None);
        let waits = ready(Statement::fails(READY, reason::DELETION_BLOCKED, "clusters"));
        assert!(!News::of_change(&well, &waits).unwrap().is_warning);
    }
}
