//! What people are told besides the status: once per change, never once per look.

use std::fmt;

use butler_api::condition::reason::{self, Class};
use butler_api::condition::{self, ConditionStatus, READY};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

/// The longest note that the API takes.
const LONGEST_NOTE: usize = 1024;

/// Something happened to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Writes events. What happens again within minutes is counted and not written anew.
#[derive(Clone)]
pub struct Events(Recorder);

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Events {
    /// Events that come from this replica.
    pub fn new(client: Client, instance: &str) -> Self {
        let reporter =
            Reporter { controller: "butler-reconciler".to_owned(), instance: Some(instance.to_owned()) };
        Self(Recorder::new(client, reporter))
    }

    pub(super) async fn publish(&self, about: ObjectReference, news: &News) -> Result<(), kube::Error> {
        let mut note = news.note.clone();
        note.truncate(note.floor_char_boundary(LONGEST_NOTE));
        let event = Event {
            type_: if news.is_warning { EventType::Warning } else { EventType::Normal },
            reason: news.reason.to_owned(),
            note: Some(note),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        self.0.publish(&event, &about).await
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
