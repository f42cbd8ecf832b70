//! A certificate from files that somebody else writes: cert-manager, a mounted Secret, a person.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::crypto::CryptoProvider;
use sha2::{Digest, Sha256};

use crate::bell::Bell;
use crate::certificate::Certificate;
use crate::metrics::Metrics;
use crate::pair::{Pair, Refusal};
use crate::report::{Events, Report, Topic};
use crate::serving::Serving;

/// Files that are bad may be half of a change: they are looked at once more before anybody is told.
const SECOND_LOOK: Duration = Duration::from_millis(800);
/// How often a read is begun anew because the directory was swapped under it.
const ATTEMPTS: u32 = 5;

/// A directory with `tls.crt`, `tls.key` and perhaps `ca.crt`, as a TLS Secret is mounted.
#[derive(Clone, Debug)]
pub struct Files {
    directory: PathBuf,
    events: Option<Events>,
}

impl Files {
    /// Files in this directory. It may come into being later.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), events: None }
    }

    /// Says with an event when a new certificate is refused. By default only logs and metrics do.
    #[must_use]
    pub fn events(mut self, events: Events) -> Self {
        self.events = Some(events);
        self
    }
}

/// What was refused last, so that it is told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suspect {
    /// Seen once.
    New([u8; 32], &'static str),
    /// Told.
    Told([u8; 32], &'static str),
}

pub(crate) struct FromFiles {
    directory: PathBuf,
    provider: Arc<CryptoProvider>,
    serving: Arc<Serving>,
    metrics: Metrics,
    report: Report,
    suspect: Option<Suspect>,
}

impl FromFiles {
    pub(crate) fn new(
        files: Files,
        provider: Arc<CryptoProvider>,
        serving: Arc<Serving>,
        metrics: Metrics,
    ) -> Self {
        let report = Report::new(files.events);
        Self { directory: files.directory, provider, serving, metrics, report, suspect: None }
    }

    pub(crate) async fn run(mut self) {
        let mut bell = Bell::new(&self.directory);
        loop {
            let again = self.look(Timestamp::now()).await;
            bell.wait(again).await;
        }
    }

    /// Loads what is there, and says when to look again if that is soon.
    async fn look(&mut self, now: Timestamp) -> Option<Duration> {
        let directory = self.directory.clone();
        let contents = tokio::task::spawn_blocking(move || read(&directory)).await;
        let contents = contents.ok().and_then(Result::ok);
        let judged = match &contents {
            None => Err(Refusal::Unreadable),
            Some(contents) => Pair::parse(&contents.certificate, &contents.key, &self.provider),
        };
        let judged = match judged {
            Ok(pair) if self.serving.serves(pair.certificate.id) => {
                self.suspect = None;
                return None;
            }
            other => other.and_then(|pair| pair.valid_at(now)),
        };
        match judged {
            Ok(pair) => {
                self.suspect = None;
                let authority = contents.and_then(|contents| contents.authority());
                if let Some(authority) = authority {
                    self.metrics.authority_ends(authority.validity.until);
                }
                self.serving.load(pair);
                None
            }
            Err(refusal) => {
                let digest = contents.map(|contents| contents.digest()).unwrap_or_default();
                self.refuse(refusal, digest).await
            }
        }
    }

    async fn refuse(&mut self, refusal: Refusal, digest: [u8; 32]) -> Option<Duration> {
        let (new, told) = (Suspect::New(digest, refusal.reason()), Suspect::Told(digest, refusal.reason()));
        if self.suspect == Some(told) {
            return None;
        }
        if self.suspect != Some(new) {
            self.suspect = Some(new);
            return Some(SECOND_LOOK);
        }
        self.suspect = Some(told);
        self.serving.refuse(refusal);
        let end =
            if self.serving.is_ready() { "the certificate in use goes on" } else { "nothing is served" };
        let note = format!("`{}`: {refusal}; until then {end}", self.directory.display());
        self.report.warn(Topic::CERTIFICATE_REFUSED, note).await;
        None
    }
}

/// The files' bytes. Not `Debug`: a key is among them.
struct Contents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authority: Vec<u8>,
}

impl Contents {
    fn digest(&self) -> [u8; 32] {
        Sha256::new()
            .chain_update(&self.certificate)
            .chain_update([0])
            .chain_update(&self.key)
            .finalize()
            .into()
    }

    fn authority(&self) -> Option<Certificate> {
        Certificate::all_from_pem(&self.authority).ok()?.into_iter().next()
    }
}

/// Reads both files from one version of the directory.
fn read(directory: &Path) -> io::Result<Contents> {
    // A kubelet swaps all files at once by pointing `..data` elsewhere. Resolved once, both files are of the same
    // swap; the old directory is removed right after, so a read that began before may fail and is begun anew.
    let resolved = || fs::canonicalize(directory.join("..data")).unwrap_or_else(|_| directory.to_owned());
    let mut attempt = 1;
    loop {
        let base = resolved();
        let contents = read_version(&base);
        if resolved() == base || attempt == ATTEMPTS {
            return contents;
        }
        attempt += 1;
    }
}

fn read_version(base: &Path) -> io::Result<Contents> {
    Ok(Contents {
        certificate: fs::read(base.join("tls.crt"))?,
        key: fs::read(base.join("tls.key"))?,
        // Only for its metric.
        authority: fs::read(base.join("ca.crt")).unwrap_or_default(),
    })
}
