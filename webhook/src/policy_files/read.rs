//! The files of a directory, as one version of it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use butler_policies::policy::{LARGEST_FILE, LARGEST_LOAD, SourceFile};

/// What policies are written in.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];
/// What `butlerctl policy test` runs is beside the policies, and none of them.
const CASES: &str = "cases.yaml";
/// Directories within each other.
const DEEPEST: usize = 8;
/// Files of policies.
const MOST_FILES: usize = 4_096;
/// Names that are looked at, whatever they are of.
const MOST_ENTRIES: usize = 65_536;
/// How often a read is begun anew because the directory was swapped under it.
const ATTEMPTS: u32 = 5;

/// Why the files of a directory cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ReadError {
    #[error("`{path}` cannot be read: {source}")]
    Unreadable { path: String, source: io::Error },
    #[error("`{path}` is not text in UTF-8")]
    NotText { path: String },
    #[error("`{path}` is neither a file nor a directory")]
    NeitherFileNorDirectory { path: String },
    #[error("`{path}` is larger than {LARGEST_FILE} bytes")]
    LargeFile { path: String },
    #[error("all files together are larger than {LARGEST_LOAD} bytes")]
    LargeLoad,
    #[error("`{path}` is more than {DEEPEST} directories deep")]
    TooDeep { path: String },
    #[error("there are more than {MOST_FILES} files of policies")]
    TooManyFiles,
    #[error("there are more than {MOST_ENTRIES} names in the directories")]
    TooManyEntries,
    #[error("`{path}` changes faster than it can be read")]
    Unsteady { path: String },
}

/// The files of policies in a directory and in those below it, by name. A path to a file gives that file, whatever it is
/// called.
///
/// Read are `*.yaml`, `*.yml` and `*.json`, also where they are links, but neither `cases.yaml` nor anything whose name
/// begins with a dot: a kubelet keeps what it mounts in such directories, and links to it from beside them.
///
/// All files are of one swap of a mounted ConfigMap. In a directory that people change file by file, a reader may come
/// in between.
///
/// # Errors
/// When anything that should be read cannot be, or is more than anybody means.
pub fn read(path: &Path) -> Result<Vec<SourceFile>, ReadError> {
    for _ in 0..ATTEMPTS {
        let mut reading = Reading::default();
        let done = reading.all(path);
        // The old version is removed right after a swap, so a read that began before may fail and is begun anew.
        if reading.versions.iter().all(|(directory, version)| version_of(directory).as_ref() == Some(version))
        {
            return done.map(|()| reading.files);
        }
    }
    Err(ReadError::Unsteady { path: shown(path) })
}

#[derive(Default)]
struct Reading {
    files: Vec<SourceFile>,
    bytes: usize,
    entries: usize,
    /// Directories by device and number: a link to one above would lead around for ever.
    seen: HashSet<(u64, u64)>,
    /// Directories that a kubelet swaps as a whole, with what they held when they were opened.
    versions: Vec<(PathBuf, PathBuf)>,
}

impl Reading {
    fn all(&mut self, path: &Path) -> Result<(), ReadError> {
        let metadata = metadata(path)?;
        if metadata.is_dir() { self.directory(path, &metadata, 0) } else { self.file(path, &metadata) }
    }

    fn directory(&mut self, path: &Path, metadata: &Metadata, depth: usize) -> Result<(), ReadError> {
        if !self.seen.insert((metadata.dev(), metadata.ino())) {
            return Ok(());
        }
        if depth > DEEPEST {
            return Err(ReadError::TooDeep { path: shown(path) });
        }
        self.versions.extend(version_of(path).map(|version| (path.to_owned(), version)));
        for entry in self.sorted(path)? {
            let metadata = self::metadata(&entry)?;
            if metadata.is_dir() {
                self.directory(&entry, &metadata, depth + 1)?;
            } else if is_of_policies(&entry) {
                self.file(&entry, &metadata)?;
            }
        }
        Ok(())
    }

    /// What a directory holds, by name, so that the order never depends on the file system.
    fn sorted(&mut self, path: &Path) -> Result<Vec<PathBuf>, ReadError> {
        let unreadable = |source| ReadError::Unreadable { path: shown(path), source };
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(ReadError::TooManyEntries);
            }
            if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                entries.push(entry.path());
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn file(&mut self, path: &Path, metadata: &Metadata) -> Result<(), ReadError> {
        // Opening a pipe would wait for somebody to write.
        if !metadata.is_file() {
            return Err(ReadError::NeitherFileNorDirectory { path: shown(path) });
        }
        if self.files.len() >= MOST_FILES {
            return Err(ReadError::TooManyFiles);
        }
        let mut bytes = Vec::new();
        let opened = File::open(path);
        opened
            .and_then(|file| file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes))
            .map_err(|source| ReadError::Unreadable { path: shown(path), source })?;
        if bytes.len() > LARGEST_FILE {
            return Err(ReadError::LargeFile { path: shown(path) });
        }
        self.bytes += bytes.len();
        if self.bytes > LARGEST_LOAD {
            return Err(ReadError::LargeLoad);
        }
        let text = String::from_utf8(bytes).map_err(|_| ReadError::NotText { path: shown(path) })?;
        self.files.push(SourceFile { path: shown(path), text });
        Ok(())
    }
}

fn is_of_policies(path: &Path) -> bool {
    let is_one = |ending: &OsStr| ENDINGS.iter().any(|one| ending == *one);
    path.extension().is_some_and(is_one) && path.file_name().is_some_and(|name| name != CASES)
}

/// Where a kubelet's own link in a mounted directory leads.
fn version_of(directory: &Path) -> Option<PathBuf> {
    fs::canonicalize(directory.join("..data")).ok()
}

fn metadata(path: &Path) -> Result<Metadata, ReadError> {
    fs::metadata(path).map_err(|source| ReadError::Unreadable { path: shown(path), source })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests;
