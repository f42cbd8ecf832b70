//! Keeps the policies in force those of a directory.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use butler_certs::{Bell, Events, Report, Topic};
use butler_policies::policy::{self, Loaded, PolicySet, Problem, Severity, SourceFile};
use jiff::Timestamp;

use super::in_force::Policies;
use super::metrics::Metrics;
use super::read::read;
use crate::facts::Snapshots;

/// Problems that are logged one by one.
const MOST_LOGGED: usize = 20;
/// How much of one problem is logged, in bytes.
const LONGEST_LOGGED: usize = 4_096;
/// How much of one problem an event says, which holds 1,024 bytes in all.
const LONGEST_TOLD: usize = 600;

/// How long a set waits for its params, and how often it looks. A change is to be in force within two seconds.
const PATIENCE: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(20);

const LOADED: Topic = Topic { reason: "PoliciesLoaded", action: "Load" };
const REFUSED: Topic = Topic { reason: "PoliciesRefused", action: "Load" };

/// The times that a test wants shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// People copy one file after the other: how long after the first change the directory is looked at.
    pub debounce: Duration,
    /// Files that are bad may be half of a change: when they are looked at once more, before anybody is told.
    pub second_look: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { debounce: Duration::from_millis(200), second_look: Duration::from_millis(800) }
    }
}

/// A directory of policies.
#[derive(Debug)]
pub struct PolicyFiles {
    directory: PathBuf,
    policies: Arc<Policies>,
    metrics: Metrics,
    report: Report,
    facts: Option<Arc<Snapshots>>,
    pace: Pace,
    suspect: Option<Suspect>,
}

/// What was refused last, so that it is told once.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Suspect {
    /// Seen once.
    New(String),
    /// Told.
    Told(String),
}

/// What became of a look at the directory.
enum Looked {
    /// The files are those in force.
    Same,
    Loaded(Box<Loaded>, Vec<SourceFile>),
    /// Told already, by what tells it from other failures.
    Suspect(String, Refusal),
}

enum Refusal {
    Unreadable(String),
    Problems(Vec<Problem>, Vec<SourceFile>),
}

impl PolicyFiles {
    /// Those of that directory, for [`Policies::awaited`].
    pub fn new(directory: impl Into<PathBuf>, policies: Arc<Policies>, metrics: Metrics) -> Self {
        Self {
            directory: directory.into(),
            policies,
            metrics,
            report: Report::new(None),
            facts: None,
            pace: Pace::default(),
            suspect: None,
        }
    }

    /// Says with events what was taken into force and what was refused. By default only logs and metrics do.
    #[must_use]
    pub fn events(mut self, events: Events) -> Self {
        self.report = Report::new(Some(events));
        self
    }

    /// Waits a moment for the params that new policies want, so that nobody is denied because they are not known yet.
    #[must_use]
    pub fn facts(mut self, facts: Arc<Snapshots>) -> Self {
        self.facts = Some(facts);
        self
    }

    /// At another pace.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Loads what is there, and again whenever it changes. Never ends; drop it to stop, at any moment.
    pub async fn run(mut self) -> Infallible {
        let mut bell = Bell::of_tree(&self.directory, Some(self.pace.debounce));
        loop {
            let again = self.look().await;
            bell.wait(again).await;
        }
    }

    /// Loads what is there, and says when to look again if that is soon.
    async fn look(&mut self) -> Option<Duration> {
        let (directory, in_force) = (self.directory.clone(), self.policies.hash());
        let told = match &self.suspect {
            Some(Suspect::Told(told)) => Some(told.clone()),
            _ => None,
        };
        // Reading waits for disks, and loading a thousand policies keeps a thread busy for a while.
        let looked =
            tokio::task::spawn_blocking(move || look(&directory, in_force.as_deref(), told.as_deref()));
        match looked.await {
            Ok(Some(Looked::Same)) => {
                if self.suspect.take().is_some() {
                    tracing::info!("the files of policies are again those in force");
                }
                self.metrics.settled();
                None
            }
            Ok(Some(Looked::Loaded(loaded, files))) => {
                self.suspect = None;
                self.load(*loaded, &files).await;
                None
            }
            Ok(Some(Looked::Suspect(which, refusal))) => self.refuse(which, refusal).await,
            Ok(None) => None,
            // It panicked, which was said when it did. What is in force stays, and is looked at again in time.
            Err(_) => None,
        }
    }

    async fn load(&self, loaded: Loaded, files: &[SourceFile]) {
        let Loaded { set, problems } = loaded;
        let (hash, count) = (set.hash().to_owned(), set.policies().len());
        self.have_params(&set).await;
        let placed = problems.iter().map(|it| (it.clone(), it.place(files).unwrap_or((1, 1))));
        self.policies.replace_with(set, placed.collect());
        self.metrics.loaded(&problems, Timestamp::now());
        log(&problems, files);
        tracing::info!(hash, policies = count, files = files.len(), "policies are in force");
        let note = format!("{count} policies of `{}` are in force, {hash}", self.directory.display());
        self.report.tell(LOADED, note).await;
    }

    /// Until the params of a set are known, or patience ends: those of one binding that cannot be read must not keep
    /// all others out of force.
    async fn have_params(&self, set: &PolicySet) {
        let Some(facts) = self.facts.as_ref().filter(|_| !set.wanted_params().is_empty()) else { return };
        self.policies.prepare(set);
        let known = async {
            while !set.wanted_params().iter().all(|wanted| facts.current().params.knows(wanted)) {
                tokio::time::sleep(GLANCE).await;
            }
        };
        if tokio::time::timeout(PATIENCE, known).await.is_err() {
            tracing::warn!(
                "not all params of the policies are known yet; what needs them is not judged until they are"
            );
        }
    }

    async fn refuse(&mut self, which: String, refusal: Refusal) -> Option<Duration> {
        let new = Suspect::New(which.clone());
        if self.suspect.as_ref() != Some(&new) {
            self.suspect = Some(new);
            return Some(self.pace.second_look);
        }
        self.suspect = Some(Suspect::Told(which));
        let why = match &refusal {
            Refusal::Unreadable(why) => why.clone(),
            Refusal::Problems(problems, files) => {
                log(problems, files);
                summary(problems, files)
            }
        };
        let why = format!("`{}` cannot be loaded: {why}", self.directory.display());
        let end = match self.policies.hash() {
            Some(hash) => format!("until then those before go on, {hash}"),
            None => "until then every review is turned away".to_owned(),
        };
        tracing::error!("policies are refused: {why}; {end}");
        self.policies.refused(why.clone());
        // After what they tell of, so that whoever sees the count sees the reason too.
        match &refusal {
            Refusal::Unreadable(_) => self.metrics.unreadable(),
            Refusal::Problems(problems, _) => self.metrics.refused(problems),
        }
        self.report.warn(REFUSED, format!("{why}; {end}")).await;
        None
    }
}

/// What is in the directory; nothing if it was told of already.
fn look(directory: &Path, in_force: Option<&str>, told: Option<&str>) -> Option<Looked> {
    let files = match read(directory) {
        Ok(files) => files,
        Err(error) => {
            let why = error.to_string();
            return (told != Some(&*why)).then(|| Looked::Suspect(why.clone(), Refusal::Unreadable(why)));
        }
    };
    let hash = policy::hash(&files);
    if in_force == Some(&*hash) {
        return Some(Looked::Same);
    }
    if told == Some(&*hash) {
        return None;
    }
    Some(match PolicySet::load(&files) {
        Ok(loaded) => Looked::Loaded(Box::new(loaded), files),
        Err(problems) => Looked::Suspect(hash, Refusal::Problems(problems, files)),
    })
}

/// A line for each problem, with its place and its lines.
fn log(problems: &[Problem], files: &[SourceFile]) {
    for problem in problems.iter().take(MOST_LOGGED) {
        let (line, column) = problem.place(files).unzip();
        let shown = problem.render(files);
        let shown = cut(&shown, LONGEST_LOGGED);
        let (file, code) = (problem.file.as_str(), problem.code);
        match problem.severity {
            Severity::Error => tracing::error!(file, line, column, code, "{shown}"),
            Severity::Warning => tracing::warn!(file, line, column, code, "{shown}"),
            Severity::Note => tracing::info!(file, line, column, code, "{shown}"),
        }
    }
    let more = problems.len().saturating_sub(MOST_LOGGED);
    if more > 0 {
        tracing::warn!(
            more,
            "there is more to say about the files of policies; run `butlerctl policy check`"
        );
    }
}

/// How many errors there are, and the first of them.
fn summary(problems: &[Problem], files: &[SourceFile]) -> String {
    let mut errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
    let Some(first) = errors.next() else { return "nobody can say why".to_owned() };
    let (line, column) = first.place(files).unwrap_or((1, 1));
    let more = match errors.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let what = format!("{}:{line}:{column}: {}", first.file, first.message);
    format!("{}{more}", cut(&what, LONGEST_TOLD))
}

fn cut(text: &str, longest: usize) -> &str {
    let end = (0..=longest.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or_default()
}
