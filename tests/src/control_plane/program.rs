//! One running program of the control plane, with the log that explains its end.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::{ControlPlaneError, ports};
use crate::guard::{Held, Streams, tail};

#[derive(Debug)]
pub(crate) struct Program {
    name: &'static str,
    log: PathBuf,
    held: Held,
}

impl Program {
    pub(crate) fn start(
        name: &'static str,
        command: &Command,
        log: PathBuf,
    ) -> Result<Self, ControlPlaneError> {
        let streams = Streams::to_log(&log).map_err(ControlPlaneError::file(&log))?;
        let held = Held::start(command, streams)
            .map_err(|source| ControlPlaneError::Start { program: name.to_owned(), source })?;
        Ok(Self { name, log, held })
    }

    /// An error with the program's last words if it does not run any more.
    pub(crate) fn check(&mut self) -> Result<(), ControlPlaneError> {
        match self.held.ended() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(ControlPlaneError::Ended {
                program: self.name.to_owned(),
                status,
                last_words: tail(&self.log),
            }),
            Err(source) => Err(ControlPlaneError::Start { program: self.name.to_owned(), source }),
        }
    }

    /// The error for a program that runs and does not get ready.
    pub(crate) fn not_ready(&self, patience: Duration, waiting_for: String) -> ControlPlaneError {
        ControlPlaneError::NotReady {
            program: self.name.to_owned(),
            patience,
            waiting_for,
            last_words: tail(&self.log),
        }
    }

    pub(crate) fn stop(&mut self, patience: Duration) {
        self.held.stop(patience);
    }
}

impl ControlPlaneError {
    /// Whether a program ended because somebody else had taken its port in the meantime.
    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Ended { last_words, .. } if ports::was_taken(last_words))
    }
}
