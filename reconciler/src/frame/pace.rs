//! How fast things happen.

use std::time::Duration;

use butler_program::backoff::shortened;

/// The times that an operator might want to know, and a test shorter.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How often an object is looked at although nothing was heard of it.
    pub resync: Duration,
    /// After a first failure; each further one doubles it.
    pub first_retry: Duration,
    /// However often it failed.
    pub last_retry: Duration,
    /// After a first time of knowing something that was not the newest: what a watch needs to tell. It doubles too.
    pub stale: Duration,
    /// How long what others do to children is left alone after it was first set back. It doubles each time they do it again.
    pub first_calm: Duration,
    /// However often they do it.
    pub last_calm: Duration,
    /// How long observing, planning and applying may take for one object.
    pub reconcile: Duration,
    /// How long one request may take.
    pub request: Duration,
    /// How long what is running may go on when the program is asked to end.
    pub grace: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            resync: Duration::from_secs(600),
            first_retry: Duration::from_secs(1),
            last_retry: Duration::from_secs(300),
            stale: Duration::from_millis(200),
            first_calm: Duration::from_secs(1),
            last_calm: Duration::from_secs(60),
            reconcile: Duration::from_secs(60),
            request: Duration::from_secs(10),
            grace: Duration::from_secs(10),
        }
    }
}

impl Pace {
    /// When an object is looked at again that is as it should be: objects that were made together spread out.
    pub(super) fn next_resync(&self, own: Option<Duration>) -> Duration {
        shortened(own.unwrap_or(self.resync).min(self.resync), 20)
    }
}
