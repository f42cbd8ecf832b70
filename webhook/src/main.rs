//! `butler-webhook`: the gate as a program.

use std::process::ExitCode;

use butler_program::start::{self, LogOptions};
use butler_webhook::{Options, run};
use clap::Parser;
use mimalloc::MiMalloc;

/// Taking memory and giving it back is a good part of a review with the system's own allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Judges and defaults Butler's objects at kubectl apply.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    log: LogOptions,
}

fn main() -> ExitCode {
    let Arguments { options, log } = Arguments::parse();
    start::main(log, |stop| run(options, stop))
}
