//! A review that is given up leaves its line in the log all the same.
//!
//! It is given up when judging takes longer than anybody waits, when the caller goes away, and when judging panics. All three
//! drop what is in progress, which is noticed here.

use std::time::Instant;

use butler_api::excerpt::excerpt;
use butler_policies::Review;

use super::{Metrics, Outcome};
use crate::endpoint::Endpoint;

/// A review in progress.
pub(super) struct Unfinished<'a, 'r> {
    pub(super) endpoint: Endpoint,
    pub(super) review: &'a Review<'r>,
    pub(super) started: Instant,
    pub(super) metrics: &'a Metrics,
}

impl Unfinished<'_, '_> {
    /// It has its answer.
    pub(super) fn finish(self) {
        // There is nothing in it that has to be given back.
        std::mem::forget(self);
    }
}

impl Drop for Unfinished<'_, '_> {
    fn drop(&mut self) {
        let Self { endpoint, review, started, metrics } = self;
        let took = started.elapsed();
        metrics.reviewed(*endpoint, Some(review.operation), Outcome::Unfinished, took);
        tracing::warn!(
            webhook = endpoint.webhook,
            uid = excerpt(&review.uid),
            operation = review.operation.as_str(),
            namespace = excerpt(&review.namespace),
            name = excerpt(&review.name),
            user = excerpt(&review.caller.name),
            dry_run = review.dry_run,
            verdict = Outcome::Unfinished.as_str(),
            microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            "reviewed"
        );
    }
}
