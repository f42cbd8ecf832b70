//! One case through the policies: the mutating ones, then the validating ones over what those leave.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::merge::patch_between;
use super::plain::Question;
use super::{Case, Expected};
use crate::policy::judged::{Decision, Judged};
use crate::policy::mutate::{Mutated, mutate};
use crate::policy::request::Request;
use crate::policy::set::PolicySet;
use crate::policy::validate::{VALIDATION_FAILURE, validate_at_the_gate};

/// What came of a case. Both sides have the same fields, those that the case says something of.
#[derive(Debug)]
pub struct Ran {
    /// What had to come of it.
    pub expected: Json,
    /// What came of it.
    pub actual: Json,
    /// What each validation came to.
    pub(super) validations: Vec<Decision>,
    /// What each mutation came to.
    pub(super) mutations: Vec<Decision>,
}

impl Ran {
    /// Whether everything came as expected.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.expected == self.actual
    }
}

impl Case {
    /// Asks the policies of a set what the case asks.
    #[must_use]
    pub fn run(&self, set: &PolicySet) -> Ran {
        let expected = &self.expected;
        let Asked { mutated, judged, patch } = match self.question().and_then(|question| ask(set, &question))
        {
            Ok(asked) => asked,
            Err(error) => {
                let (expected, actual) = (expected.fields(true), json!({"error": error}));
                return Ran { expected, actual, validations: Vec::new(), mutations: Vec::new() };
            }
        };
        let actual = Expected {
            denied: denied(expected, &mutated, &judged),
            warnings: warnings(expected, &judged),
            audit: expected.audit.as_ref().map(|wanted| audit(wanted, &judged)),
            patched: Some(patch),
        };
        let is_patch_of_interest = expected.patched.is_some() || actual.denied.is_none();
        Ran {
            expected: expected.fields(is_patch_of_interest),
            actual: actual.fields(is_patch_of_interest),
            validations: judged.decisions,
            mutations: mutated.decisions,
        }
    }
}

impl Expected {
    /// One side of the comparison. What an object that is denied would have become is of interest only if the case asks.
    fn fields(&self, with_patch: bool) -> Json {
        let Self { denied, warnings, audit, patched } = self;
        let mut fields = Map::new();
        match denied {
            None => fields.insert("admitted".to_owned(), json!(true)),
            Some(messages) => fields.insert("denied".to_owned(), json!(messages)),
        };
        fields.insert("warnings".to_owned(), json!(warnings));
        fields.extend(audit.as_ref().map(|audit| ("audit".to_owned(), json!(audit))));
        if with_patch {
            fields.insert("patched".to_owned(), patched.clone().unwrap_or_else(nothing));
        }
        Json::Object(fields)
    }
}

/// What the policies say.
struct Asked {
    mutated: Mutated,
    judged: Judged,
    /// From the object that was sent to the one that results.
    patch: Json,
}

fn ask(set: &PolicySet, question: &Question) -> Result<Asked, String> {
    let Question { request, told, sent } = question;
    let request = Request::read(request).map_err(|error| format!("request: {error}"))?;
    let mutated = mutate(set, &request, told);
    let patch = mutated.object.as_ref().map_or_else(nothing, |object| patch_between(sent, object));
    let judged = if !mutated.refusals.is_empty() {
        // As in Kubernetes, where nobody validates what could not be mutated.
        Judged::default()
    } else if let Some(object) = &mutated.object {
        validate_at_the_gate(set, &request.with_object(&object.to_string()), told)
    } else {
        validate_at_the_gate(set, &request, told)
    };
    Ok(Asked { mutated, judged, patch })
}

fn nothing() -> Json {
    Json::Object(Map::new())
}

fn denied(expected: &Expected, mutated: &Mutated, judged: &Judged) -> Option<Vec<String>> {
    let refusals = mutated.refusals.iter().map(|refusal| (refusal.message(), refusal.detail()));
    let denials = judged.denials.iter().map(|denial| (denial.message(), denial.detail.as_str()));
    let all: Vec<(String, &str)> = refusals.chain(denials).collect();
    (!all.is_empty()).then(|| said(expected.denied.as_deref().unwrap_or_default(), all))
}

fn warnings(expected: &Expected, judged: &Judged) -> Vec<String> {
    let all = judged.warnings.iter().map(|warning| (warning.message(), warning.detail.as_str()));
    said(&expected.warnings, all.collect())
}

/// Messages in the form that a case has them in: whole, or without the names of the policy and its binding.
fn said(expected: &[String], messages: Vec<(String, &str)>) -> Vec<String> {
    let say = |(place, (whole, detail)): (usize, (String, &str))| {
        let introduction = whole.strip_suffix(detail).unwrap_or(&whole);
        let is_whole = !introduction.is_empty()
            && expected.get(place).is_some_and(|expected| expected.starts_with(introduction));
        if is_whole { whole } else { detail.to_owned() }
    };
    messages.into_iter().enumerate().map(say).collect()
}

/// The annotations of policies by their short keys. That a validation did not hold is told only to whoever asks.
fn audit(wanted: &BTreeMap<String, String>, judged: &Judged) -> BTreeMap<String, String> {
    let shown = |(key, value): &(String, String)| {
        let short = key.rsplit('/').next().unwrap_or(key).to_owned();
        if key != VALIDATION_FAILURE {
            return Some((short, value.clone()));
        }
        let wanted = wanted.get(&short)?;
        let message = || {
            let failures: Json = serde_json::from_str(value).ok()?;
            Some(failures.pointer("/0/message")?.as_str()?.to_owned())
        };
        Some((short, if wanted == value { value.clone() } else { message()? }))
    };
    judged.annotations.iter().filter_map(shown).collect()
}
