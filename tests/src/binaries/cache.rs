//! The cache directory: one directory per recipe, which is either absent or complete.
//!
//! ```text
//! etcd-3.6.14-linux-amd64-0123456789ab/              finished, verified before use, never changed
//! etcd-3.6.14-linux-amd64-0123456789ab.lock          held by whoever makes it; stays, as removing it is a race
//! etcd-3.6.14-linux-amd64-0123456789ab.making-4711/  being made by process 4711, or left when it was killed
//! ```

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use super::{contents, error::BinariesError};

/// How often a waiting run asks for the lock again: soon enough not to be noticed after a build of minutes.
const RETRY: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
pub(super) struct Cache<'a> {
    root: &'a Path,
}

/// The right to make one product. The kernel takes it back when the holder dies, however it dies.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl<'a> Cache<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root }
    }

    pub(super) fn root(&self) -> &Path {
        self.root
    }

    /// Where a product is once it is made.
    pub(super) fn directory(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.directory(key).is_dir()
    }

    /// Waits for the right to make a product; `wait` is called for as long as somebody else has it.
    pub(super) fn lock(&self, key: &str, mut wait: impl FnMut()) -> Result<Lock, BinariesError> {
        fs::create_dir_all(self.root).map_err(|source| BinariesError::cache("create", self.root, source))?;
        let path = self.root.join(format!("{key}.lock"));
        let failed = |source| BinariesError::cache("lock", &path, source);
        let file = File::options().create(true).append(true).open(&path).map_err(failed)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::WouldBlock) => wait(),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            thread::sleep(RETRY);
        }
    }

    /// Removes what killed runs left and starts an empty workplace. The lock is asked for because without it
    /// the "left" could be somebody's work.
    pub(super) fn stage(&self, key: &str, _lock: &Lock) -> Result<Stage, BinariesError> {
        let prefix = format!("{key}.making-");
        let unreadable = |source| BinariesError::cache("read", self.root, source);
        for entry in fs::read_dir(self.root).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let path = entry.path();
                remove(&path).map_err(|source| BinariesError::cache("remove", &path, source))?;
            }
        }
        let stage = Stage {
            root: self.root.join(format!("{prefix}{}", std::process::id())),
            finished: self.directory(key),
        };
        for directory in [stage.module(), stage.temporary(), stage.product()] {
            fs::create_dir_all(&directory)
                .map_err(|source| BinariesError::cache("create", &directory, source))?;
        }
        Ok(stage)
    }
}

/// Where one product is being made. Dropped without [`Stage::publish`], it disappears and nobody saw it.
#[derive(Debug)]
pub(super) struct Stage {
    root: PathBuf,
    finished: PathBuf,
}

impl Stage {
    /// The directory with go.mod and go.sum.
    pub(super) fn module(&self) -> PathBuf {
        self.root.join("module")
    }

    /// The directory for what `go` is working on.
    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join("temporary")
    }

    /// The directory that will be published.
    pub(super) fn product(&self) -> PathBuf {
        self.root.join("product")
    }

    /// Makes the product visible, whole and recorded, in one step.
    pub(super) fn publish(self) -> Result<(), BinariesError> {
        let product = self.product();
        contents::record(&product)?;
        fs::rename(&product, &self.finished)
            .map_err(|source| BinariesError::cache("create", &self.finished, source))?;
        self.finished.parent().map_or(Ok(()), contents::sync)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed now is removed by whoever makes this product next.
        let _ = remove(&self.root);
    }
}

/// Removes a directory even while the compilers of a killed run are still dying in it.
fn remove(directory: &Path) -> io::Result<()> {
    for _ in 0..20 {
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                thread::sleep(Duration::from_millis(50));
            }
            ended => return ended,
        }
    }
    fs::remove_dir_all(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_published_product_is_complete_and_alone() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path());
        let lock = cache.lock("x-1", || panic!("nobody else is here")).unwrap();
        let stage = cache.stage("x-1", &lock).unwrap();
        fs::write(stage.product().join("x"), "program").unwrap();
        assert!(!cache.has("x-1"));
        stage.publish().unwrap();
        assert!(cache.has("x-1"));
        contents::verify(&cache.directory("x-1")).unwrap();
        assert_eq!(names(root.path()), ["x-1", "x-1.lock"]);
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_other_work_is_not() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path());
        fs::create_dir_all(root.path().join("x-1.making-1/product")).unwrap();
        fs::write(root.path().join("x-1.making-1/product/x"), "half").unwrap();
        fs::create_dir_all(root.path().join("x-12.making-1")).unwrap();
        let lock = cache.lock("x-1", || ()).unwrap();
        let stage = cache.stage("x-1", &lock).unwrap();
        let own = format!("x-1.making-{}", std::process::id());
        assert_eq!(names(root.path()), ["x-1.lock", own.as_str(), "x-12.making-1"]);
        drop(stage);
        assert_eq!(names(root.path()), ["x-1.lock", "x-12.making-1"]);
    }

    #[test]
    fn the_second_run_waits_for_the_first() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path());
        let mut first = Some(cache.lock("x-1", || ()).unwrap());
        let mut waited = 0;
        cache
            .lock("x-1", || {
                waited += 1;
                first.take();
            })
            .unwrap();
        assert_eq!(waited, 1);
    }
}
