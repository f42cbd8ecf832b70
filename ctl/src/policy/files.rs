//! Files of policies, as the webhook reads them.

use std::path::{Path, PathBuf};

use butler_policies::policy::{Problem, SourceFile};
use butler_webhook::policy_files;

use crate::{failure::Failure, print};

/// All files of policies at these paths, each once, as one set.
pub(crate) fn read_all(paths: &[PathBuf]) -> Result<Vec<SourceFile>, Failure> {
    let mut files: Vec<SourceFile> = Vec::new();
    for path in paths {
        for file in read(path)? {
            if !files.iter().any(|known| known.path == file.path) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// The files of policies at a path; that there are none is a failure.
pub(crate) fn read(path: &Path) -> Result<Vec<SourceFile>, Failure> {
    let files = policy_files::read(path)?;
    if files.is_empty() {
        return Err(Failure::new(format_args!(
            "`{}` has no policies; they are in files that end in `.yaml`, `.yml` or `.json`",
            path.display()
        )));
    }
    Ok(files)
}

/// One file, whatever it is called.
pub(crate) fn read_one(path: &Path) -> Result<SourceFile, Failure> {
    let no_file = || Failure::new(format_args!("`{}` is not a file", path.display()));
    if path.is_dir() {
        return Err(no_file());
    }
    policy_files::read(path)?.pop().ok_or_else(no_file)
}

/// Prints each problem with its lines and a caret.
pub(crate) fn show(problems: &[Problem], files: &[SourceFile]) -> Result<(), Failure> {
    problems.iter().try_for_each(|problem| print::line(format_args!("{}\n", problem.render(files))))
}
