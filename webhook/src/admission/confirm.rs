//! Before a no is given, what it rests on is looked up where it is kept.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use butler_policies::facts::Fact;
use butler_policies::{FactKey, Facts, Review};
use futures::{StreamExt, stream};
use tokio::time::timeout;

use super::Admission;
use crate::facts::Look;

/// The API server gives us five seconds, and an answer that comes late is an error to the user.
const PATIENCE: Duration = Duration::from_secs(3);
/// What one review may make us read. An object that refers to more things that do not exist than this is not worth more
/// questions: its denial stands.
const MOST: usize = 32;
/// How many of them at the same time.
const AT_ONCE: usize = 8;

impl<L: Look> Admission<L> {
    /// `first` was judged on `facts`. While an answer rests on facts that were not looked up yet, looks them up and
    /// judges again. Each is looked up once; what cannot be read is unknown, and not knowing denies. What the snapshot
    /// has stays known all the same: a look that fails is no reason for one more complaint about the user's object.
    /// What was found out is in `facts` afterwards.
    pub(super) async fn confirm<T>(
        &self,
        review: &Review<'_>,
        facts: &mut Arc<Facts>,
        first: T,
        rests_on: impl Fn(&T) -> Vec<FactKey>,
        again: impl Fn(&Review<'_>, &Facts) -> T,
    ) -> T {
        let mut answer = first;
        if rests_on(&answer).is_empty() {
            return answer;
        }
        let facts = Arc::make_mut(facts);
        let mut known: BTreeSet<FactKey> = BTreeSet::new();
        let looking = async {
            loop {
                let mut keys = rests_on(&answer);
                keys.retain(|key| !known.contains(key));
                keys.truncate(MOST.saturating_sub(known.len()));
                if keys.is_empty() {
                    return;
                }
                let lookups = keys.into_iter().map(|key| async move {
                    let fact = self.look.look(&key, &review.caller).await;
                    (key, fact)
                });
                let mut found = stream::iter(lookups).buffer_unordered(AT_ONCE);
                while let Some((key, fact)) = found.next().await {
                    if !matches!(fact, Fact::Unreadable) || !facts.knows(&key) {
                        facts.learn(key.clone(), fact);
                    }
                    known.insert(key);
                }
                answer = again(review, facts);
            }
        };
        // When time runs out the denial stands as it is: nothing was found that speaks against it.
        if timeout(PATIENCE, looking).await.is_err() {
            tracing::warn!("what a review rests on could not be looked up in time");
        }
        answer
    }
}
