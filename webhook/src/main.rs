//! `butler-webhook`: the gate as a program.

use std::process::ExitCode;

use butler_program::start;
use butler_webhook::run;
use mimalloc::MiMalloc;

/// Taking memory and giving it back is a good part of a review with the system's own allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    start::main("butler-webhook", "Judges and defaults Butler's objects at kubectl apply", run)
}
