//! Everything that can keep the bench from having its programs, each as one sentence that says what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why the programs could not be found or built.
#[derive(Debug, thiserror::Error)]
pub enum BinariesError {
    /// A program was used that was not asked for: a mistake in the calling code.
    #[error(
        "`{name}` is not among the programs that were asked for: \
         add it to the list given to `Binaries::ensure`"
    )]
    NotAskedFor {
        /// The program's name.
        name: &'static str,
    },

    /// No variable says where the cache is.
    #[error(
        "there is no place for the cache because neither BUTLER_CACHE_DIR, XDG_CACHE_HOME nor HOME is set: \
         set BUTLER_CACHE_DIR to a directory with 1 GB of room"
    )]
    NoCacheDirectory,

    /// The cache could not be read or written.
    #[error(
        "cannot {action} `{}` in the cache ({source}): make room or grant access there, \
         or set BUTLER_CACHE_DIR to another directory",
        path.display()
    )]
    Cache {
        /// What was tried, as a verb.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// A cached file is not the one that was built.
    #[error(
        "the cached file `{}` {finding}: remove the directory `{}` and run again to make it anew",
        file.display(),
        directory.display()
    )]
    Damaged {
        /// The file that differs.
        file: PathBuf,
        /// How it differs.
        finding: String,
        /// What to remove.
        directory: PathBuf,
    },

    /// `KUBEBUILDER_ASSETS` does not name a directory.
    #[error(
        "KUBEBUILDER_ASSETS is `{}`, which is not a directory: correct it, or unset it to build the programs",
        path.display()
    )]
    AssetsNotADirectory {
        /// The variable's value.
        path: PathBuf,
    },

    /// A program of `KUBEBUILDER_ASSETS` cannot be executed.
    #[error(
        "`{}` of KUBEBUILDER_ASSETS is not an executable file: make it one, or remove it to have it built",
        path.display()
    )]
    AssetNotExecutable {
        /// The file.
        path: PathBuf,
    },

    /// Something must be built and there is no Go.
    #[error(
        "`go` is not on PATH and {missing} must be built: install Go {needed} or newer, \
         or set KUBEBUILDER_ASSETS to a directory that has the programs"
    )]
    GoMissing {
        /// What must be built.
        missing: String,
        /// The oldest version that will do.
        needed: &'static str,
    },

    /// The Go on PATH is too old.
    #[error(
        "`{}` is Go {found} and {missing} must be built with Go {needed} or newer: install that",
        program.display()
    )]
    GoTooOld {
        /// The program that was found.
        program: PathBuf,
        /// Its version.
        found: String,
        /// What must be built.
        missing: String,
        /// The oldest version that will do.
        needed: &'static str,
    },

    /// The user's `GOFLAGS` would spoil every build.
    #[error("GOFLAGS has `{flag}`, with which static programs cannot be built: remove it for this run")]
    GoFlags {
        /// The flag.
        flag: String,
    },

    /// The Go program itself could not be run or asked.
    #[error("`{}` could not be used ({reason}): repair or reinstall Go", program.display())]
    GoUnusable {
        /// The program that was found.
        program: PathBuf,
        /// What happened.
        reason: String,
    },

    /// A `go` command failed.
    #[error(
        "{doing} failed with {status}: correct what `go` says in its last lines and run again:\n{output}"
    )]
    GoFailed {
        /// What it was meant to do.
        doing: String,
        /// How it ended.
        status: String,
        /// The end of what it printed.
        output: String,
    },
}

impl BinariesError {
    pub(super) fn cache(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Cache { action, path: path.to_owned(), source }
    }
}
