//! `butlerctl dev --detach`: the same control plane in a process of its own, which outlives this one.

use std::{
    env, fs,
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use butler_bench::guard::SweptDirectory;
use rustix::process::Signal;

use super::{Start, process};
use crate::{failure::Failure, print};

const GLANCE: Duration = Duration::from_millis(50);

/// Starts the process, waits until it is ready, and prints the path of its kubeconfig.
pub(super) async fn start(start: &Start) -> Result<(), Failure> {
    // Gone when this process is; the other one then writes to a file that nobody sees.
    let scratch = SweptDirectory::make("butlerctl-dev-").map_err(|error| {
        Failure::new(format_args!(
            "cannot make a temporary directory: {error}; set TMPDIR to a directory with room that is yours"
        ))
    })?;
    let announcement = scratch.path().join("kubeconfig");
    let log = scratch.path().join("log");
    let mut background = Background::spawn(start, &announcement, &log)?;
    loop {
        if let Ok(kubeconfig) = fs::read_to_string(&announcement) {
            print::line(kubeconfig)?;
            background.release();
            return Ok(());
        }
        if background.has_ended()? {
            return Err(Failure::new(last_words(&fs::read_to_string(&log).unwrap_or_default())));
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// The process in the background. Until it is released it is stopped when dropped: nobody was told yet that it runs.
#[derive(Debug)]
struct Background(Option<Child>);

impl Background {
    fn spawn(start: &Start, announcement: &Path, log: &PathBuf) -> Result<Self, Failure> {
        let log = File::create(log)?;
        let mut command = Command::new(env::current_exe()?);
        command.arg("dev").arg("--announce").arg(announcement);
        if let Some(directory) = &start.data_dir {
            command.arg("--data-dir").arg(directory);
        }
        if let Some(directory) = &start.policies {
            command.arg("--policies").arg(directory);
        }
        if let Some(port) = start.port {
            command.arg("--port").arg(port.to_string());
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Self(Some(command.spawn()?)))
    }

    fn has_ended(&mut self) -> Result<bool, Failure> {
        Ok(match &mut self.0 {
            Some(child) => child.try_wait()?.is_some(),
            None => true,
        })
    }

    fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            process::send(child.id(), Signal::TERM).ok();
            child.wait().ok();
        }
    }
}

/// What the process said before it ended: its last failure, without the prefix that this process puts before it again.
fn last_words(log: &str) -> &str {
    match log.rsplit_once(Failure::PREFIX) {
        Some((_, sentence)) => sentence.trim_end(),
        None => "the control plane was stopped before it was ready; start it again",
    }
}
