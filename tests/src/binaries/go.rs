//! The Go toolchain: found, judged, and run so that the user's own settings hold wherever they can.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    io::{BufRead as _, BufReader, Read},
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde::Deserialize;

use super::{
    assets::is_executable,
    error::BinariesError,
    recipe::{go_arch, go_os},
};
use crate::guard::{Held, Streams};

/// How much of a failed command's output a person is shown: a compiler's first errors fit, a screen is not
/// filled.
const LAST_LINES: usize = 20;

/// How often a waiting person sees that something is alive.
const TICK: Duration = Duration::from_secs(1);

/// A Go that is new enough, with the flags to run it.
#[derive(Debug)]
pub(super) struct Go {
    program: PathBuf,
    pub(super) version: String,
    flags: String,
    /// Whether the user chose where `go` keeps what it is working on.
    has_own_temporary_directory: bool,
}

/// What we ask `go env` for: it also knows what `go env -w` wrote, which the environment does not show.
#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
struct Environment {
    goversion: String,
    goflags: String,
    gotmpdir: String,
}

impl Go {
    /// Finds `go`, which must be `needed` or newer, to build what `missing` names.
    pub(super) fn find(
        search_path: &OsStr,
        needed: &'static str,
        missing: &str,
    ) -> Result<Self, BinariesError> {
        let program = std::env::split_paths(search_path)
            .map(|directory| directory.join("go"))
            .find(|program| is_executable(program))
            .ok_or_else(|| BinariesError::GoMissing { missing: missing.to_owned(), needed })?;
        let environment = environment(&program)?;
        let version = environment.goversion.trim_start_matches("go").to_owned();
        // A development build has no number; `go` itself compares it with go.mod then.
        if let (Some(found), Some(oldest)) = (release(&version), release(needed))
            && found < oldest
        {
            let missing = missing.to_owned();
            return Err(BinariesError::GoTooOld { program, found: version, missing, needed });
        }
        let flags = flags(&environment.goflags)?;
        Ok(Self { program, version, flags, has_own_temporary_directory: !environment.gotmpdir.is_empty() })
    }

    /// Runs a command to its end and returns what it printed on standard output. `temporary` is where it may
    /// keep its work, so that a killed command leaves nothing elsewhere; `tick` is called every second.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        doing: &str,
        directory: &Path,
        temporary: &Path,
        arguments: &[S],
        mut tick: impl FnMut(),
    ) -> Result<String, BinariesError> {
        let unusable = |error: std::io::Error| self.unusable(error.to_string());
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(directory);
        isolate(&mut command);
        command.env("CGO_ENABLED", "0").env("GOOS", go_os()).env("GOARCH", go_arch());
        command.env("GOFLAGS", &self.flags);
        if !self.has_own_temporary_directory {
            command.env("GOTMPDIR", temporary);
        }
        // Held, so that a first run that is killed does not leave compilers running.
        let mut go = Held::start(&command, Streams::piped()).map_err(unusable)?;
        let (stdout, stderr) = (go.take_output(), go.take_errors());
        let (stdout, stderr) = thread::scope(|scope| {
            // Nothing is ever sent: the channel closes when both readers have seen the end.
            let (reading, closed) = mpsc::channel::<()>();
            let also_reading = reading.clone();
            let stdout = scope.spawn(move || last_lines(stdout, reading));
            let stderr = scope.spawn(move || last_lines(stderr, also_reading));
            while closed.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
            (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default())
        });
        let status = go.wait().map_err(unusable)?;
        if status.success() {
            return Ok(stdout);
        }
        let output = if stderr.is_empty() { stdout } else { stderr };
        Err(BinariesError::GoFailed { doing: doing.to_owned(), status: status.to_string(), output })
    }

    fn unusable(&self, reason: String) -> BinariesError {
        BinariesError::GoUnusable { program: self.program.clone(), reason }
    }
}

/// The settings that decide which sources are built, which therefore are ours and not the user's: no other
/// toolchain is fetched, and neither a workspace file above the cache nor an old module mode applies.
fn isolate(command: &mut Command) {
    command.env("GOTOOLCHAIN", "local").env("GOWORK", "off").env("GO111MODULE", "on");
}

fn environment(program: &Path) -> Result<Environment, BinariesError> {
    let unusable = |reason| BinariesError::GoUnusable { program: program.to_owned(), reason };
    let mut command = Command::new(program);
    // Not in the user's directory: a broken go.mod there is no concern of ours.
    command.args(["env", "-json", "GOVERSION", "GOFLAGS", "GOTMPDIR"]).current_dir("/");
    isolate(&mut command);
    let output = command.output().map_err(|error| unusable(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        return Err(unusable(format!("`go env` ended with {}: {said}", output.status)));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| unusable(format!("`go env` gave no JSON: {error}")))
}

/// `1.26.8` or `1.27rc1` as numbers to compare; nothing for what is not a release.
pub(super) fn release(version: &str) -> Option<(u32, u32, u32)> {
    // `1.26.8-custom` and `1.26.8 X:experiment` are that release.
    let version = version.split(['-', ' ']).next()?;
    let mut parts = version.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = leading_number(parts.next()?)?;
    let patch = parts.next().and_then(leading_number).unwrap_or(0);
    Some((major, minor, patch))
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// The user's `GOFLAGS` without those that choose other sources than our go.mod and go.sum.
fn flags(user: &str) -> Result<String, BinariesError> {
    let mut kept = Vec::new();
    for flag in user.split_whitespace() {
        let name = flag.trim_start_matches('-').split('=').next().unwrap_or_default();
        match name {
            "mod" | "modfile" => {}
            // These need cgo, print instead of building, or make something else than a program.
            "race" | "msan" | "asan" | "n" | "o" | "C" | "buildmode" | "compiler" => {
                return Err(BinariesError::GoFlags { flag: flag.to_owned() });
            }
            _ => kept.push(flag),
        }
    }
    // Never empty, or `go` would fall back to the GOFLAGS of its settings file, with the flags dropped above.
    kept.push("-mod=readonly");
    Ok(kept.join(" "))
}

/// Reads to the end and keeps the last lines, however much there is.
fn last_lines(stream: Option<impl Read>, reading: mpsc::Sender<()>) -> String {
    let mut lines = VecDeque::new();
    for line in stream.into_iter().flat_map(|stream| BufReader::new(stream).split(b'\n')) {
        let Ok(line) = line else { break };
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(String::from_utf8_lossy(&line).into_owned());
    }
    drop(reading);
    Vec::from(lines).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_versions_are_compared_as_numbers() {
        assert!(release("1.26.8") > release("1.26.0"));
        assert!(release("1.26.10") > release("1.26.9"));
        assert!(release("1.9") < release("1.26.0"));
        assert_eq!(release("1.27rc1"), Some((1, 27, 0)));
        assert_eq!(release("1.26.8-custom"), Some((1, 26, 8)));
        assert_eq!(release("1.26.8 X:nocoverageredesign"), Some((1, 26, 8)));
        assert_eq!(release("devel go1.28-abcdef"), None);
    }

    #[test]
    fn the_users_flags_are_kept_except_those_that_choose_other_sources() {
        assert_eq!(flags("").unwrap(), "-mod=readonly");
        assert_eq!(flags("-buildvcs=false").unwrap(), "-buildvcs=false -mod=readonly");
        assert_eq!(flags("-mod=vendor -p=1 --modfile=x.mod").unwrap(), "-p=1 -mod=readonly");
    }

    #[test]
    fn a_flag_that_spoils_every_build_is_named() {
        assert_eq!(
            flags("-p=1 -race").unwrap_err().to_string(),
            "GOFLAGS has `-race`, with which static programs cannot be built: remove it for this run"
        );
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let (reading, _closed) = mpsc::channel();
        let text: String = (0..100).map(|number| format!("{number}\n")).collect();
        let kept = last_lines(Some(text.as_bytes()), reading);
        assert_eq!(kept.lines().count(), LAST_LINES);
        assert!(kept.starts_with("80\n") && kept.ends_with("\n99"), "{kept}");
    }
}
