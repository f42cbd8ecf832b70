//! `butlerctl dev --detach`: the same control plane in a process of its own, which outlives this one.

use std::{
    env, fs,
    fs::File,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use super::{Interrupt, Start};
use crate::{failure::Failure, print};

/// Starts the process, waits until it is ready, and prints the path of its kubeconfig.
pub(super) async fn start(start: &Start, interrupt: &mut Interrupt) -> Result<(), Failure> {
    // Unlinked when this process returns; the other one goes on writing to a file that nobody sees.
    let scratch = tempfile::tempdir()?;
    let announcement = scratch.path().join("kubeconfig");
    let log = scratch.path().join("log");
    let mut child = spawn(start, &announcement, &log)?;
    loop {
        if let Ok(kubeconfig) = fs::read_to_string(&announcement) {
            return print::line(kubeconfig);
        }
        if child.try_wait()?.is_some() {
            return Err(Failure::new(last_words(&fs::read_to_string(&log).unwrap_or_default())));
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
            () = interrupt.received() => {
                end(&mut child)?;
                return Err(Failure::new("interrupted before the control plane was ready; nothing is left running"));
            }
        }
    }
}

fn spawn(start: &Start, announcement: &Path, log: &Path) -> io::Result<Child> {
    let log = File::create(log)?;
    let mut command = Command::new(env::current_exe()?);
    command.arg("dev").arg("--announce").arg(announcement);
    if let Some(directory) = &start.data_dir {
        command.arg("--data-dir").arg(directory);
    }
    if let Some(port) = start.port {
        command.arg("--port").arg(port.to_string());
    }
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // Its own group, so that Ctrl-C in this terminal does not reach it later.
        .process_group(0)
        .spawn()
}

fn end(child: &mut Child) -> Result<(), Failure> {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        kill_process(pid, Signal::TERM)?;
    }
    child.wait()?;
    Ok(())
}

/// What the process said before it ended, without the prefix that this process will put before it again.
fn last_words(log: &str) -> &str {
    match log.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => line.strip_prefix(Failure::PREFIX).unwrap_or(line),
        None => "the control plane ended without a word; run `butlerctl dev` without --detach to watch it",
    }
}
