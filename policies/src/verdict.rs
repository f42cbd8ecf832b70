//! What goes out: every finding in one answer.

mod response;

use butler_api::excerpt::excerpt;

pub use self::response::{answer_completed, answer_error, answer_patch, answer_unavailable, answer_verdict};
use crate::facts::FactKey;
use crate::finding::{Fault, Finding, Found};
use crate::policy::{Denial, Judged};
use crate::review::Review;

/// How many denials, and how many warnings, an answer shows. The rest is counted.
const MOST_SHOWN: usize = 50;

/// The judgement of one review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What was found, denials and warnings, in the order of the rules.
    pub findings: Vec<Finding>,
    /// What policies say, after the rules.
    pub policies: Judged,
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
            policies: Judged::default(),
            more_denials: found.more_denials,
            more_warnings: found.more_warnings,
            kind: review.kind.as_str(),
            name: excerpt(&review.name),
        }
    }

    /// Whether the change may happen.
    pub fn allows(&self) -> bool {
        self.policies.denials.is_empty() && !self.findings.iter().any(Finding::denies)
    }

    /// What stops the change.
    pub fn denials(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.denies())
    }

    /// The denials that an answer shows one by one.
    pub fn shown_denials(&self) -> impl Iterator<Item = &Finding> {
        self.denials().take(MOST_SHOWN)
    }

    /// The denials of policies that an answer shows one by one, after those of rules.
    pub fn shown_policy_denials(&self) -> impl Iterator<Item = &Denial> {
        self.policies.denials.iter().take(MOST_SHOWN.saturating_sub(self.shown_denials().count()))
    }

    /// How many denials an answer only counts.
    fn hidden_denials(&self) -> usize {
        let shown = self.shown_denials().count() + self.shown_policy_denials().count();
        self.denials().count() + self.policies.denials.len() - shown + self.more_denials
    }

    /// What the user should know although the change may happen, or besides why it may not. Clients print each on a
    /// line of its own.
    pub fn warnings(&self) -> impl Iterator<Item = String> + use<'_> {
        let rules = self.findings.iter().filter(|finding| !finding.denies());
        let rules = rules.map(|finding| format!("{}: {}", finding.path, finding.message));
        let mut warnings = rules.chain(self.policies.warnings.iter().map(|warning| warning.message()));
        let shown: Vec<String> = warnings.by_ref().take(MOST_SHOWN).collect();
        let more = warnings.count() + self.more_warnings;
        let last = (more > 0).then(|| format!("and {more} more warnings"));
        shown.into_iter().chain(last)
    }

    /// The objects that the denials rest on. A snapshot may lag behind, so these are read once more before a denial is
    /// given.
    pub fn rests_on(&self) -> Vec<FactKey> {
        let mut keys: Vec<FactKey> =
            self.denials().flat_map(|finding| finding.rests_on.iter().cloned()).collect();
        keys.extend(self.policies.rests_on.iter().cloned());
        keys.sort();
        keys.dedup();
        keys
    }

    /// The status code as Kubernetes would choose it: 403 when all that is wrong is who asks or what they may have, 422
    /// when something in the object itself is, and that of the first policy when only policies deny.
    pub fn code(&self) -> u16 {
        if let Some(denial) = self.only_policies() {
            return denial.reason.code();
        }
        if self.denials().all(|finding| finding.fault == Fault::Forbidden) { 403 } else { 422 }
    }

    /// The reason that goes with the code.
    pub fn reason(&self) -> &'static str {
        if let Some(denial) = self.only_policies() {
            return denial.reason.as_str();
        }
        if self.code() == 403 { "Forbidden" } else { "Invalid" }
    }

    /// The first denial of a policy, if no rule denies.
    fn only_policies(&self) -> Option<&Denial> {
        self.policies.denials.first().filter(|_| self.denials().next().is_none())
    }

    /// All denials as one text: one line each when there are several.
    pub fn message(&self) -> String {
        let rules = self.shown_denials().map(|finding| format!("{}: {}", finding.path, finding.message));
        let lines: Vec<String> = rules.chain(self.shown_policy_denials().map(Denial::message)).collect();
        listed(&lines, self.hidden_denials())
    }

    /// The rules and reasons of all findings, and the policies that have anything to say, for the audit log.
    pub fn audit(&self) -> Option<String> {
        let mut words: Vec<String> =
            self.findings.iter().map(|finding| format!("{}/{}", finding.rule, finding.reason)).collect();
        let policies = self.policies.denials.iter().map(|denial| &denial.policy);
        let policies = policies.chain(self.policies.warnings.iter().map(|warning| &warning.policy));
        words.extend(policies.map(|policy| format!("policy/{policy}")));
        words.dedup();
        words.truncate(MOST_SHOWN);
        (!words.is_empty()).then(|| words.join(","))
    }
}

/// Problems as one text: one line each when there are several, and how many there are besides.
fn listed(lines: &[String], hidden: usize) -> String {
    match lines {
        [one] => one.clone(),
        several => {
            let all = format!("{} problems", several.len() + hidden);
            let text = several.iter().fold(all, |text, line| text + "\n- " + line);
            if hidden > 0 { format!("{text}\nand {hidden} more problems") } else { text }
        }
    }
}
