//! A number of things that are given out and come back: connections, requests, bytes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use prometheus_client::metrics::gauge::Gauge;

/// Never gives out more than its limit. What is out is counted in a gauge, so that the limit and the metric are the
/// same number.
#[derive(Debug)]
pub struct Budget {
    limit: i64,
    used: Gauge,
}

impl Budget {
    /// Gives out that many, and counts them in the gauge.
    pub fn new(limit: usize, used: Gauge) -> Arc<Self> {
        Arc::new(Self { limit: i64::try_from(limit).unwrap_or(i64::MAX), used })
    }

    /// A share, unless it would exceed the limit.
    pub fn take(self: &Arc<Self>, amount: usize) -> Option<Share> {
        let mut share = Share { budget: self.clone(), amount: 0 };
        share.grow(amount).then_some(share)
    }

    fn try_add(&self, amount: i64) -> bool {
        let within = |used: i64| used.checked_add(amount).filter(|sum| *sum <= self.limit);
        self.used.inner().fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).is_ok()
    }
}

/// Part of a budget, until it is dropped.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    amount: i64,
}

impl Share {
    /// Takes more. Whether it could; if not, the share is what it was.
    #[must_use]
    pub fn grow(&mut self, amount: usize) -> bool {
        let Ok(amount) = i64::try_from(amount) else { return false };
        let is_added = self.budget.try_add(amount);
        if is_added {
            self.amount += amount;
        }
        is_added
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.dec_by(self.amount);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_is_out_never_exceeds_the_limit_and_all_of_it_comes_back() {
        let used = Gauge::default();
        let budget = Budget::new(10, used.clone());
        thread::scope(|scope| {
            for amount in [1, 2, 3, 7] {
                let (budget, used) = (&budget, &used);
                scope.spawn(move || {
                    for _ in 0..10_000 {
                        let share = budget.take(amount).and_then(|mut it| it.grow(amount).then_some(it));
                        assert!(used.get() <= 10);
                        drop(share);
                    }
                });
            }
        });
        assert_eq!(used.get(), 0);
    }

    #[test]
    fn a_refusal_takes_nothing() {
        let used = Gauge::default();
        let budget = Budget::new(10, used.clone());
        let mut first = budget.take(6).unwrap();
        assert!(budget.take(5).is_none());
        assert!(!first.grow(5));
        assert!(!first.grow(usize::MAX));
        assert_eq!(used.get(), 6);
        assert!(first.grow(4));
        assert_eq!(used.get(), 10);
        drop(first);
        assert_eq!(used.get(), 0);
    }
}
