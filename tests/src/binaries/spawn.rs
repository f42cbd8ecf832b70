//! Children that cannot outlive us.

use std::{
    ffi::OsStr,
    io,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
};

/// Runs `"$@"` beside a watcher that reads a pipe whose other end only we hold. The kernel closes our end
/// however we die, the watcher then sees the end of the pipe, and kills its whole process group: `go` and
/// every compiler it started. The job gets neither the pipe nor our terminal's standard input.
const SCRIPT: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null & job=$!
(read -r _ <&3; kill -s KILL 0) >/dev/null 2>&1 & watcher=$!
exec 3<&-
wait "$job"; status=$?
exec 2>/dev/null
kill -s KILL "$watcher"
exit "$status"
"#;

/// A `go` command that dies with us, and when this value is dropped.
#[derive(Debug)]
pub(super) struct GoChild {
    pub(super) child: Child,
    lifeline: Option<ChildStdin>,
}

/// Starts `program` in `directory` with its output piped; `prepare` sets the environment.
pub(super) fn spawn_go<I>(
    program: &Path,
    arguments: I,
    directory: &Path,
    prepare: impl FnOnce(&mut Command),
) -> io::Result<GoChild>
where
    I: IntoIterator<Item: AsRef<OsStr>>,
{
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "sh"]).arg(program).args(arguments).current_dir(directory);
    // A group of its own, so that the watcher's kill reaches all of the job and none of us.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    prepare(&mut command);
    let mut child = command.spawn()?;
    // Taken out because waiting on a child closes the standard input it still has.
    let lifeline = child.stdin.take();
    Ok(GoChild { child, lifeline })
}

impl GoChild {
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

impl Drop for GoChild {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        // A child that was waited for already answers at once.
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{BufRead as _, BufReader, Read as _},
        time::{Duration, Instant},
    };

    use super::*;

    fn shell(script: &str) -> GoChild {
        spawn_go(Path::new("/bin/sh"), ["-c", script], Path::new("/"), |_| ()).unwrap()
    }

    #[test]
    fn the_exit_status_and_the_output_are_the_commands_own() {
        let mut child = shell("echo out; echo err >&2; exit 7");
        let (mut stdout, mut stderr) = (String::new(), String::new());
        child.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        child.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((stdout.as_str(), stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn dropping_kills_the_command_and_what_it_started() {
        let mut child = shell("sleep 600 & echo $!; wait");
        let mut grandchild = String::new();
        BufReader::new(child.child.stdout.take().unwrap()).read_line(&mut grandchild).unwrap();
        let process = Path::new("/proc").join(grandchild.trim());
        let started = Instant::now();
        drop(child);
        if cfg!(target_os = "linux") {
            // Whoever adopts the orphan may take its time to reap it: a zombie is dead enough.
            while fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z")) {
                assert!(started.elapsed() < Duration::from_secs(10), "`sleep` is still running");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}
