//! Nothing survives: programs and directories that end together with the process that wanted them.
//!
//! A process that is killed with `kill -9` runs no destructor, so the end has to come from outside. Each
//! program is started by a small shell script that holds the reading end of a pipe; the only writing end is
//! in our process and is closed by the kernel, however we end. `guard/hold.sh` and `guard/sweep.sh` are short
//! and say the rest.

use std::ffi::OsString;
use std::fs::{File, Permissions};

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const HOLD: &str = include_str!("guard/hold.sh");
const SWEEP: &str = include_str!("guard/sweep.sh");

/// How often a wait with a bound looks again.
const GLANCE: Duration = Duration::from_millis(5);

/// Where a held program's output goes, and what it reads.
#[derive(Debug)]
pub struct Streams {
    /// The file the program reads as its standard input; nothing if absent.
    pub input: Option<PathBuf>,
    /// Its standard output.
    pub output: Stdio,
    /// Its standard error.
    pub errors: Stdio,
}

impl Streams {
    /// Both outputs are appended to one log file, which is created if needed.
    ///
    /// # Errors
    /// When the file cannot be opened for appending.
    pub fn to_log(log: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(log)?;
        Ok(Self { input: None, output: file.try_clone()?.into(), errors: file.into() })
    }

    /// Both outputs can be taken from the [`Held`] program and read.
    pub fn piped() -> Self {
        Self { input: None, output: Stdio::piped(), errors: Stdio::piped() }
    }
}

/// A running program that cannot outlive this process. Dropping it kills it, with everything it started.
#[derive(Debug)]
pub struct Held {
    shell: Child,
    // `None` once the program has been let go. Kept apart from `shell`, whose own `wait` would close it.
    leash: Option<ChildStdin>,
}

impl Held {
    /// Starts what `command` describes: program, arguments, added variables and working directory. Its
    /// streams and any `env_clear` are not taken over.
    ///
    /// # Errors
    /// When `sh` cannot be started. A program that cannot be started shows as exit status 126 or 127, as in
    /// any shell.
    pub fn start(command: &Command, streams: Streams) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", HOLD, "hold"]);
        shell.arg(streams.input.map_or_else(|| OsString::from("/dev/null"), PathBuf::into_os_string));
        shell.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(directory) = command.get_current_dir() {
            shell.current_dir(directory);
        }
        // A group of its own: signals to the group hit nobody else, and Ctrl-C in a terminal does not hit the
        // program before its owner has decided in which order things end.
        shell.process_group(0);
        shell.stdin(Stdio::piped()).stdout(streams.output).stderr(streams.errors);
        let mut shell = shell.spawn()?;
        let leash = shell.stdin.take();
        Ok(Self { shell, leash })
    }

    /// The number of the process group that the program is in, alone but for what holds it and what it has started.
    pub fn group(&self) -> u32 {
        self.shell.id()
    }

    /// The program's exit status if it has ended. A program that died of a signal shows as 128 plus the
    /// signal.
    ///
    /// # Errors
    /// When the operating system cannot tell.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.shell.try_wait()
    }

    /// Blocks until the program has ended by itself.
    ///
    /// # Errors
    /// When the operating system cannot tell.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.shell.wait()
    }

    /// Waits until the program has ended by itself, or the time is over.
    ///
    /// # Errors
    /// When the operating system cannot tell.
    pub fn wait_for(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(GLANCE);
        }
    }

    /// Asks the program to stop, and kills it if it has not within `patience`.
    pub fn stop(&mut self, patience: Duration) {
        // Whoever has already ended cannot be asked, and need not be.
        let asked = self.leash.as_mut().is_some_and(|leash| leash.write_all(b"stop\n").is_ok());
        if asked {
            self.wait_for(patience).ok();
        }
        self.kill();
    }

    /// Kills the program and whatever it has started.
    pub fn kill(&mut self) {
        self.leash = None;
        self.shell.wait().ok();
    }

    /// The program's standard output, if it was piped and not taken before.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.shell.stdout.take()
    }

    /// The program's standard error, if it was piped and not taken before.
    pub fn take_errors(&mut self) -> Option<ChildStderr> {
        self.shell.stderr.take()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A directory that cannot outlive this process. Dropping it removes it.
#[derive(Debug)]
pub struct SweptDirectory {
    path: PathBuf,
    shell: Child,
}

impl SweptDirectory {
    /// Makes a fresh directory, readable by its owner only, whose name starts with `prefix`.
    ///
    /// # Errors
    /// When the directory cannot be made or `sh` cannot be started.
    pub fn make(prefix: &str) -> io::Result<Self> {
        // Owned by `tempfile` until the sweeper runs, so that a failure in between leaves nothing.
        let directory =
            tempfile::Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o700)).tempdir()?;
        let shell = Command::new("sh")
            .args(["-c", SWEEP, "sweep"])
            .arg(directory.path())
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { path: directory.keep(), shell })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SweptDirectory {
    fn drop(&mut self) {
        if let Some(mut leash) = self.shell.stdin.take() {
            leash.write_all(b"now\n").ok();
        }
        self.shell.wait().ok();
    }
}

/// The last lines of a log, for an error message. Empty if there is no log.
pub fn tail(log: &Path) -> String {
    const BYTES: u64 = 64 * 1024;
    // Go prints some dozen lines of stack after the line that says why.
    const LINES: usize = 100;
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
}

/// The command lines of all processes of this machine that mention `mark`, for tests that look for survivors.
/// Reads `/proc`, so it finds nothing on systems without one.
pub fn mentioning(mark: &str) -> Vec<String> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let lines = processes.flatten().filter_map(|process| {
        let bytes = std::fs::read(process.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
    });
    lines.filter(|line| line.contains(mark)).collect()
}
