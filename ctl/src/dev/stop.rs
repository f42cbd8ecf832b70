//! `butlerctl dev stop`: ends the process that runs a data directory, and returns when it is gone.

use std::{path::Path, thread, time::Duration};

use rustix::{io::Errno, process::Signal};

use super::process;
use crate::failure::Failure;

/// Longer than the polite stops of all its programs together may take.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(50);

pub(super) fn stop(directory: &Path) -> Result<(), Failure> {
    let running = process::running(directory)?;
    let process = running.process();
    match process::send(process, Signal::TERM) {
        // It ended by itself in between.
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => {
            return Err(Failure::new(format_args!(
                "cannot stop process {process}: {error}; stop it as the user who started it"
            )));
        }
    }
    for _ in 0..PATIENCE.as_millis() / GLANCE.as_millis() {
        if running.has_ended()? {
            return Ok(());
        }
        thread::sleep(GLANCE);
    }
    Err(Failure::new(format_args!(
        "process {process} has not stopped within {} s; look at the logs in `{}`",
        PATIENCE.as_secs(),
        directory.join("logs").display()
    )))
}
