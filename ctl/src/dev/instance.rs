//! Which process runs a data directory's control plane: how `dev stop` and `dev env` find it.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use rustix::process::Pid;

use crate::failure::Failure;

const RECORD: &str = "butlerctl-dev.pid";

/// This process, recorded in its data directory for as long as it lives.
///
/// The record is locked, and the kernel lets go of a lock when its holder ends, however it ends: a locked record names
/// a living process, so its pid cannot have passed to a stranger.
#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
    _locked: File,
}

impl Instance {
    /// Records this process as the one that runs `directory`.
    pub(super) fn record(directory: &Path) -> io::Result<Self> {
        let path = directory.join(RECORD);
        let mut file = File::options().create(true).write(true).truncate(false).open(&path)?;
        file.lock()?;
        file.set_len(0)?;
        write!(file, "{}", std::process::id())?;
        Ok(Self { path, _locked: file })
    }

    /// The process that runs `directory`.
    pub(super) fn find(directory: &Path) -> Result<Pid, Failure> {
        Self::running(directory)?.ok_or_else(|| {
            Failure::new(format_args!(
                "no control plane runs in `{0}`; start one with `butlerctl dev --data-dir {0}`",
                directory.display()
            ))
        })
    }

    /// The process that runs `directory`, if one does.
    pub(super) fn running(directory: &Path) -> Result<Option<Pid>, Failure> {
        let path = directory.join(RECORD);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::Error(error)) => Err(unreadable(&path, &error)),
            Err(TryLockError::WouldBlock) => {
                let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
                // Empty for the moment between locking and writing: not yet running.
                Ok(text.trim().parse().ok().and_then(Pid::from_raw))
            }
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Gone with a temporary directory, or left unlocked, which says the same.
        fs::remove_file(&self.path).ok();
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format_args!("cannot read `{}`: {error}; check its permissions", path.display()))
}
