//! What a person sees during a first run, which takes minutes: what will happen, what is happening, what
//! comes next.

use std::{
    fmt,
    io::{self, IsTerminal as _, Write},
    path::Path,
    time::{Duration, Instant},
};

/// How often a log, where lines cannot be rewritten, gets a sign of life.
const LOG_INTERVAL: Duration = Duration::from_secs(30);

/// Clears the line that is being rewritten.
const REWRITE: &str = "\r\x1b[K";

/// Says how finding and building goes. Nothing is said when there is nothing to build.
pub struct Progress {
    output: Box<dyn Write + Send>,
    /// On a terminal a step is one line that is rewritten every second.
    terminal: bool,
    total: usize,
    /// Numbers the steps from one.
    current: usize,
    step: Option<Step>,
}

struct Step {
    text: String,
    next: String,
    started: Instant,
    said: Instant,
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Progress")
            .field("current", &self.current)
            .field("total", &self.total)
            .finish()
    }
}

impl Progress {
    /// Progress on standard error, rewritten in place if that is a terminal.
    pub fn to_stderr() -> Self {
        let rewritable = std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb");
        Self::new(Box::new(io::stderr()), io::stderr().is_terminal() && rewritable)
    }

    /// Progress as lines, for a log or a test.
    pub fn to_writer(output: Box<dyn Write + Send>) -> Self {
        Self::new(output, false)
    }

    fn new(output: Box<dyn Write + Send>, terminal: bool) -> Self {
        Self { output, terminal, total: 0, current: 0, step: None }
    }

    /// Announces everything that will be made.
    pub(super) fn plan(&mut self, labels: &[String], place: &Path, go_version: &str) {
        (self.total, self.current) = (labels.len(), 0);
        self.say(&format!(
            "{} not in {} yet, built once with Go {go_version}, which takes minutes:\n  {}\n",
            labels.len(),
            place.display(),
            labels.join(", ")
        ));
    }

    /// Moves on to the next thing of the plan.
    pub(super) fn next(&mut self) {
        self.current += 1;
    }

    /// Something begins, after which `next` will follow.
    pub(super) fn begin(&mut self, doing: &str, next: Option<&str>, now: Instant) {
        let text = format!("[{}/{}] {doing}", self.current, self.total);
        let next = next.map(|next| format!("; next {next}")).unwrap_or_default();
        let line = format!("{text} …{next}");
        if self.terminal {
            self.say(&format!("{REWRITE}{line}"));
        } else {
            self.say(&format!("{line}\n"));
        }
        self.step = Some(Step { text, next, started: now, said: now });
    }

    /// It is still going on.
    pub(super) fn tick(&mut self, now: Instant) {
        let terminal = self.terminal;
        let Some(step) = &mut self.step else { return };
        if !terminal && now.duration_since(step.said) < LOG_INTERVAL {
            return;
        }
        step.said = now;
        let line = format!("{} … {}{}", step.text, Elapsed(now.duration_since(step.started)), step.next);
        if terminal {
            self.say(&format!("{REWRITE}{line}"));
        } else {
            self.say(&format!("{line}\n"));
        }
    }

    /// The thing is there; `how` says how it came.
    pub(super) fn done(&mut self, how: &str) {
        let clear = if self.terminal { REWRITE } else { "" };
        self.say(&format!("{clear}[{}/{}] {how}\n", self.current, self.total));
        self.step = None;
    }

    /// Leaves the terminal's cursor on a fresh line, for whoever reports what went wrong.
    pub(super) fn interrupt(&mut self) {
        if self.step.take().is_some() && self.terminal {
            self.say("\n");
        }
    }

    fn say(&mut self, text: &str) {
        // Nobody can be told that telling does not work, and it is no reason to stop a build.
        let _ = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
    }
}

/// A duration as people say it: `42s`, `1m12s`.
pub(super) struct Elapsed(pub(super) Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match (seconds / 60, seconds % 60) {
            (0, seconds) => write!(formatter, "{seconds}s"),
            (minutes, seconds) => write!(formatter, "{minutes}m{seconds:02}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn said(terminal: bool, seconds: impl Iterator<Item = u64>) -> String {
        let screen = Screen::default();
        let mut progress = Progress::new(Box::new(screen.clone()), terminal);
        let start = Instant::now();
        progress.plan(&["etcd 3.6.14".to_owned(), "helm 4.3.1".to_owned()], Path::new("/cache"), "1.26.8");
        progress.next();
        progress.begin("building etcd 3.6.14", Some("helm 4.3.1"), start);
        for second in seconds {
            progress.tick(start + Duration::from_secs(second));
        }
        progress.done("etcd 3.6.14 built in 1m12s");
        String::from_utf8(screen.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn a_log_gets_a_line_at_the_start_every_thirty_seconds_and_at_the_end() {
        assert_eq!(
            said(false, 1..=72),
            "2 not in /cache yet, built once with Go 1.26.8, which takes minutes:\n  etcd 3.6.14, helm 4.3.1\n\
             [1/2] building etcd 3.6.14 …; next helm 4.3.1\n\
             [1/2] building etcd 3.6.14 … 30s; next helm 4.3.1\n\
             [1/2] building etcd 3.6.14 … 1m00s; next helm 4.3.1\n\
             [1/2] etcd 3.6.14 built in 1m12s\n"
        );
    }

    #[test]
    fn a_terminal_gets_one_line_that_is_rewritten() {
        let said = said(true, 1..=2);
        let (_, steps) = said.split_once("helm 4.3.1\n").unwrap();
        assert_eq!(
            steps,
            "\r\x1b[K[1/2] building etcd 3.6.14 …; next helm 4.3.1\
             \r\x1b[K[1/2] building etcd 3.6.14 … 1s; next helm 4.3.1\
             \r\x1b[K[1/2] building etcd 3.6.14 … 2s; next helm 4.3.1\
             \r\x1b[K[1/2] etcd 3.6.14 built in 1m12s\n"
        );
    }
}
