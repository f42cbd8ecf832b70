//! How a command ends when it cannot do what was asked: one sentence for the person who typed it.

use std::{fmt, process::ExitCode};

/// What went wrong and what to do about it, in one sentence.
///
/// Every failure of the command line is something its user can act on (a flag, a missing tool, a busy port), so
/// there is one exit code for all of them, the one that usage errors have.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    const EXIT: u8 = 2;
    /// What stands before the sentence.
    pub(crate) const PREFIX: &str = "error: ";

    pub(crate) fn new(sentence: impl fmt::Display) -> Self {
        Self(sentence.to_string())
    }

    /// Prints the sentence and gives the exit code to end with.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("{}{}", Self::PREFIX, self.0);
        ExitCode::from(Self::EXIT)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
