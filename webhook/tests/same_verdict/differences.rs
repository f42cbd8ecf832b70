//! Where the two sides do not say the same, and why that is so where it is meant to be.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::answer::{Answer, Said};
use crate::objects::read;
use crate::planned::{Expected, Planned, merged};

const EXPLAINED: &str = "webhook/tests/same_verdict/explained.yaml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explained {
    folder: String,
    case: String,
    #[serde(rename = "why")]
    _why: String,
}

/// What was found so far.
pub(crate) struct Differences {
    /// Those that are meant to be, and whether they were seen.
    explained: BTreeMap<(String, String), bool>,
    found: Vec<String>,
}

impl Differences {
    /// None found yet.
    pub(crate) fn expected() -> Self {
        let explained: Vec<Explained> = serde_saphyr::from_str(&read(EXPLAINED)).unwrap();
        let explained = explained.into_iter().map(|it| ((it.folder, it.case), false));
        Self { explained: explained.collect(), found: Vec::new() }
    }

    /// Holds two answers against each other, and the API server's against what the case expects.
    pub(crate) fn compare(&mut self, planned: &Planned, theirs: &Answer, ours: &Answer) {
        let title = format!("{}: {}", planned.folder, planned.name);
        let (theirs, ours) = (theirs.said(planned), ours.said(planned));
        if let Some(surprise) = planned.expected.as_ref().and_then(|expected| surprise(expected, &theirs)) {
            self.found.push(format!("{title}\n{surprise}\nkube-apiserver says: {theirs:#?}"));
        }
        if theirs.is_repeated_by(&ours, planned) {
            return;
        }
        match self.explained.get_mut(&(planned.folder.clone(), planned.name.clone())) {
            Some(seen) => *seen = true,
            None => self.found.push(format!("{title}\nkube-apiserver: {theirs:#?}\nthe gate: {ours:#?}")),
        }
    }

    /// How many are explained, and those that are not.
    pub(crate) fn finish(self) -> (usize, Vec<String>) {
        let Self { explained, mut found } = self;
        let unseen = explained.iter().filter(|(_, seen)| !**seen);
        found.extend(
            unseen.map(|((folder, case), _)| format!("{folder}: {case}\nis explained, but not different")),
        );
        (explained.len(), found)
    }
}

/// What an answer has other than the case expects. Names of policies and bindings come before what is expected.
fn surprise(expected: &Expected, said: &Said) -> Option<String> {
    let is_said = |text: &str, expected: &str| {
        expected == "*" || text == expected || text.ends_with(&format!(": {expected}"))
    };
    let wrong = |what: &str, expected: &dyn std::fmt::Debug| Some(format!("{what} should be {expected:?}"));
    match &expected.denied {
        Some(_) if said.is_allowed => return wrong("the denial", &expected.denied),
        Some(message) if !is_said(&said.denials[0], message) => return wrong("the message", message),
        None if !said.is_allowed => return wrong("the answer", &"an admission"),
        _ => {}
    }
    let warnings = &expected.warnings;
    let is_warned = said.warnings.len() == warnings.len()
        && said.warnings.iter().zip(warnings).all(|(text, expected)| is_said(text, expected));
    if !is_warned {
        return wrong("the warnings", warnings);
    }
    let audited = |(key, value): (&String, &Value)| {
        let found = said.audit.iter().find(|(own, _)| own.rsplit('/').next() == Some(key));
        found.is_some_and(|(_, found)| found == value || value == "*")
    };
    if let Some(audit) = expected.audit.as_ref().and_then(Value::as_object)
        && !audit.iter().all(audited)
    {
        return wrong("the audit annotations", audit);
    }
    if said.is_allowed
        && !said.object.is_null()
        && merged(said.object.clone(), &expected.patched) != said.object
    {
        return wrong("the patch", &expected.patched.to_string());
    }
    None
}
