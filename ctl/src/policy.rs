//! `butlerctl policy`: policies as files are checked, tested, tried out, and held against what is in a cluster.

use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};

use crate::failure::Failure;

mod check;
mod eval;
mod files;
mod preview;
mod test;

/// The exit code of a command that did what was asked and found something to mend.
const FOUND: u8 = 1;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what is wrong with policies, what they can cost, and which of them kube-apiserver could judge, too.
    #[command(after_help = check::AFTER_HELP)]
    Check(check::Arguments),
    /// Run the cases beside policies, through the code by which the webhook judges.
    #[command(after_help = test::AFTER_HELP)]
    Test(test::Arguments),
    /// Evaluate an expression over values from files.
    #[command(after_help = eval::AFTER_HELP)]
    Eval(Box<eval::Arguments>),
    /// Say what policies would make of everything that is in a cluster now; nothing is changed.
    #[command(after_help = preview::AFTER_HELP)]
    Preview(preview::Arguments),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Runs one of the subcommands.
pub(crate) fn run(command: Command) -> Result<ExitCode, Failure> {
    let is_clean = match command {
        Command::Check(arguments) => check::run(&arguments)?,
        Command::Test(arguments) => test::run(&arguments)?,
        Command::Eval(arguments) => eval::run(&arguments)?,
        Command::Preview(arguments) => preview::run(&arguments)?,
    };
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}
