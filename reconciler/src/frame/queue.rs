//! Whose turn it is.
//!
//! Every object is in the queue at most once, however often something is heard of it, and is never worked on twice at the
//! same time: what is heard while it is worked on gives it another turn afterwards.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::sleep_until;

use super::Key;

/// Objects and when each is due. Pure: the clock is the caller's.
#[derive(Debug, Default)]
pub struct Queue {
    /// When each waiting object is due, the earliest first.
    due: BTreeSet<(Instant, Key)>,
    waiting: HashMap<Key, Instant>,
    /// Objects that are worked on, and when they are due again if something was heard meanwhile.
    running: HashMap<Key, Option<Instant>>,
}

impl Queue {
    /// Gives the object a turn at that time, or earlier if it had one earlier.
    pub fn add(&mut self, key: Key, at: Instant) {
        if let Some(again) = self.running.get_mut(&key) {
            *again = Some(again.map_or(at, |earlier| earlier.min(at)));
            return;
        }
        match self.waiting.get(&key) {
            Some(earlier) if *earlier <= at => return,
            Some(later) => {
                self.due.remove(&(*later, key.clone()));
            }
            None => {}
        }
        self.waiting.insert(key.clone(), at);
        self.due.insert((at, key));
    }

    /// The object whose turn it is, if any is due.
    pub fn take(&mut self, now: Instant) -> Option<Key> {
        let (at, _) = self.due.first()?;
        if *at > now {
            return None;
        }
        let (_, key) = self.due.pop_first()?;
        self.waiting.remove(&key);
        self.running.insert(key.clone(), None);
        Some(key)
    }

    /// The object is not worked on any more; it gets another turn at `again`, or earlier if something was heard of it.
    pub fn finish(&mut self, key: &Key, again: Option<Instant>) {
        let heard = self.running.remove(key).flatten();
        let next = match (heard, again) {
            (Some(heard), Some(again)) => Some(heard.min(again)),
            (heard, again) => heard.or(again),
        };
        if let Some(at) = next {
            self.add(key.clone(), at);
        }
    }

    /// When the next turn comes.
    pub fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// How many objects are due and not yet worked on, and for how long the oldest of them has been.
    pub fn backlog(&self, now: Instant) -> (usize, Duration) {
        let due = self.due.iter().take_while(|(at, _)| *at <= now).count();
        let oldest = self.next().map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        (due, oldest)
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

/// A queue that several hold: watches put in, a driver takes out.
#[derive(Debug, Default)]
pub struct Turns {
    queue: Mutex<Queue>,
    news: Notify,
}

impl Turns {
    /// Gives the object a turn now.
    pub fn add(&self, key: Key) {
        self.lock().add(key, Instant::now());
        self.news.notify_one();
    }

    /// Gives the object a turn after that time; what is heard of it until then has the same turn.
    pub fn add_in(&self, key: Key, delay: Duration) {
        self.lock().add(key, Instant::now() + delay);
        self.news.notify_one();
    }

    /// Begins anew with these objects, all of them due now. Whatever was worked on must have ended.
    pub(super) fn begin(&self, keys: impl IntoIterator<Item = Key>) {
        let now = Instant::now();
        let mut queue = self.lock();
        queue.clear();
        for key in keys {
            queue.add(key, now);
        }
    }

    /// Waits for the next turn. Safe to drop at any time.
    pub(super) async fn next(&self) -> Key {
        loop {
            let next = {
                let mut queue = self.lock();
                match queue.take(Instant::now()) {
                    Some(key) => return key,
                    None => queue.next(),
                }
            };
            let heard = self.news.notified();
            match next {
                Some(at) => tokio::select! {
                    () = sleep_until(at.into()) => {}
                    () = heard => {}
                },
                None => heard.await,
            }
        }
    }

    pub(super) fn finish(&self, key: &Key, again: Option<Instant>) {
        self.lock().finish(key, again);
        self.news.notify_one();
    }

    pub(super) fn backlog(&self) -> (usize, Duration) {
        self.lock().backlog(Instant::now())
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing in here panics half-way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key { namespace: None, name: name.to_owned() }
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn turns_come_in_the_order_of_their_time_and_not_before() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        queue.add(key("late"), start + seconds(5));
        queue.add(key("early"), start + seconds(1));
        assert_eq!(queue.take(start), None);
        assert_eq!(queue.next(), Some(start + seconds(1)));
        assert_eq!(queue.take(start + seconds(9)), Some(key("early")));
        assert_eq!(queue.take(start + seconds(9)), Some(key("late")));
        assert_eq!(queue.take(start + seconds(9)), None);
    }

    #[test]
    fn an_object_waits_once_for_the_earliest_of_its_times() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        for at in [5, 2, 7] {
            queue.add(key("a"), start + seconds(at));
        }
        assert_eq!(queue.next(), Some(start + seconds(2)));
        assert_eq!(queue.take(start + seconds(9)), Some(key("a")));
        queue.finish(&key("a"), None);
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn what_is_worked_on_gets_another_turn_afterwards_and_never_two_at_once() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        queue.add(key("a"), start);
        assert_eq!(queue.take(start), Some(key("a")));
        queue.add(key("a"), start + seconds(1));
        assert_eq!(queue.take(start + seconds(9)), None);
        queue.finish(&key("a"), Some(start + seconds(600)));
        assert_eq!(queue.take(start + seconds(9)), Some(key("a")));
        queue.finish(&key("a"), Some(start + seconds(600)));
        assert_eq!(queue.next(), Some(start + seconds(600)));
    }

    #[test]
    fn the_backlog_is_what_is_due() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        for (name, at) in [("a", 1), ("b", 2), ("c", 60)] {
            queue.add(key(name), start + seconds(at));
        }
        assert_eq!(queue.backlog(start), (0, Duration::ZERO));
        assert_eq!(queue.backlog(start + seconds(5)), (2, seconds(4)));
    }
}
