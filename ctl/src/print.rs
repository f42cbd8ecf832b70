//! Results on standard output.

use std::{
    fmt,
    io::{self, Write},
};

use crate::failure::Failure;

/// Prints one line. Unlike `println!` it does not panic when the reader has gone, as `head` does.
pub(crate) fn line(line: impl fmt::Display) -> Result<(), Failure> {
    text(format_args!("{line}\n"))
}

/// Prints text that ends its own lines.
pub(crate) fn text(text: impl fmt::Display) -> Result<(), Failure> {
    write!(io::stdout(), "{text}")
        .map_err(|error| Failure::new(format_args!("cannot write to standard output: {error}")))
}
