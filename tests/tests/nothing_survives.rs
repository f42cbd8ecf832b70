//! However a process ends that runs a control plane, its programs and its directory are gone five seconds
//! later.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use butler_bench::guard::{Held, Streams, mentioning};
use butler_bench::{ControlPlane, Options};

/// How the victim is to end; without it, the victim's test does nothing.
const ENDING: &str = "BUTLER_BENCH_VICTIM_ENDING";
const MARK: &str = "the victim's directory is ";
const BOUND: Duration = Duration::from_secs(5);

#[test]
fn kill_9_leaves_nothing() {
    let mut victim = Victim::start("wait");
    // Etcd, the API server and the controller manager, each with its guard and watcher, and the directory's
    // sweeper.
    while mentioning(&victim.mark()).len() != 10 {
        assert_eq!(victim.held.ended().unwrap(), None);
        std::thread::sleep(Duration::from_millis(20));
    }
    victim.held.kill();
    victim.is_gone_in_time();
}

#[test]
fn a_panic_leaves_nothing() {
    let mut victim = Victim::start("panic");
    assert_eq!(victim.held.wait().unwrap().code(), Some(101));
    victim.is_gone_in_time();
}

#[test]
fn an_abort_leaves_nothing() {
    let mut victim = Victim::start("abort");
    assert_eq!(victim.held.wait().unwrap().code(), Some(128 + 6));
    victim.is_gone_in_time();
}

#[test]
fn an_exit_without_destructors_leaves_nothing() {
    let mut victim = Victim::start("exit");
    assert_eq!(victim.held.wait().unwrap().code(), Some(0));
    victim.is_gone_in_time();
}

#[tokio::test]
async fn dropping_leaves_nothing_at_once() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let directory = plane.data_directory().to_owned();
    let dropped = Instant::now();
    drop(plane);
    assert!(!directory.exists());
    gone_in_time(&directory.display().to_string(), &directory, dropped);
}

#[tokio::test]
#[ignore = "the other tests run this in a process of its own and watch it end"]
async fn victim() {
    let Ok(ending) = std::env::var(ENDING) else { return };
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    println!("{MARK}{}", plane.data_directory().display());
    match ending.as_str() {
        "panic" => panic!("as asked"),
        "abort" => std::process::abort(),
        "exit" => {
            static LEAKED: OnceLock<ControlPlane> = OnceLock::new();
            LEAKED.set(plane).unwrap();
            std::process::exit(0);
        }
        _ => std::future::pending().await,
    }
}

struct Victim {
    held: Held,
    directory: PathBuf,
}

impl Victim {
    /// Held like everything else, so that it does not survive the test that watches it.
    fn start(ending: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "victim", "--ignored", "--nocapture"]).env(ENDING, ending);
        let mut held = Held::start(&command, Streams::piped()).unwrap();
        let mut lines = BufReader::new(held.take_output().unwrap()).lines();
        let directory = lines.find_map(|line| Some(PathBuf::from(line.ok()?.split_once(MARK)?.1)));
        let directory = directory.unwrap();
        // The rest of its output goes nowhere, but somebody must take it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { held, directory }
    }

    fn mark(&self) -> String {
        self.directory.display().to_string()
    }

    fn is_gone_in_time(&self) {
        gone_in_time(&self.mark(), &self.directory, Instant::now());
    }
}

fn gone_in_time(mark: &str, directory: &std::path::Path, since: Instant) {
    loop {
        let survivors = mentioning(mark);
        if survivors.is_empty() && !directory.exists() {
            println!("everything was gone after {:?}", since.elapsed());
            return;
        }
        assert!(since.elapsed() < BOUND, "after {BOUND:?}: {survivors:#?}, {}: {}", mark, directory.exists());
        std::thread::sleep(Duration::from_millis(20));
    }
}
