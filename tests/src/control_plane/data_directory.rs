//! Where one control plane keeps its state: a directory that disappears with it, or one that is kept between
//! runs.
//!
//! ```text
//! butler-bench.json   whose directory this is, and of which version
//! lock                held, and says by which process, while a control plane runs on it
//! kubeconfig          for the administrator; users/ has one for each further user
//! pki/  etcd/  logs/  config/
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ControlPlaneError;
use crate::guard::SweptDirectory;
use crate::pki;

/// Raised when a directory written by older code can no longer be used by newer code.
const LAYOUT: u32 = 1;
const MARKER: &str = "butler-bench.json";
const LOCK: &str = "lock";

#[derive(Serialize, Deserialize, PartialEq)]
struct Marker {
    layout: u32,
    kubernetes: String,
}

impl Marker {
    fn describe(&self) -> String {
        format!("Kubernetes {}, layout {}", self.kubernetes, self.layout)
    }
}

#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
#[expect(dead_code, reason = "both are held for what happens when they are dropped")]
enum Kind {
    // The lock goes last, so that whoever waits for it finds nothing left.
    Temporary(SweptDirectory, File),
    Kept(File),
}

/// A control plane of any process, seen from outside. The kernel lets go of a lock when its holder ends, however it
/// ends, so what is locked names a living process.
#[derive(Debug)]
pub struct Running {
    process: u32,
    // Open from the first look on, so that its end is seen also when the directory goes with it.
    lock: File,
}

impl Running {
    /// The control plane that runs in a directory, if one does.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn find(directory: &Path) -> Result<Option<Self>, ControlPlaneError> {
        let path = directory.join(LOCK);
        let failed = |source| ControlPlaneError::File { path: path.clone(), source };
        let lock = match File::open(&path) {
            Ok(lock) => lock,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(failed(source)),
        };
        let mut holder = String::new();
        (&lock).read_to_string(&mut holder).map_err(failed)?;
        // Empty for the moment between taking the lock and writing into it: not running yet.
        let Ok(process) = holder.trim().parse() else { return Ok(None) };
        let running = Self { process, lock };
        Ok(if running.has_ended().map_err(failed)? { None } else { Some(running) })
    }

    /// The process that runs it.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Whether it has ended, with all its programs, and with its directory if that was temporary.
    ///
    /// # Errors
    /// When the operating system cannot tell.
    pub fn has_ended(&self) -> io::Result<bool> {
        match self.lock.try_lock_shared() {
            Ok(()) => self.lock.unlock().map(|()| true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Takes the lock and writes into it who has it; nothing if somebody else does.
fn take_lock(directory: &Path) -> io::Result<Option<File>> {
    let mut lock = File::options().create(true).truncate(false).write(true).open(directory.join(LOCK))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    lock.set_len(0)?;
    write!(lock, "{}", std::process::id())?;
    Ok(Some(lock))
}

impl DataDirectory {
    pub(crate) fn temporary() -> Result<Self, ControlPlaneError> {
        let swept =
            SweptDirectory::make("butler-bench-").map_err(ControlPlaneError::file(std::env::temp_dir()))?;
        let path = swept.path().to_owned();
        let lock = take_lock(&path).map_err(ControlPlaneError::file(&path))?;
        let lock = lock.ok_or_else(|| ControlPlaneError::InUse { path: path.clone() })?;
        let directory = Self { path, kind: Kind::Temporary(swept, lock) };
        directory.make_rooms()?;
        Ok(directory)
    }

    /// Takes a directory that is new, empty, or ours and of this Kubernetes version, and locks it.
    pub(crate) fn kept(path: &Path, kubernetes: &str) -> Result<Self, ControlPlaneError> {
        let failed = |source| ControlPlaneError::File { path: path.to_owned(), source };
        // The programs take paths as flags, which are text.
        if path.to_str().is_none() {
            return Err(ControlPlaneError::NotText { path: path.to_owned() });
        }
        if path.symlink_metadata().is_ok() && !path.is_dir() {
            return Err(ControlPlaneError::NotADirectory { path: path.to_owned() });
        }
        pki::make_private_directory(path)?;
        let path = path.canonicalize().map_err(failed)?;
        refuse_foreign(&path)?;

        let lock = take_lock(&path).map_err(ControlPlaneError::file(path.join(LOCK)))?;
        let Some(lock) = lock else { return Err(ControlPlaneError::InUse { path }) };

        let ours = Marker { layout: LAYOUT, kubernetes: kubernetes.to_owned() };
        match fs::read(path.join(MARKER)) {
            Ok(text) => {
                let found = serde_json::from_slice::<Marker>(&text).ok();
                if found.as_ref() != Some(&ours) {
                    let found = found.map_or("an unknown version".to_owned(), |found| found.describe());
                    return Err(ControlPlaneError::OtherVersion { path, found, ours: ours.describe() });
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let text = serde_json::to_string(&ours).map_err(io::Error::from).map_err(failed)?;
                pki::write(&path.join(MARKER), &text)?;
            }
            Err(source) => return Err(ControlPlaneError::File { path: path.join(MARKER), source }),
        }
        let directory = Self { path, kind: Kind::Kept(lock) };
        directory.make_rooms()?;
        Ok(directory)
    }

    fn make_rooms(&self) -> Result<(), ControlPlaneError> {
        for room in ["pki", "logs", "config", "users"] {
            pki::make_private_directory(&self.path.join(room))?;
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it disappears, so that nothing in it has to survive a power failure.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self.kind, Kind::Temporary(..))
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    pub(crate) fn log(&self, program: &str) -> PathBuf {
        self.logs().join(format!("{program}.log"))
    }
}

/// A directory with anything in it but without our marker is somebody else's. The lock alone is a start of
/// ours that was killed before it wrote the marker.
fn refuse_foreign(path: &Path) -> Result<(), ControlPlaneError> {
    let failed = |source| ControlPlaneError::File { path: path.to_owned(), source };
    if path.join(MARKER).exists() {
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(failed)? {
        if entry.map_err(failed)?.file_name() != LOCK {
            return Err(ControlPlaneError::NotOurs { path: path.to_owned() });
        }
    }
    Ok(())
}
