//! What a finished cache directory holds, recorded when it was made and checked before it is used.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{checksum::sha256_of_file, error::BinariesError};

const FILE_NAME: &str = "contents.json";

#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    files: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// Relative to the directory.
    path: PathBuf,
    size: u64,
    sha256: String,
}

/// Records every file below `directory`, and returns only when all of it is on the disk: the rename that
/// follows must not be able to outlive a power cut that the content did not.
pub(super) fn record(directory: &Path) -> Result<(), BinariesError> {
    let mut files = Vec::new();
    collect(directory, directory, &mut files)?;
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let path = directory.join(FILE_NAME);
    let failed = |source| BinariesError::cache("write", &path, source);
    let text = serde_json::to_vec_pretty(&Contents { files }).map_err(|error| failed(error.into()))?;
    fs::write(&path, text).map_err(failed)?;
    sync(&path)?;
    sync(directory)
}

fn collect(root: &Path, directory: &Path, files: &mut Vec<Entry>) -> Result<(), BinariesError> {
    let unreadable = |source| BinariesError::cache("read", directory, source);
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        if entry.file_type().map_err(unreadable)?.is_dir() {
            collect(root, &path, files)?;
        } else {
            let size = entry.metadata().map_err(unreadable)?.len();
            let sha256 =
                sha256_of_file(&path).map_err(|source| BinariesError::cache("read", &path, source))?;
            let relative = path.strip_prefix(root).unwrap_or(&path).to_owned();
            files.push(Entry { path: relative, size, sha256 });
        }
        sync(&path)?;
    }
    Ok(())
}

/// Waits until a file's or a directory's content is on the disk.
pub(super) fn sync(path: &Path) -> Result<(), BinariesError> {
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(|source| BinariesError::cache("write", path, source))
}

/// Checks that every recorded file is there, with the recorded size and hash. What differs is never rebuilt
/// silently: a file that changed by itself is a sign of a failing disk or of somebody's hand, and people want
/// to know.
pub(super) fn verify(directory: &Path) -> Result<(), BinariesError> {
    let damaged = |file: &Path, finding: String| BinariesError::Damaged {
        file: file.to_owned(),
        finding,
        directory: directory.to_owned(),
    };
    let unreadable = |file: &Path, error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => damaged(file, "is missing".to_owned()),
        _ => damaged(file, format!("cannot be read ({error})")),
    };
    let path = directory.join(FILE_NAME);
    let text = fs::read(&path).map_err(|error| unreadable(&path, error))?;
    let contents: Contents = serde_json::from_slice(&text)
        .map_err(|error| damaged(&path, format!("is not readable ({error})")))?;
    for entry in contents.files {
        let file = directory.join(&entry.path);
        let size = fs::metadata(&file).map_err(|error| unreadable(&file, error))?.len();
        if size != entry.size {
            return Err(damaged(&file, format!("has {size} bytes and was built with {}", entry.size)));
        }
        let sha256 = sha256_of_file(&file).map_err(|error| unreadable(&file, error))?;
        if sha256 != entry.sha256 {
            return Err(damaged(
                &file,
                format!("has sha256 `{sha256}` and was built with `{}`", entry.sha256),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("folder")).unwrap();
        fs::write(directory.path().join("program"), "abc").unwrap();
        fs::write(directory.path().join("folder/file"), "").unwrap();
        record(directory.path()).unwrap();
        directory
    }

    fn message_after(change: impl FnOnce(&Path)) -> String {
        let directory = recorded();
        change(directory.path());
        let message = verify(directory.path()).unwrap_err().to_string();
        message.replace(directory.path().to_str().unwrap(), "/cache/x")
    }

    #[test]
    fn an_untouched_directory_passes() {
        verify(recorded().path()).unwrap();
    }

    #[test]
    fn another_size_is_named() {
        assert_eq!(
            message_after(|directory| fs::write(directory.join("program"), "abcd").unwrap()),
            "the cached file `/cache/x/program` has 4 bytes and was built with 3: \
             remove the directory `/cache/x` and run again to make it anew"
        );
    }

    #[test]
    fn another_content_of_the_same_size_is_named() {
        assert_eq!(
            message_after(|directory| fs::write(directory.join("program"), "abd").unwrap()),
            "the cached file `/cache/x/program` has sha256 \
             `a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9` and was built with \
             `ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad`: \
             remove the directory `/cache/x` and run again to make it anew"
        );
    }

    #[test]
    fn a_missing_file_is_named() {
        assert_eq!(
            message_after(|directory| fs::remove_file(directory.join("folder/file")).unwrap()),
            "the cached file `/cache/x/folder/file` is missing: \
             remove the directory `/cache/x` and run again to make it anew"
        );
    }

    #[test]
    fn a_missing_record_is_named() {
        assert_eq!(
            message_after(|directory| fs::remove_file(directory.join(FILE_NAME)).unwrap()),
            "the cached file `/cache/x/contents.json` is missing: \
             remove the directory `/cache/x` and run again to make it anew"
        );
    }
}
