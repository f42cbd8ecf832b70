//! `butler-reconciler`: the engine as a program.

use std::process::ExitCode;

use butler_program::start;
use butler_reconciler::run;

fn main() -> ExitCode {
    start::main("butler-reconciler", "Realizes what Butler's gate admitted, and keeps it so", run)
}
