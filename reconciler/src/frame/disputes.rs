//! Who undoes what we do, again and again.
//!
//! What is written exactly as it was last written was undone by somebody else in between, whatever it is: a child that is
//! changed back, made anew, replaced or removed once more, our finalizer, the status. It is done again each time, and each
//! time what is heard of it is left alone for longer. What is written otherwise than before follows from something new, and
//! is never held up.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use butler_program::Backoff;
use serde_json::Value;

use super::{Key, Pace};

/// What a write left of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    of: String,
    /// Equal if the same was written for the same object. Nothing if the thing was removed.
    left: Option<u64>,
}

impl Mark {
    /// That was written, for the object with that uid.
    pub(super) fn written(of: String, uid: Option<&str>, body: &Value) -> Self {
        let mut hasher = DefaultHasher::new();
        uid.hash(&mut hasher);
        hash(body, &mut hasher);
        Self { of, left: Some(hasher.finish()) }
    }

    /// It is gone.
    pub(super) fn removed(of: String) -> Self {
        Self { of, left: None }
    }
}

/// Without times: they are not what anybody quarrels about.
fn hash(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| !key.ends_with("Time")) {
                key.hash(hasher);
                hash(value, hasher);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| hash(item, hasher)),
        other => other.hash(hasher),
    }
    // Where it ends is part of what it is.
    hasher.write_u8(0);
}

/// What was last written for each object, for as long as a term lasts.
#[derive(Debug, Default)]
pub(super) struct Disputes(HashMap<Key, Dispute>);

#[derive(Debug)]
struct Dispute {
    left: HashMap<String, (Option<u64>, Instant)>,
    calm: Backoff,
    /// When somebody last undid something.
    since: Instant,
}

impl Disputes {
    /// Takes in what a turn wrote. How long others are left alone, if they had undone something: `is_undone` if that is
    /// known already. Whoever has been quiet begins anew.
    pub(super) fn take_in(
        &mut self,
        key: &Key,
        marks: Vec<Mark>,
        is_undone: bool,
        pace: &Pace,
        now: Instant,
    ) -> Option<Duration> {
        if marks.is_empty() && !is_undone {
            return None;
        }
        let quiet = 2 * pace.last_calm;
        let own = self.0.entry(key.clone()).or_insert_with(|| Dispute {
            left: HashMap::new(),
            calm: Backoff::new(pace.first_calm, pace.last_calm),
            since: now,
        });
        // What is removed may never come back, and is not remembered for ever.
        own.left.retain(|_, (left, at)| left.is_some() || now.saturating_duration_since(*at) <= quiet);
        let mut is_undone = is_undone;
        for Mark { of, left } in marks {
            let before = own.left.insert(of, (left, now));
            is_undone |= before.is_some_and(|(before, _)| before == left);
        }
        if !is_undone {
            return None;
        }
        if now.saturating_duration_since(own.since) > quiet {
            own.calm.reset();
        }
        own.since = now;
        Some(own.calm.next())
    }

    /// The object is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    struct Turns(Disputes, Instant);

    impl Turns {
        fn begin() -> Self {
            Self(Disputes::default(), Instant::now())
        }

        /// A turn some seconds after the one before that wrote this.
        fn take(&mut self, after: u32, marks: &[Mark]) -> Option<Duration> {
            self.1 += after * SECOND;
            self.0.take_in(&Key::cluster_wide("a"), marks.to_vec(), false, &Pace::default(), self.1)
        }
    }

    fn child(body: Value) -> Mark {
        Mark::written("Role `r`".to_owned(), Some("1"), &body)
    }

    #[test]
    fn only_what_is_done_again_is_a_dispute() {
        let gone = || Mark::removed("Role `r`".to_owned());
        let (one, other) = (|| child(json!({ "rules": [1] })), || child(json!({ "rules": [2] })));
        let elsewhere = || Mark::written("Role `s`".to_owned(), Some("1"), &json!({ "rules": [1] }));
        let of_another = || Mark::written("Role `r`".to_owned(), Some("2"), &json!({ "rules": [1] }));
        let later = || child(json!({ "rules": [1], "lastTransitionTime": "2030-01-01T00:00:00Z" }));
        let table: [(Vec<Mark>, bool); 8] = [
            (vec![one(), one()], true),
            (vec![one(), later()], true),
            (vec![gone(), gone()], true),
            (vec![one(), other(), one()], false),
            (vec![one(), gone(), one(), gone()], false),
            (vec![one(), elsewhere()], false),
            (vec![one(), of_another()], false),
            (vec![child(json!([[1], 2])), child(json!([[1, 2]]))], false),
        ];
        for (marks, expected) in table {
            let mut turns = Turns::begin();
            let is_disputed =
                marks.iter().map(|mark| turns.take(1, std::slice::from_ref(mark))).any(|it| it.is_some());
            assert_eq!(is_disputed, expected, "{marks:?}");
        }
    }

    #[test]
    fn each_round_is_calmer_and_whoever_was_quiet_begins_anew() {
        let (mut turns, mark) = (Turns::begin(), child(json!({})));
        assert_eq!(turns.take(0, std::slice::from_ref(&mark)), None);
        let calm: Vec<Duration> =
            (0..10).map(|_| turns.take(30, std::slice::from_ref(&mark)).unwrap()).collect();
        assert!(
            calm[0] <= SECOND && calm[2] > SECOND && calm[9] > 30 * SECOND && calm[9] <= 60 * SECOND,
            "{calm:?}"
        );
        assert!(turns.take(121, std::slice::from_ref(&mark)).unwrap() <= SECOND);
        assert_eq!(turns.take(1, &[]), None, "a turn that writes nothing is none");
        // Once it is gone, nothing of it is remembered.
        turns.0.forget(&Key::cluster_wide("a"));
        assert_eq!(turns.take(1, std::slice::from_ref(&mark)), None);
    }

    #[test]
    fn what_was_removed_long_ago_is_forgotten() {
        let (mut turns, gone) = (Turns::begin(), Mark::removed("Role `r`".to_owned()));
        assert_eq!(turns.take(0, std::slice::from_ref(&gone)), None);
        assert_eq!(turns.take(121, std::slice::from_ref(&gone)), None);
        assert!(turns.take(1, std::slice::from_ref(&gone)).is_some());
    }
}
