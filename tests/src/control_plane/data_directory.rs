//! Where one control plane keeps its state: a directory that disappears with it, or one that is kept between
//! runs.
//!
//! ```text
//! butler-bench.json   whose directory this is, and of which version
//! lock                held while a control plane runs on it
//! kubeconfig          for the administrator; users/ has one for each further user
//! pki/  etcd/  logs/  config/
//! ```

use std::fs::{self, File, TryLockError};
use std::io;
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
    Temporary(SweptDirectory),
    Kept(File),
}

impl DataDirectory {
    pub(crate) fn temporary() -> Result<Self, ControlPlaneError> {
        let swept =
            SweptDirectory::make("butler-bench-").map_err(ControlPlaneError::file(std::env::temp_dir()))?;
        let directory = Self { path: swept.path().to_owned(), kind: Kind::Temporary(swept) };
        directory.make_rooms()?;
        Ok(directory)
    }

    /// Takes a directory that is new, empty, or ours and of this Kubernetes version, and locks it.
    pub(crate) fn kept(path: &Path, kubernetes: &str) -> Result<Self, ControlPlaneError> {
        let failed = |source| ControlPlaneError::File { path: path.to_owned(), source };
        pki::make_private_directory(path)?;
        let path = path.canonicalize().map_err(failed)?;
        refuse_foreign(&path)?;

        let lock = File::options().create(true).truncate(false).write(true).open(path.join(LOCK));
        let lock = lock.map_err(ControlPlaneError::file(path.join(LOCK)))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ControlPlaneError::InUse { path }),
            Err(TryLockError::Error(source)) => return Err(ControlPlaneError::File { path, source }),
        }

        let ours = Marker { layout: LAYOUT, kubernetes: kubernetes.to_owned() };
        match read_marker(&path)? {
            Some(found) if found != ours => {
                return Err(ControlPlaneError::OtherVersion {
                    path,
                    found: found.describe(),
                    ours: ours.describe(),
                });
            }
            Some(_) => {}
            None => {
                let text = serde_json::to_string(&ours).map_err(io::Error::from).map_err(failed)?;
                pki::write(&path.join(MARKER), &text)?;
            }
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
        matches!(self.kind, Kind::Temporary(_))
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

fn read_marker(path: &Path) -> Result<Option<Marker>, ControlPlaneError> {
    match fs::read(path.join(MARKER)) {
        // A marker that cannot be read is of a version that we do not know.
        Ok(text) => Ok(Some(
            serde_json::from_slice(&text)
                .unwrap_or_else(|_| Marker { layout: 0, kubernetes: "an unknown version".to_owned() }),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ControlPlaneError::File { path: path.join(MARKER), source }),
    }
}
