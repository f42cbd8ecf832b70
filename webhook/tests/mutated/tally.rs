//! What became of the reviews.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use butler_webhook::admission::Reply;
use serde_json::Value;

#[derive(Default)]
pub(crate) struct Tally {
    allowed: AtomicU64,
    completed: AtomicU64,
    warned: AtomicU64,
    denied: AtomicU64,
    unreadable: AtomicU64,
    bad_request: AtomicU64,
    no_review: AtomicU64,
}

impl Tally {
    pub(crate) fn count(&self, reply: &Reply) {
        let add = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        let Reply::Answer(answer) = reply else {
            add(&self.no_review);
            return;
        };
        let answer: Value = serde_json::from_slice(answer).unwrap();
        let response = &answer["response"];
        if response["warnings"].is_array() {
            add(&self.warned);
        }
        match (response["allowed"].as_bool(), &response["status"]) {
            (Some(true), _) if response["patch"].is_string() => add(&self.completed),
            (Some(true), _) => add(&self.allowed),
            (_, status) if status["code"] == 400 => add(&self.bad_request),
            (_, status) if status["details"].is_null() => add(&self.unreadable),
            _ => add(&self.denied),
        };
    }

    fn counts(&self) -> [(&'static str, u64); 7] {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("allowed", of(&self.allowed)),
            ("completed", of(&self.completed)),
            ("denied", of(&self.denied)),
            ("objects that cannot be read", of(&self.unreadable)),
            ("bad requests", of(&self.bad_request)),
            ("no reviews", of(&self.no_review)),
            ("with warnings", of(&self.warned)),
        ]
    }

    /// Mutations that only ever break the envelope would prove nothing about what is behind it.
    pub(crate) fn assert_every_kind_of_answer_was_met(&self) {
        let total: u64 = self.counts().iter().take(6).map(|(_, count)| count).sum();
        for (name, count) in self.counts().iter().take(6) {
            assert!(count * 100 > total, "{name}: only {count} of {total}");
        }
        assert!(self.warned.load(Ordering::Relaxed) > 0, "{self}");
    }

    pub(crate) fn assert_no_bad_request(&self) {
        let bad = self.bad_request.load(Ordering::Relaxed) + self.no_review.load(Ordering::Relaxed);
        assert_eq!(bad, 0, "{self}");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> =
            self.counts().iter().map(|(name, count)| format!("{count} {name}")).collect();
        f.write_str(&words.join(", "))
    }
}
