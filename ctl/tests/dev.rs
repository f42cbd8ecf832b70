//! `butlerctl dev` as a newcomer types it, on real processes.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test by panicking, like the test itself")]

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use butler_bench::guard::mentioning;

fn butlerctl(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_butlerctl")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// Runs one line of a shell the way a user would after `eval "$(butlerctl dev env …)"`.
fn in_shell(exports: &str, line: &str) -> Output {
    Command::new("sh").args(["-c", &format!("{exports}\n{line}")]).output().unwrap()
}

/// Ends the control plane also when the test fails.
struct Stopped<'a>(&'a str);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        butlerctl(&["dev", "stop", "--data-dir", self.0]);
    }
}

#[test]
fn a_detached_control_plane_is_used_stopped_and_found_again_as_it_was() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("it's data");
    let data_dir = directory.to_str().unwrap();
    let _stopped = Stopped(data_dir);

    let started = butlerctl(&["dev", "--detach", "--data-dir", data_dir]);
    assert!(started.status.success(), "{}", stderr(&started));
    let kubeconfig = stdout(&started).lines().last().unwrap();
    assert_eq!(Path::new(kubeconfig), directory.canonicalize().unwrap().join("kubeconfig"));

    let exports = butlerctl(&["dev", "env", "--data-dir", data_dir]);
    assert!(exports.status.success(), "{}", stderr(&exports));
    let exports = stdout(&exports).to_owned();
    let shown = in_shell(&exports, "kubectl get butlerconfig,teams -o name && helm version --short");
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert!(
        stdout(&shown).starts_with(
            "butlerconfig.butler.butlerlabs.dev/butler\n\
             team.butler.butlerlabs.dev/platform-engineering\n\
             team.butler.butlerlabs.dev/team-a\n\
             v4."
        ),
        "{}",
        stdout(&shown)
    );
    let changed = in_shell(&exports, "kubectl delete team team-a");
    assert!(changed.status.success(), "{}", stderr(&changed));

    let twice = butlerctl(&["dev", "--detach", "--data-dir", data_dir]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(stderr(&twice).contains("in use"), "{}", stderr(&twice));

    let stopped = butlerctl(&["dev", "stop", "--data-dir", data_dir]);
    assert!(stopped.status.success(), "{}", stderr(&stopped));
    assert_eq!(mentioning(data_dir), Vec::<String>::new());

    let again = butlerctl(&["dev", "--detach", "--data-dir", data_dir]);
    assert!(again.status.success(), "{}", stderr(&again));
    let teams = in_shell(&exports, "kubectl get teams -o name");
    assert_eq!(stdout(&teams), "team.butler.butlerlabs.dev/platform-engineering\n", "{}", stderr(&teams));
}

#[test]
fn a_control_plane_can_be_stopped_while_it_starts() {
    let directory = tempfile::tempdir().unwrap();
    let data_dir = directory.path().join("data");
    let data_dir = data_dir.to_str().unwrap();
    let starting = Command::new(env!("CARGO_BIN_EXE_butlerctl"))
        .args(["dev", "--detach", "--data-dir", data_dir])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until it has taken its directory there is nothing to stop; the API server takes seconds from there.
    while !butlerctl(&["dev", "stop", "--data-dir", data_dir]).status.success() {
        thread::sleep(Duration::from_millis(20));
    }
    let started = starting.wait_with_output().unwrap();
    assert_eq!(started.status.code(), Some(2));
    assert_eq!(
        stderr(&started),
        "error: the control plane was stopped before it was ready; start it again\n"
    );
    assert_eq!(mentioning(data_dir), Vec::<String>::new());
}

#[test]
fn a_detached_control_plane_without_a_data_directory_leaves_none_behind() {
    let started = butlerctl(&["dev", "--detach"]);
    assert!(started.status.success(), "{}", stderr(&started));
    let directory = Path::new(stdout(&started).lines().last().unwrap()).parent().unwrap();
    let _stopped = Stopped(directory.to_str().unwrap());
    assert!(directory.is_dir());

    let stopped = butlerctl(&["dev", "stop", "--data-dir", directory.to_str().unwrap()]);
    assert!(stopped.status.success(), "{}", stderr(&stopped));
    assert_eq!(mentioning(directory.to_str().unwrap()), Vec::<String>::new());
    assert!(!directory.exists());
}

#[test]
fn what_cannot_be_done_is_one_sentence_and_exit_code_two() {
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    let foreign = tempfile::tempdir().unwrap();
    fs::write(foreign.path().join("thesis.txt"), "").unwrap();
    let foreign = foreign.path().to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();

    let file = Path::new(foreign).join("thesis.txt");
    let file = file.to_str().unwrap();

    let cases: [(&[&str], String); 6] = [
        (
            &["dev", "--data-dir", file],
            format!("error: `{file}` exists and is not a directory; choose an empty or new directory"),
        ),
        (
            &["dev", "stop", "--data-dir", empty],
            format!(
                "error: no control plane runs in `{empty}`; start one with `butlerctl dev --data-dir {empty}`"
            ),
        ),
        (
            &["dev", "env", "--data-dir", empty],
            format!(
                "error: no control plane runs in `{empty}`; start one with `butlerctl dev --data-dir {empty}`"
            ),
        ),
        (
            &["dev", "--data-dir", foreign],
            format!(
                "error: `{foreign}` is not empty and not a data directory of this bench; choose an empty or new directory"
            ),
        ),
        (
            &["dev", "--detach", "--port", &port],
            format!(
                "error: port {port} is in use by another program; stop that program or choose another port"
            ),
        ),
        (
            &["crds", "no/such/directory"],
            "error: `no/such/directory` is not a directory; run this from the repository's root, or name an \
             existing directory"
                .to_owned(),
        ),
    ];
    for (arguments, expected) in cases {
        let output = butlerctl(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stderr(&output).lines().last().unwrap_or_default(), expected, "{arguments:?}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn a_data_directory_of_another_kubernetes_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let marker = directory.path().join("butler-bench.json");
    let text = r#"{"layout":1,"kubernetes":"v1.20.0"}"#;
    fs::write(&marker, text).unwrap();
    let output = butlerctl(&["dev", "--data-dir", directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let path = directory.path().canonicalize().unwrap();
    let path = path.display();
    assert_eq!(
        stderr(&output).lines().last().unwrap_or_default(),
        format!(
            "error: `{path}` holds the data of Kubernetes v1.20.0, layout 1, and this is Kubernetes v1.36.4, \
             layout 1; remove it or choose another directory"
        )
    );
    assert_eq!(fs::read_to_string(marker).unwrap(), text);
}

#[test]
fn without_go_the_first_start_says_what_to_install() {
    let cache = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_butlerctl"))
        .arg("dev")
        .env("BUTLER_CACHE_DIR", cache.path())
        .env("PATH", "/nowhere")
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`go`"), "{}", stderr(&output));
}

#[test]
fn a_wrong_flag_is_explained_with_exit_code_two() {
    let output = butlerctl(&["dev", "--detatch"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("a similar argument exists: '--detach'"), "{}", stderr(&output));
}
