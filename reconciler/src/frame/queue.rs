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
    /// Objects that are worked on, and what was heard of them meanwhile.
    running: HashMap<Key, Heard>,
    /// Objects somebody else disagrees about, and until when what is heard of their children is no reason for a turn.
    calmed: HashMap<Key, Instant>,
}

/// When an object that is worked on is due again.
#[derive(Debug, Default)]
struct Heard {
    /// Because of the object itself.
    own: Option<Instant>,
    /// Because of what it depends on.
    around: Option<Instant>,
}

impl Queue {
    /// Gives the object a turn at that time, or earlier if it had one earlier.
    pub fn add(&mut self, key: Key, at: Instant) {
        match self.running.get_mut(&key) {
            Some(heard) => heard.own = earliest(heard.own, Some(at)),
            None => self.wait(key, at),
        }
    }

    /// The same because of something that the object depends on: not before whoever disagrees has calmed down.
    pub fn add_for_others(&mut self, key: Key, at: Instant) {
        if let Some(heard) = self.running.get_mut(&key) {
            heard.around = earliest(heard.around, Some(at));
            return;
        }
        let until = self.calmed.get(&key).copied();
        if until.is_some_and(|until| until <= at) {
            self.calmed.remove(&key);
        }
        self.wait(key, until.map_or(at, |until| until.max(at)));
    }

    fn wait(&mut self, key: Key, at: Instant) {
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
        self.running.insert(key.clone(), Heard::default());
        Some(key)
    }

    /// The object is not worked on any more; it gets another turn at `again`, or earlier if something was heard of it. What
    /// is heard of its children waits until `calm`.
    pub fn finish(&mut self, key: &Key, again: Option<Instant>, calm: Option<Instant>) {
        let Heard { own, around } = self.running.remove(key).unwrap_or_default();
        match calm {
            Some(until) => {
                self.calmed.insert(key.clone(), until);
            }
            // It is gone.
            None if again.is_none() => {
                self.calmed.remove(key);
            }
            None => {}
        }
        if let Some(at) = earliest(own, again) {
            self.add(key.clone(), at);
        }
        if let Some(at) = around {
            self.add_for_others(key.clone(), at);
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
}

fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// A queue that several hold: watches put in, a driver takes out. While nobody takes out, nothing is kept: whoever begins
/// looks at everything.
#[derive(Debug, Default)]
pub struct Turns {
    queue: Mutex<Option<Queue>>,
    news: Notify,
}

impl Turns {
    /// Gives the object a turn now.
    pub fn add(&self, key: Key) {
        self.put(|queue| queue.add(key, Instant::now()));
    }

    /// Gives the object a turn now because of something that it depends on.
    pub fn add_for_others(&self, key: Key) {
        self.put(|queue| queue.add_for_others(key, Instant::now()));
    }

    /// Gives the object a turn after that time; what is heard of it until then has the same turn.
    pub fn add_in(&self, key: Key, delay: Duration) {
        self.put(|queue| queue.add(key, Instant::now() + delay));
    }

    /// Begins anew with these objects, all of them due now. Whatever was worked on must have ended. They are asked for when
    /// nothing that is heard is lost any more.
    pub(super) fn begin(&self, keys: impl FnOnce() -> Vec<Key>) {
        *self.lock() = Some(Queue::default());
        for key in keys() {
            self.add(key);
        }
    }

    /// Nobody takes turns any more.
    pub(super) fn end(&self) {
        *self.lock() = None;
    }

    /// Waits for the next turn. Safe to drop at any time.
    pub(super) async fn next(&self) -> Key {
        loop {
            let next = {
                let mut queue = self.lock();
                match queue.as_mut().and_then(|queue| queue.take(Instant::now())) {
                    Some(key) => return key,
                    None => queue.as_ref().and_then(Queue::next),
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

    pub(super) fn finish(&self, key: &Key, again: Option<Instant>, calm: Option<Instant>) {
        self.put(|queue| queue.finish(key, again, calm));
    }

    pub(super) fn backlog(&self) -> (usize, Duration) {
        self.lock().as_ref().map_or((0, Duration::ZERO), |queue| queue.backlog(Instant::now()))
    }

    fn put(&self, put: impl FnOnce(&mut Queue)) {
        if let Some(queue) = self.lock().as_mut() {
            put(queue);
        }
        self.news.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Queue>> {
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
        queue.finish(&key("a"), None, None);
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn what_is_worked_on_gets_another_turn_afterwards_and_never_two_at_once() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        queue.add(key("a"), start);
        assert_eq!(queue.take(start), Some(key("a")));
        queue.add(key("a"), start + seconds(1));
        assert_eq!(queue.take(start + seconds(9)), None);
        queue.finish(&key("a"), Some(start + seconds(600)), None);
        assert_eq!(queue.take(start + seconds(9)), Some(key("a")));
        queue.finish(&key("a"), Some(start + seconds(600)), None);
        assert_eq!(queue.next(), Some(start + seconds(600)));
    }

    #[test]
    fn a_quarrel_about_children_is_slow_and_a_change_of_the_object_is_not() {
        let (mut queue, start) = (Queue::default(), Instant::now());
        queue.add(key("a"), start);
        assert_eq!(queue.take(start), Some(key("a")));
        // They were faster than we.
        queue.add_for_others(key("a"), start);
        queue.finish(&key("a"), Some(start + seconds(600)), Some(start + seconds(8)));
        assert_eq!(queue.next(), Some(start + seconds(8)));
        queue.add_for_others(key("a"), start + seconds(1));
        assert_eq!(queue.next(), Some(start + seconds(8)));
        queue.add(key("a"), start + seconds(2));
        assert_eq!(queue.take(start + seconds(2)), Some(key("a")));
        queue.finish(&key("a"), Some(start + seconds(600)), None);
        queue.add_for_others(key("a"), start + seconds(3));
        assert_eq!(queue.next(), Some(start + seconds(8)), "another turn does not end it");
        assert_eq!(queue.take(start + seconds(8)), Some(key("a")));
        queue.finish(&key("a"), Some(start + seconds(600)), None);
        queue.add_for_others(key("a"), start + seconds(9));
        assert_eq!(queue.next(), Some(start + seconds(9)), "in the end it is over");
    }

    #[test]
    fn nothing_is_kept_while_nobody_takes_turns() {
        let turns = Turns::default();
        turns.add(key("before"));
        assert_eq!(turns.backlog().0, 0);
        turns.begin(|| vec![key("a"), key("b")]);
        turns.add(key("c"));
        assert_eq!(turns.backlog().0, 3);
        turns.end();
        turns.add(key("after"));
        assert_eq!(turns.backlog().0, 0);
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
