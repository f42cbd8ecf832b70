//! `butler-reconciler`: the engine as a program.

use std::process::ExitCode;

use butler_program::start::{self, LogOptions};
use butler_reconciler::{Options, run};
use clap::Parser;

/// Realizes what Butler's gate admitted, and keeps it so.
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
