//! `butlerctl policy` as people run it: the real program over folders in `fixtures/`, and all that it prints.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test by panicking, like the test itself")]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

mod check;
mod eval;
mod hostile;
mod library;
mod preview;
mod test;

/// What the program printed and how it ended.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    out: String,
    errors: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), errors: text(output.stderr) }
    }

    /// All that was printed is what a file in `expected/` says. `BUTLER_BLESS=1` writes it; then read the diff.
    #[track_caller]
    fn prints(&self, code: i32, expected: &str) {
        assert_eq!((self.code, self.errors.as_str()), (Some(code), ""), "{}", self.out);
        let path = here().join("expected").join(expected);
        if std::env::var_os("BUTLER_BLESS").is_some() {
            fs::write(&path, &self.out).unwrap();
        }
        assert_eq!(self.out, fs::read_to_string(&path).unwrap_or_default(), "{}", path.display());
    }

    /// The program cannot do what was asked, and says why.
    #[track_caller]
    fn fails(&self, sentence: &str) {
        assert_eq!((self.code, self.errors.as_str()), (Some(2), format!("error: {sentence}\n").as_str()));
    }
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policy")
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_butlerctl"));
    command.arg("policy").args(arguments).current_dir(here().join("fixtures"));
    command
}

fn run(arguments: &[&str]) -> Ran {
    Ran::of(program(arguments).output().unwrap())
}

/// Runs it with something to read.
fn run_with(arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = program(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        Ran::of(child.wait_with_output().unwrap())
    })
}
