//! Finds or builds programs of the bench and prints where they are: fills the cache before tests, in CI for
//! example.
//!
//! `bench-binaries` prepares all programs that the bench runs, `bench-binaries etcd cel-oracle` only these.

use std::process::ExitCode;

use butler_bench::binaries::{Binaries, BinariesError, Binary};

fn main() -> ExitCode {
    let known: Vec<Binary> = Binary::ALL.into_iter().chain(Binary::ON_REQUEST).collect();
    let mut wanted = Vec::new();
    for name in std::env::args().skip(1) {
        match known.iter().find(|binary| binary.name() == name) {
            Some(binary) => wanted.push(*binary),
            None => {
                let known = known.iter().map(|binary| binary.name()).collect::<Vec<_>>().join(", ");
                eprintln!("error: `{name}` is not a program of the bench: use some of {known}");
                return ExitCode::from(2);
            }
        }
    }
    if wanted.is_empty() {
        wanted.extend(Binary::ALL);
    }
    match prepare(&wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn prepare(wanted: &[Binary]) -> Result<(), BinariesError> {
    let binaries = Binaries::ensure(wanted)?;
    for binary in wanted {
        println!("{}", binaries.path(*binary)?.display());
    }
    Ok(())
}
