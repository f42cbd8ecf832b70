//! Folders with cases, and the policies that are tested by them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use butler_policies::policy::SourceFile;

use crate::{failure::Failure, policy::files};

/// The name of a file of cases.
const CASES: &str = "cases.yaml";

/// What is tested together.
#[derive(Debug)]
pub(super) struct Suite {
    /// The folder, as people named it.
    pub(super) name: String,
    pub(super) files: Vec<SourceFile>,
    /// Its cases; policies beside which there are none are told as never seen.
    pub(super) cases: Option<SourceFile>,
}

/// The folders at these paths, by name.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Suite>, Failure> {
    let mut suites: BTreeMap<PathBuf, Suite> = BTreeMap::new();
    for path in paths {
        let root = if path.is_dir() { path.as_path() } else { folder_of(path) };
        for file in files::read(path)? {
            let folder = home(Path::new(&file.path), root);
            let suite = match suites.entry(folder.to_owned()) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => place.insert(open(folder)?),
            };
            if !suite.files.iter().any(|known| known.path == file.path) {
                suite.files.push(file);
            }
        }
    }
    Ok(suites.into_values().collect())
}

fn open(folder: &Path) -> Result<Suite, Failure> {
    let cases = folder.join(CASES);
    let cases = if cases.exists() { Some(files::read_one(&cases)?) } else { None };
    Ok(Suite { name: folder.display().to_string(), files: Vec::new(), cases })
}

/// The nearest folder above a file that has cases, else the file's own.
fn home<'p>(file: &'p Path, root: &Path) -> &'p Path {
    let own = folder_of(file);
    let mut above = own.ancestors().take_while(|folder| folder.starts_with(root));
    above.find(|folder| folder.join(CASES).exists()).unwrap_or(own)
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => file,
    }
}
