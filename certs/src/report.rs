//! Kubernetes Events for what a person should look at, without floods.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::time::timeout;

/// The same thing is said again only after this.
const QUIET: Duration = Duration::from_secs(10 * 60);
/// Different things under one reason are said at most this often.
const PAUSE: Duration = Duration::from_secs(10);
/// An event is not worth more of anybody's time.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an event is about: why it is there, and what was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topic {
    /// In CamelCase, one of few.
    pub reason: &'static str,
    /// Likewise.
    pub action: &'static str,
}

impl Topic {
    /// A new certificate is bad; the old one goes on.
    pub(crate) const CERTIFICATE_REFUSED: Self = Self { reason: "CertificateRefused", action: "Load" };
    /// The Secret was damaged; the damaged parts are made anew.
    pub(crate) const SECRET_DAMAGED: Self = Self { reason: "SecretDamaged", action: "Repair" };
    /// A registration cannot be brought up to date, so authorities cannot rotate.
    pub(crate) const REGISTRATION_NOT_UPDATED: Self =
        Self { reason: "RegistrationNotUpdated", action: "Publish" };
}

/// Where events go: to the API server, about one object.
#[derive(Clone)]
pub struct Events {
    recorder: Recorder,
    about: ObjectReference,
}

impl Events {
    /// Events about an object, for example the Pod we run in. Needs the right to create and patch
    /// `events.events.k8s.io` in its namespace.
    pub fn about(client: Client, about: ObjectReference) -> Self {
        Self::reported_by("butler-certs", client, about)
    }

    /// The same, said by somebody else.
    pub fn reported_by(reporter: &str, client: Client, about: ObjectReference) -> Self {
        Self { recorder: Recorder::new(client, Reporter::from(reporter)), about }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Events").field("about", &self.about.name).finish_non_exhaustive()
    }
}

/// Publishes what has not been said lately.
#[derive(Debug)]
pub struct Report {
    events: Option<Events>,
    said: Mutex<Said>,
}

impl Report {
    /// Says it there, if anywhere.
    pub fn new(events: Option<Events>) -> Self {
        Self { events, said: Mutex::default() }
    }

    /// Somebody should do something.
    pub async fn warn(&self, topic: Topic, note: String) {
        self.say(EventType::Warning, topic, note).await;
    }

    /// Somebody may want to know.
    pub async fn tell(&self, topic: Topic, note: String) {
        self.say(EventType::Normal, topic, note).await;
    }

    async fn say(&self, type_: EventType, topic: Topic, note: String) {
        let Some(Events { recorder, about }) = &self.events else { return };
        let is_news =
            self.said.lock().unwrap_or_else(PoisonError::into_inner).is_news(topic, &note, Instant::now());
        if !is_news {
            return;
        }
        let event = Event {
            type_,
            reason: topic.reason.to_owned(),
            note: Some(note),
            action: topic.action.to_owned(),
            secondary: None,
        };
        match timeout(PATIENCE, recorder.publish(&event, about)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(reason = topic.reason, "cannot publish an event: {error}"),
            Err(_) => tracing::warn!(reason = topic.reason, "cannot publish an event: no answer"),
        }
    }
}

/// What was said last under each topic.
#[derive(Debug, Default)]
struct Said(HashMap<Topic, (String, Instant)>);

impl Said {
    fn is_news(&mut self, topic: Topic, note: &str, now: Instant) -> bool {
        if let Some((last, when)) = self.0.get(&topic) {
            let pause = if last == note { QUIET } else { PAUSE };
            if now.saturating_duration_since(*when) < pause {
                return false;
            }
        }
        self.0.insert(topic, (note.to_owned(), now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_twice_in_a_row() {
        let start = Instant::now();
        let mut said = Said::default();
        let mut is_news = |note, seconds| {
            said.is_news(Topic::CERTIFICATE_REFUSED, note, start + Duration::from_secs(seconds))
        };
        assert!(is_news("a", 0));
        assert!(!is_news("a", 599));
        assert!(is_news("a", 600));
        assert!(!is_news("b", 609));
        assert!(is_news("b", 610));
        assert!(is_news("a", 620));
    }
}
