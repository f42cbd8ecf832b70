//! What the README shows is what somebody sees who types it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// How long a busy machine may take to notice a file.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command as it is typed, and what is shown below it.
struct Shown {
    command: String,
    output: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn butlerctl(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_butlerctl")).args(arguments).output().unwrap()
}

/// Ends the control plane also when the test fails.
struct Stopped<'a>(&'a str);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        butlerctl(&["dev", "stop", "--data-dir", self.0]);
    }
}

/// The commands of a section, in order, without those that start and stop the platform.
fn shown_in(section: &str) -> Vec<Shown> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let from = readme.find(&format!("## {section}\n")).unwrap();
    let section = &readme[from + 3..];
    let section = &section[..section.find("\n## ").unwrap_or(section.len())];
    let mut all: Vec<Shown> = Vec::new();
    let blocks = section.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    for line in blocks.flat_map(str::lines) {
        let is_open = |shown: &Shown| shown.command.matches('\'').count() % 2 == 1;
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push(Shown { command: command.to_owned(), output: Vec::new() }),
            (None, Some(shown)) if is_open(shown) => shown.command.extend(["\n", line]),
            (None, Some(shown)) => shown.output.push(line.to_owned()),
            (None, None) => panic!("output of nothing: {line}"),
        }
    }
    all.retain(|shown| !shown.command.contains("cargo run"));
    all
}

/// The line without the age at its end.
fn ageless(line: &str) -> &str {
    let is_age = |word: &&str| word.strip_suffix('s').is_some_and(|age| age.parse::<u32>().is_ok());
    let last = line.split_whitespace().last().filter(is_age);
    last.and_then(|age| line.strip_suffix(age)).unwrap_or(line).trim_end()
}

/// Whether what is printed is what is shown; where `…` is shown, whether it has all other lines that are.
fn is_as_shown(printed: &str, output: &[String]) -> bool {
    let lines: Vec<&str> = printed.lines().map(ageless).collect();
    if output.iter().any(|line| line == "…") {
        return output.iter().filter(|line| *line != "…").all(|line| lines.contains(&line.as_str()));
    }
    lines == output.iter().map(|line| ageless(line)).collect::<Vec<_>>()
}

#[test]
fn the_policy_that_is_shown_is_the_sample() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let sample = fs::read_to_string(root().join("manifests/samples/policies/three-workers.yaml")).unwrap();
    assert!(readme.contains(&format!("```yaml\n{sample}```")), "the README shows another policy");
}

#[test]
fn a_first_cluster_a_first_denial_and_a_first_policy_are_as_shown() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("data");
    let data_dir = directory.to_str().unwrap();
    let _stopped = Stopped(data_dir);
    let started = butlerctl(&["dev", "--detach", "--data-dir", data_dir]);
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    let exports = String::from_utf8(butlerctl(&["dev", "env", "--data-dir", data_dir]).stdout).unwrap();

    let first = shown_in("A first cluster and a first denial");
    let policy = shown_in("A first policy");
    assert!(first.len() >= 6 && policy.len() >= 2, "{} and {} commands", first.len(), policy.len());
    for Shown { command, output } in first.into_iter().chain(policy) {
        let command = command.replace(" .butler", &format!(" {data_dir}"));
        // As in a terminal, where it does not matter which of the two a line was written to.
        let script = format!("{exports}\n{{ {command}\n}} 2>&1");
        let started = Instant::now();
        loop {
            let typed = Command::new("sh").current_dir(root()).args(["-c", &script]).output().unwrap();
            let printed = String::from_utf8(typed.stdout).unwrap();
            if is_as_shown(&printed, &output) {
                break;
            }
            // Policies come into force a moment after their file is there, and until then the answer is another one.
            let is_harmless = command.contains("--dry-run") || command.starts_with("kubectl get ");
            assert!(
                is_harmless && started.elapsed() < PATIENCE,
                "$ {command}\nshould print\n{}\nand prints\n{printed}",
                output.join("\n")
            );
        }
    }
}
