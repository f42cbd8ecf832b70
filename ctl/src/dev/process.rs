//! The process that runs a data directory's control plane, as the other commands find it.

use std::path::Path;

use butler_bench::control_plane::Running;
use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process},
};

use crate::failure::Failure;

/// What runs in `directory`.
pub(super) fn running(directory: &Path) -> Result<Running, Failure> {
    Running::find(directory)?.ok_or_else(|| {
        Failure::new(format_args!(
            "no control plane runs in `{0}`; start one with `butlerctl dev --data-dir {0}`",
            directory.display()
        ))
    })
}

/// Signals one process, and never a group: what is not the number of a process does not exist.
pub(super) fn send(process: u32, signal: Signal) -> Result<(), Errno> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    kill_process(pid, signal)
}
