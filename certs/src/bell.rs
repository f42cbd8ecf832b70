//! Rings when something in a directory changes: quickly by the operating system's notice, slowly by itself.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::sleep;

/// A kubelet makes several changes at once, and people copy one file after the other.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Notices can get lost, and network file systems give none.
const SLOW_LOOK: Duration = Duration::from_secs(10);
/// Without a watch, looking is all there is.
const QUICK_LOOK: Duration = Duration::from_secs(1);

/// Watches the directory itself and not the files in it: a mounted Secret changes by renaming the symlink
/// `..data` beside them, which a watch on a file would follow to the old contents and never see.
#[derive(Debug)]
pub struct Bell {
    directory: PathBuf,
    mode: RecursiveMode,
    debounce: Duration,
    watch: Option<(RecommendedWatcher, Identity)>,
    sender: mpsc::Sender<()>,
    receiver: mpsc::Receiver<()>,
}

/// Which directory it is. One that was removed and made again is another, and its watch is dead.
type Identity = (u64, u64);

impl Bell {
    pub(crate) fn new(directory: &Path) -> Self {
        Self::over(directory, RecursiveMode::NonRecursive, DEBOUNCE)
    }

    /// Rings for the directories below, too, and so long after the first of several changes.
    pub fn of_tree(directory: &Path, debounce: Option<Duration>) -> Self {
        Self::over(directory, RecursiveMode::Recursive, debounce.unwrap_or(DEBOUNCE))
    }

    fn over(directory: &Path, mode: RecursiveMode, debounce: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(1);
        let directory = directory.to_owned();
        let mut bell = Self { directory, mode, debounce, watch: None, sender, receiver };
        bell.keep_watch();
        bell
    }

    /// Waits for a change, or for `at_most`, or until it is time for a look anyway.
    pub async fn wait(&mut self, at_most: Option<Duration>) {
        let look = if self.watch.is_some() { SLOW_LOOK } else { QUICK_LOOK };
        tokio::select! {
            () = sleep(at_most.unwrap_or(look).min(look)) => {}
            _ = self.receiver.recv() => {
                sleep(self.debounce).await;
                while self.receiver.try_recv().is_ok() {}
            }
        }
        self.keep_watch();
    }

    fn keep_watch(&mut self) {
        let identity = fs::metadata(&self.directory).ok().map(|metadata| (metadata.dev(), metadata.ino()));
        if identity.is_some() && self.watch.as_ref().map(|(_, identity)| *identity) == identity {
            return;
        }
        self.watch = identity.and_then(|identity| {
            let sender = self.sender.clone();
            let ring = move |event: notify::Result<notify::Event>| {
                // Our own reading is an access too, and must not ring.
                let is_change = event.map_or(true, |event| !event.kind.is_access());
                if is_change {
                    // Full means that it rings already.
                    let _ = sender.try_send(());
                }
            };
            let mut watcher = notify::recommended_watcher(ring)
                .inspect_err(|error| {
                    tracing::warn!("cannot watch directories: {error}; looking every second")
                })
                .ok()?;
            watcher.watch(&self.directory, self.mode).ok()?;
            Some((watcher, identity))
        });
    }
}
