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
    #[error("{program} ended with {status}; its last words were:\n{last_words}")]
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
        "{program} was not ready after {} seconds ({waiting_for}); if the machine is busy try again, its last words were:\n{last_words}",
        patience.as_secs()
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
