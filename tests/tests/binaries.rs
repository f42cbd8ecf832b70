//! Finding and building the bench's programs, as the processes that people start: `bench-binaries` with an
//! environment of its own. Most tests put a `go` of a few lines on PATH; the last one builds etcd with the
//! real one.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a scene that cannot be set is a failed test")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// A cache, a PATH and whatever else a run may touch, removed afterwards.
struct Scene {
    directory: tempfile::TempDir,
}

/// Answers as `go` does and counts its builds; `$SCENE` is the scene's directory.
const GO: &str = r#"
case "$1" in
env) echo '{"GOVERSION":"go1.26.8","GOFLAGS":"'"$GOFLAGS"'","GOTMPDIR":""}' ;;
mod) ;;
build)
  while [ "$1" != -o ]; do shift; done
  echo built >>"$SCENE/builds"
  printf 'a program' >"$2"
  chmod +x "$2" ;;
esac
"#;

impl Scene {
    fn new() -> Self {
        let scene = Self { directory: tempfile::tempdir().unwrap() };
        scene.executable("bin/go", GO);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn executable(&self, name: &str, script: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, names: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench-binaries"));
        command.args(names).env_clear();
        command.env("SCENE", self.directory.path()).env("BUTLER_CACHE_DIR", self.path("cache"));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, names: &[&str]) -> Output {
        self.command(names).output().unwrap()
    }

    /// What the run said when it failed, with the scene's directory as `/scene`.
    fn failure(&self, command: &mut Command) -> String {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        let said = said.replace(self.directory.path().to_str().unwrap(), "/scene");
        let (_, message) = said.split_once("error: ").unwrap();
        message.trim_end().to_owned()
    }

    fn builds(&self) -> usize {
        fs::read_to_string(self.path("builds")).unwrap_or_default().lines().count()
    }

    /// The names in the cache, without the parts that follow from go.sum.
    fn cached(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("cache/binaries")) else { return Vec::new() };
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }
}

fn stdout(output: &Output) -> PathBuf {
    assert!(output.status.success(), "{output:?}");
    PathBuf::from(String::from_utf8(output.stdout.clone()).unwrap().trim())
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn a_first_run_builds_and_says_so_and_a_second_says_nothing() {
    let scene = Scene::new();
    let first = scene.run(&["etcd", "kubectl"]);
    let said = stderr(&first).replace(scene.directory.path().to_str().unwrap(), "/scene");
    let steps = [
        "2 not in /scene/cache/binaries yet, built once with Go 1.26.8, which takes minutes:",
        "  etcd 3.6.14, kubectl 1.36.4",
        "[1/2] downloading the sources of etcd 3.6.14 …",
        "[1/2] building etcd 3.6.14 …; next kubectl 1.36.4",
        "[1/2] etcd 3.6.14 made in 0s",
        "[2/2] downloading the sources of kubectl 1.36.4 …",
        "[2/2] building kubectl 1.36.4 …",
        "[2/2] kubectl 1.36.4 made in 0s",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), steps);
    // The second run has no `go`: what is cached does not need it.
    fs::remove_file(scene.path("bin/go")).unwrap();
    let second = scene.run(&["etcd", "kubectl"]);
    assert_eq!(stdout(&second), stdout(&first));
    assert_eq!(stderr(&second), "");
}

#[test]
fn a_damaged_program_is_named_and_not_rebuilt() {
    let scene = Scene::new();
    let program = stdout(&scene.run(&["etcd"]));
    fs::write(&program, "a progrbm").unwrap();
    let key = scene.cached().remove(0);
    assert_eq!(
        scene.failure(&mut scene.command(&["etcd"])),
        format!(
            "the cached file `/scene/cache/binaries/{key}/etcd` has sha256 \
             `797c8d41955686a3d75881f641ecd65347ba91f069a3067cd89e52fddc076f34` and was built with \
             `d69ea8cda2433733c1ce02de65da8f48e6a3dbba6bb18876a2062908e54ef7cb`: \
             remove the directory `/scene/cache/binaries/{key}` and run again to make it anew"
        )
    );
    assert_eq!(scene.builds(), 1);
    fs::remove_dir_all(program.parent().unwrap()).unwrap();
    stdout(&scene.run(&["etcd"]));
    assert_eq!(scene.builds(), 2);
}

#[test]
fn a_killed_build_takes_its_compilers_along_and_the_next_run_succeeds() {
    let scene = Scene::new();
    let endless = r#"
case "$1" in
env) echo '{"GOVERSION":"go1.26.8","GOFLAGS":"","GOTMPDIR":""}' ;;
mod) ;;
build)
  while [ "$1" != -o ]; do shift; done
  printf 'half a pro' >"$2"
  sleep 600 &
  echo "$!" >"$SCENE/compiler.new"
  mv "$SCENE/compiler.new" "$SCENE/compiler"
  wait ;;
esac
"#;
    scene.executable("bin/go", endless);
    let mut run = scene.command(&["etcd"]).spawn().unwrap();
    let compiler = eventually("the compiler starts", || fs::read_to_string(scene.path("compiler")).ok());
    run.kill().unwrap();
    run.wait().unwrap();
    eventually("the compiler is gone", || (!is_running(compiler.trim())).then_some(()));
    let left = scene.cached();
    assert!(matches!(&left[..], [left] if left.contains(".making-")), "{left:?}");

    scene.executable("bin/go", GO);
    let program = stdout(&scene.run(&["etcd"]));
    assert_eq!(fs::read_to_string(program).unwrap(), "a program");
    let cached = scene.cached();
    assert!(matches!(&cached[..], [cached] if !cached.contains(".making-")), "{cached:?}");
}

#[test]
fn a_failed_build_shows_its_last_lines_and_leaves_nothing() {
    let scene = Scene::new();
    let failing = r#"
case "$1" in
env) echo '{"GOVERSION":"go1.26.8","GOFLAGS":"","GOTMPDIR":""}' ;;
mod) ;;
build)
  while [ "$1" != -o ]; do shift; done
  printf 'half a pro' >"$2"
  i=0; while [ $i -lt 100 ]; do echo "line $i" >&2; i=$((i+1)); done
  echo 'link: writing output: no space left on device' >&2
  exit 1 ;;
esac
"#;
    scene.executable("bin/go", failing);
    let lines: String = (81..100).map(|number| format!("line {number}\n")).collect();
    assert_eq!(
        scene.failure(&mut scene.command(&["etcd"])),
        format!(
            "building etcd 3.6.14 failed with exit status: 1: correct what `go` says in its last lines and run \
             again:\n{lines}link: writing output: no space left on device"
        )
    );
    assert_eq!(scene.cached(), Vec::<String>::new());
}

#[test]
fn an_unwritable_cache_is_named() {
    let scene = Scene::new();
    // Not by permissions, which do not bind root: a file stands where the directory should be.
    fs::write(scene.path("cache"), "").unwrap();
    assert_eq!(
        scene.failure(&mut scene.command(&["etcd"])),
        "cannot create `/scene/cache/binaries` in the cache (Not a directory (os error 20)): \
         make room or grant access there, or set BUTLER_CACHE_DIR to another directory"
    );
}

#[test]
fn a_missing_go_is_named() {
    let scene = Scene::new();
    let mut command = scene.command(&["etcd", "helm"]);
    command.env("PATH", scene.path("nothing"));
    assert_eq!(
        scene.failure(&mut command),
        "`go` is not on PATH and etcd 3.6.14, helm 4.3.1 must be built: install Go 1.26.0 or newer, \
         or set KUBEBUILDER_ASSETS to a directory that has the programs"
    );
}

#[test]
fn an_old_go_is_named() {
    let scene = Scene::new();
    scene.executable("bin/go", r#"echo '{"GOVERSION":"go1.9.7","GOFLAGS":"","GOTMPDIR":""}'"#);
    assert_eq!(
        scene.failure(&mut scene.command(&["etcd"])),
        "`/scene/bin/go` is Go 1.9.7 and etcd 3.6.14 must be built with Go 1.26.0 or newer: install that"
    );
}

#[test]
fn a_go_that_does_not_work_is_named() {
    let scene = Scene::new();
    scene.executable("bin/go", "echo 'cannot find GOROOT' >&2; exit 3");
    assert_eq!(
        scene.failure(&mut scene.command(&["etcd"])),
        "`/scene/bin/go` could not be used (`go env` ended with exit status: 3: cannot find GOROOT): \
         repair or reinstall Go"
    );
}

#[test]
fn the_users_go_flags_are_kept_but_for_the_module_mode() {
    let scene = Scene::new();
    scene.executable("bin/go", &format!("echo \"$1 $GOFLAGS\" >>\"$SCENE/flags\"\n{GO}"));
    stdout(&scene.command(&["etcd"]).env("GOFLAGS", "-mod=vendor -p=1").output().unwrap());
    assert_eq!(
        fs::read_to_string(scene.path("flags")).unwrap(),
        "env -mod=vendor -p=1\nmod -p=1 -mod=readonly\nbuild -p=1 -mod=readonly\n"
    );
    assert_eq!(
        scene.failure(scene.command(&["helm"]).env("GOFLAGS", "-race")),
        "GOFLAGS has `-race`, with which static programs cannot be built: remove it for this run"
    );
}

#[test]
fn what_kubebuilder_assets_has_is_used_and_the_rest_is_built() {
    let scene = Scene::new();
    scene.executable("assets/etcd", "exit 0");
    let mut command = scene.command(&["etcd", "kubectl"]);
    let output = command.env("KUBEBUILDER_ASSETS", scene.path("assets")).output().unwrap();
    let printed = stdout(&output);
    let paths: Vec<_> = printed.to_str().unwrap().lines().map(Path::new).collect();
    assert_eq!(paths[0], scene.path("assets/etcd"));
    assert!(paths[1].starts_with(scene.path("cache/binaries")), "{paths:?}");
    assert_eq!(scene.builds(), 1);
}

#[test]
fn with_all_assets_neither_go_nor_a_cache_is_needed() {
    let scene = Scene::new();
    scene.executable("assets/etcd", "exit 0");
    let mut command = scene.command(&["etcd"]);
    command.env_clear().env("KUBEBUILDER_ASSETS", scene.path("assets"));
    let output = command.output().unwrap();
    assert_eq!(stdout(&output), scene.path("assets/etcd"));
    assert_eq!(stderr(&output), "");
}

#[test]
fn kubebuilder_assets_that_do_not_exist_are_named() {
    let scene = Scene::new();
    assert_eq!(
        scene.failure(scene.command(&["etcd"]).env("KUBEBUILDER_ASSETS", scene.path("assets"))),
        "KUBEBUILDER_ASSETS is `/scene/assets`, which is not a directory: \
         correct it, or unset it to build the programs"
    );
}

#[test]
fn an_asset_that_is_not_executable_is_named() {
    let scene = Scene::new();
    fs::create_dir(scene.path("assets")).unwrap();
    fs::write(scene.path("assets/etcd"), "").unwrap();
    assert_eq!(
        scene.failure(scene.command(&["etcd"]).env("KUBEBUILDER_ASSETS", scene.path("assets"))),
        "`/scene/assets/etcd` of KUBEBUILDER_ASSETS is not an executable file: \
         make it one, or remove it to have it built"
    );
}

#[test]
fn two_first_runs_at_once_on_an_empty_user_cache_build_etcd_once() {
    let scene = Scene::new();
    // Compiling etcd is not what is proved here, so the user's Go caches stay.
    let go_environment = ["GOCACHE", "GOMODCACHE", "GOENV"]
        .map(|name| (name, stdout(&Command::new("go").args(["env", name]).output().unwrap())));
    let run = || {
        // The user's own `go` and environment, but for a home without any cache in it.
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench-binaries"));
        command.arg("etcd").env("HOME", scene.path("home"));
        for variable in ["BUTLER_CACHE_DIR", "XDG_CACHE_HOME", "KUBEBUILDER_ASSETS"] {
            command.env_remove(variable);
        }
        command.envs(go_environment.clone());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (one, other) = (run(), run());
    let (one, other) = (one.wait_with_output().unwrap(), other.wait_with_output().unwrap());
    let program = stdout(&one);
    assert_eq!(stdout(&other), program);
    assert!(program.starts_with(scene.path("home")), "{program:?}");

    let said = format!("{}{}", stderr(&one), stderr(&other));
    assert_eq!(said.matches("[1/1] building etcd 3.6.14").count(), 1, "{said}");
    assert_eq!(said.matches("[1/1] another run is building etcd 3.6.14; waiting").count(), 1, "{said}");
    assert_eq!(said.matches("[1/1] etcd 3.6.14 was built by another run").count(), 1, "{said}");

    let version = Command::new(program).arg("--version").output().unwrap();
    assert!(String::from_utf8(version.stdout).unwrap().starts_with("etcd Version: 3.6.14\n"));
}

fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process still runs; one that only waits to be reaped by its new parent does not.
fn is_running(process: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", process]).output().unwrap().stdout;
    !matches!(state.trim_ascii().first(), None | Some(b'Z'))
}
