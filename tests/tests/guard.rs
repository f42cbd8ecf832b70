//! What is held ends with its holder, and in the way that was asked for.

use std::fs;
use std::io::Read;
use std::process::Command;
use std::time::{Duration, Instant};

use butler_bench::guard::{Held, Streams, SweptDirectory, mentioning, tail};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_program_that_ends_by_itself_hands_on_its_status_and_output() {
    let mut command = shell("echo out; echo err >&2; echo $WORD; pwd; exit 7");
    command.env("WORD", "added").current_dir("/");
    let mut held = Held::start(&command, Streams::piped()).unwrap();
    let (mut output, mut errors) = (String::new(), String::new());
    held.take_output().unwrap().read_to_string(&mut output).unwrap();
    held.take_errors().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(held.wait().unwrap().code(), Some(7));
    assert_eq!((output.as_str(), errors.as_str()), ("out\nadded\n/\n", "err\n"));
}

#[test]
fn a_program_that_dies_of_a_signal_shows_it() {
    let mut held = Held::start(&shell("kill -9 $$"), Streams::piped()).unwrap();
    assert_eq!(held.wait().unwrap().code(), Some(128 + 9));
}

#[test]
fn a_program_that_does_not_exist_shows_as_the_shell_shows_it() {
    let mut held = Held::start(&Command::new("/nowhere/program"), Streams::piped()).unwrap();
    assert_eq!(held.wait().unwrap().code(), Some(127));
}

#[test]
fn a_program_reads_the_file_it_is_given() {
    let directory = SweptDirectory::make("butler-bench-guard-").unwrap();
    let input = directory.path().join("input");
    fs::write(&input, "from a file").unwrap();
    let streams = Streams { input: Some(input), ..Streams::piped() };
    let mut held = Held::start(&Command::new("cat"), streams).unwrap();
    let mut output = String::new();
    held.take_output().unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(output, "from a file");
    assert!(held.wait().unwrap().success());
}

#[test]
fn stopping_lets_a_program_finish_its_work() {
    let directory = SweptDirectory::make("butler-bench-guard-").unwrap();
    let log = directory.path().join("log");
    let script = "trap 'sleep 0.2; echo finished; exit 0' TERM; echo started; while :; do sleep 0.05; done";
    let mut held = Held::start(&shell(script), Streams::to_log(&log).unwrap()).unwrap();
    wait_until(|| tail(&log) == "started");
    held.stop(Duration::from_secs(10));
    // Gone when `stop` returns, not a moment later.
    assert!(tail(&log).ends_with("finished"), "{}", tail(&log));
    assert!(held.ended().unwrap().is_some());
}

#[test]
fn a_program_that_will_not_stop_is_killed() {
    let directory = SweptDirectory::make("butler-bench-guard-").unwrap();
    let mark = directory.path().display().to_string();
    let log = directory.path().join("log");
    let script = format!("trap '' TERM; echo started; while :; do sleep 0.05; done # {mark}");
    let mut held = Held::start(&shell(&script), Streams::to_log(&log).unwrap()).unwrap();
    wait_until(|| tail(&log) == "started");
    let asked = Instant::now();
    held.stop(Duration::from_millis(300));
    assert!(asked.elapsed() >= Duration::from_millis(300));
    drop(directory);
    wait_until(|| mentioning(&mark).is_empty());
}

#[test]
fn killing_takes_everything_the_program_has_started() {
    let directory = SweptDirectory::make("butler-bench-guard-").unwrap();
    let mark = directory.path().display().to_string();
    let grandchild = format!("while :; do sleep 0.05; done # {mark}");
    let script = format!("sh -c '{grandchild}' & sh -c '{grandchild}' & wait");
    let held = Held::start(&shell(&script), Streams::to_log(&directory.path().join("log")).unwrap()).unwrap();
    // The guard, its watcher, the program, two grandchildren and the directory's sweeper.
    wait_until(|| mentioning(&mark).len() == 6);
    drop(held);
    drop(directory);
    wait_until(|| mentioning(&mark).is_empty());
}

#[test]
fn a_swept_directory_disappears_with_what_is_in_it() {
    let directory = SweptDirectory::make("butler-bench-guard-").unwrap();
    let path = directory.path().to_owned();
    fs::create_dir_all(path.join("deep/er")).unwrap();
    fs::write(path.join("deep/er/file"), "x").unwrap();
    drop(directory);
    assert!(!path.exists());
}

fn wait_until(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(10), "waited in vain");
        std::thread::sleep(Duration::from_millis(10));
    }
}
