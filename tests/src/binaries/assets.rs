//! Programs that somebody else provides, in the directory named by `KUBEBUILDER_ASSETS`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{Binary, error::BinariesError};

/// The directory of `KUBEBUILDER_ASSETS`, known to exist.
#[derive(Debug)]
pub(super) struct Assets<'a> {
    directory: &'a Path,
}

impl<'a> Assets<'a> {
    pub(super) fn open(directory: &'a Path) -> Result<Self, BinariesError> {
        if directory.is_dir() {
            Ok(Self { directory })
        } else {
            Err(BinariesError::AssetsNotADirectory { path: directory.to_owned() })
        }
    }

    /// The program's path, or nothing if the directory does not have it.
    pub(super) fn find(&self, binary: Binary) -> Result<Option<PathBuf>, BinariesError> {
        let path = self.directory.join(binary.name());
        // Asking the link itself: one that points nowhere was meant to provide the program, so it is a
        // mistake.
        if fs::symlink_metadata(&path).is_err() {
            Ok(None)
        } else if is_executable(&path) {
            Ok(Some(path))
        } else {
            Err(BinariesError::AssetNotExecutable { path })
        }
    }
}

pub(super) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
