//! Everything that can keep a control plane from running, each with what to do about it.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use crate::binaries::BinariesError;
use crate::pki::PkiError;

/// Why a control plane, or a request to it, failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlPlaneError {
    /// The programs cannot be had.
    #[error(transparent)]
    Binaries(#[from] BinariesError),
    /// Keys or certificates cannot be made or kept.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// The data directory belongs to something else.
    #[error("`{path}` is not empty and not a data directory of this bench; choose an empty or new directory")]
    NotOurs {
        /// The directory.
        path: PathBuf,
    },
    /// The data directory's path is not text.
    #[error("`{path}` is not valid UTF-8; choose a data directory whose path is")]
    NotText {
        /// The directory.
        path: PathBuf,
    },
    /// What was named as the data directory is something else.
    #[error("`{path}` exists and is not a directory; choose an empty or new directory")]
    NotADirectory {
        /// What was named.
        path: PathBuf,
    },
    /// The data directory was written by another version.
    #[error("`{path}` holds the data of {found}, and this is {ours}; remove it or choose another directory")]
    OtherVersion {
        /// The directory.
        path: PathBuf,
        /// What its marker says.
        found: String,
        /// What runs now.
        ours: String,
    },
    /// The data directory is used by a control plane that is running.
    #[error("`{path}` is in use by a running control plane; stop that one or choose another directory")]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// A file or directory cannot be used.
    #[error("cannot use `{path}`: {source}; check that it is yours and that the disk is not full")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Somebody else listens on the port that was asked for.
    #[error("port {port} is in use by another program; stop that program or choose another port")]
    PortInUse {
        /// The port.
        port: u16,
    },
    /// No free port was found.
    #[error("no free port on 127.0.0.1; end some of the programs that listen there")]
    NoFreePort,
    /// A program could not be started at all.
    #[error(
        "cannot start {program}: {source}; check that `sh` is on the PATH and that more processes may be started"
    )]
    Start {
        /// The program.
        program: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// A program ended that should be running.
    #[error(
        "{program} ended with {status} and said `{}`; mend that, or start in another data directory",
        telling(last_words)
    )]
    Ended {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        last_words: String,
    },
    /// A program runs but did not become ready in time.
    #[error(
        "{program} was not ready after {} seconds ({waiting_for}) and last said `{}`; if the machine is busy, try again",
        patience.as_secs(),
        telling(last_words)
    )]
    NotReady {
        /// The program.
        program: String,
        /// How long it was waited for.
        patience: Duration,
        /// What the last look gave.
        waiting_for: String,
        /// The last lines of its log.
        last_words: String,
    },
    /// The API server refused or failed a request.
    #[error("cannot {action}: {}", reason(source))]
    Request {
        /// What was asked for.
        action: String,
        /// What came back.
        source: Box<kube::Error>,
    },
    /// A kubeconfig of ours does not make a client.
    #[error("cannot make a client from `{path}`: {reason}; remove the data directory and start again")]
    Kubeconfig {
        /// The kubeconfig.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A manifest is not made of Kubernetes objects.
    #[error(
        "cannot read the manifest: {reason}; write YAML documents with apiVersion, kind and metadata.name"
    )]
    Manifest {
        /// What is wrong with it.
        reason: String,
    },
    /// Something awaited on the API server did not happen.
    #[error("{what} did not happen within {} seconds; see the logs in `{logs}`", patience.as_secs())]
    TooSlow {
        /// What was waited for.
        what: String,
        /// For how long.
        patience: Duration,
        /// Where the programs' logs are.
        logs: PathBuf,
    },
    /// A command failed that was expected to succeed.
    #[error("`{command}` ended with {status}:\n{errors}")]
    Command {
        /// The command line.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        errors: String,
    },
    /// A command did not end.
    #[error("`{command}` had not ended after {} seconds and was killed; give it less to wait for", patience.as_secs())]
    CommandTooSlow {
        /// The command line.
        command: String,
        /// How long it was waited for.
        patience: Duration,
    },
}

/// The line of a log's end that says most: the last that speaks of an error, else the last at all. A crashed program
/// prints its whole stack after it, which helps nobody who only wants it to run.
fn telling(last_words: &str) -> String {
    const LONGEST: usize = 400;
    let is_frame = |line: &str| {
        line.starts_with(['\t', ' '])
            || line.starts_with("goroutine ")
            || line.ends_with(')') && !line.contains(": ")
    };
    let lines = || last_words.lines().rev().filter(|line| !line.trim().is_empty() && !is_frame(line));
    let speaks_of_an_error = |line: &&str| {
        let line = line.to_lowercase();
        ["panic", "fatal", "error", "err=", "no space"].iter().any(|word| line.contains(word))
    };
    let line = lines().find(speaks_of_an_error).or_else(|| lines().next()).unwrap_or("nothing");
    line.trim().chars().take(LONGEST).collect()
}

/// The API server's own sentence, without the dump of the whole status that `kube` appends.
fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

impl ControlPlaneError {
    /// For `map_err`: the request that was being made.
    pub(crate) fn request(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        |source| Self::Request { action, source: Box::new(source) }
    }

    /// For `map_err`: the file that was being used.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }
}

#[cfg(test)]
mod tests {
    use super::telling;

    #[test]
    fn the_line_before_a_stack_is_the_one_that_tells() {
        let crash = "starting\npanic: write /data/member/snap/db: no space left on device\n\ngoroutine 1 [running]:\n\
                     main.main()\n\tgo.etcd.io/etcd/server/v3/main.go:31 +0x28\n";
        assert_eq!(telling(crash), "panic: write /data/member/snap/db: no space left on device");
    }

    #[test]
    fn without_an_error_the_last_line_counts() {
        assert_eq!(telling("one\ntwo\n\n"), "two");
        assert_eq!(telling(""), "nothing");
    }
}
