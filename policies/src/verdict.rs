//! What goes out: every finding in one answer.

mod response;

use butler_api::excerpt::excerpt;

pub use self::response::{answer_error, answer_patch, answer_verdict};
use crate::facts::FactKey;
use crate::finding::{Fault, Finding, Found};
use crate::review::Review;

/// How many denials, and how many warnings, an answer shows. The rest is counted.
const MOST_SHOWN: usize = 50;

/// The judgement of one review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What was found, denials and warnings, in the order of the rules.
    pub findings: Vec<Finding>,
    /// How many denials there are besides.
    pub more_denials: usize,
    /// How many warnings there are besides.
    pub more_warnings: usize,
    /// The kind of the object.
    pub kind: &'static str,
    /// The name of the object.
    pub name: String,
}

impl Verdict {
    pub(crate) fn of(review: &Review<'_>, found: Found) -> Self {
        Self {
            findings: found.kept,
            more_denials: found.more_denials,
            more_warnings: found.more_warnings,
            kind: review.kind.as_str(),
            name: excerpt(&review.name),
        }
    }

    /// Whether the change may happen.
    pub fn allows(&self) -> bool {
        !self.findings.iter().any(Finding::denies)
    }

    /// What stops the change.
    pub fn denials(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.denies())
    }

    /// The denials that an answer shows one by one.
    pub fn shown_denials(&self) -> impl Iterator<Item = &Finding> {
        self.denials().take(MOST_SHOWN)
    }

    /// How many denials an answer only counts.
    fn hidden_denials(&self) -> usize {
        self.denials().skip(MOST_SHOWN).count() + self.more_denials
    }

    /// What the user should know although the change may happen, or besides why it may not. Clients print each on a
    /// line of its own.
    pub fn warnings(&self) -> impl Iterator<Item = String> + use<'_> {
        let mut warnings = self.findings.iter().filter(|finding| !finding.denies());
        let shown: Vec<&Finding> = warnings.by_ref().take(MOST_SHOWN).collect();
        let more = warnings.count() + self.more_warnings;
        let last = (more > 0).then(|| format!("and {more} more warnings"));
        let shown = shown.into_iter().map(|finding| format!("{}: {}", finding.path, finding.message));
        shown.chain(last)
    }

    /// The objects that the denials rest on. A snapshot may lag behind, so these are read once more before a denial is
    /// given.
    pub fn rests_on(&self) -> Vec<FactKey> {
        let mut keys: Vec<FactKey> =
            self.denials().flat_map(|finding| finding.rests_on.iter().cloned()).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// The status code as Kubernetes would choose it: 403 when all that is wrong is who asks or what they may have, 422
    /// when something in the object itself is.
    pub fn code(&self) -> u16 {
        if self.denials().all(|finding| finding.fault == Fault::Forbidden) { 403 } else { 422 }
    }

    /// The reason that goes with the code.
    pub fn reason(&self) -> &'static str {
        if self.code() == 403 { "Forbidden" } else { "Invalid" }
    }

    /// All denials as one text: one line each when there are several.
    pub fn message(&self) -> String {
        let lines: Vec<String> =
            self.shown_denials().map(|finding| format!("{}: {}", finding.path, finding.message)).collect();
        let hidden = self.hidden_denials();
        match lines.as_slice() {
            [one] => one.clone(),
            several => {
                let all = format!("{} problems", several.len() + hidden);
                let text = several.iter().fold(all, |text, line| text + "\n- " + line);
                if hidden > 0 { format!("{text}\nand {hidden} more problems") } else { text }
            }
        }
    }

    /// The rules and reasons of all findings, for the audit log.
    pub fn audit(&self) -> Option<String> {
        let mut words: Vec<String> =
            self.findings.iter().map(|finding| format!("{}/{}", finding.rule, finding.reason)).collect();
        words.dedup();
        words.truncate(MOST_SHOWN);
        (!words.is_empty()).then(|| words.join(","))
    }
}
