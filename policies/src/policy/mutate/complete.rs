//! Mutating policies together with the gate's own defaults.
//!
//! Policies come first, and see the object as it was sent. So they do in kube-apiserver, which runs its own policies
//! before any webhook: a file gives the same object here and there, and a policy that fills in a field does so before a
//! default takes its place. Then come the defaults, for what is still missing; a policy with
//! `reinvocationPolicy: IfNeeded` sees them when it runs again, and the defaults follow once more if it changed
//! something. Defaults of what has its defaults change nothing, so that asking twice gives what asking once gave.

use serde_json::Value as Json;

use super::super::mutation::{Operation, apply_patch, difference};
use super::super::request::Request;
use super::super::set::PolicySet;
use super::super::surroundings::Surroundings;
use super::{Mutated, Refusal, mutate_with};
use crate::defaults::Completion;
use crate::defaults::patch::quote;
use crate::facts::{FactKey, Facts};
use crate::policy::Evaluation;
use crate::review::Review;

/// The mutating stage's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completed {
    /// What makes the object that was sent what it is to be, as RFC 6902 has it; empty if that is nothing.
    pub patch: Vec<u8>,
    /// The fields that defaults filled in, joined by commas.
    pub filled: String,
    /// What stops the request.
    pub refusals: Vec<Refusal>,
    /// What each policy came to.
    pub evaluations: Vec<Evaluation>,
    /// Objects that the answer rests on and that a snapshot may lag behind of.
    pub rests_on: Vec<FactKey>,
}

/// The mutating stage by policies and defaults; nothing if no policy can be about the review. What is on its way out is
/// not changed any more, whatever policies say: whoever takes its last finalizer off must not be stopped by one that fails.
pub fn complete(
    set: &PolicySet,
    review: &Review<'_>,
    facts: &Facts,
    surroundings: &dyn Surroundings,
) -> Option<Completed> {
    let request = Request::of_review(review);
    set.mutating_index.candidates(&request).next()?;
    if request.is_of_leaving_object() {
        return None;
    }
    let mut completed = Completed::default();
    let mutated = mutate_with(set, &request, surroundings, |object| {
        let (completion, object) = default(review, facts, object)?;
        if !completed.filled.is_empty() {
            completed.filled.push(',');
        }
        completed.filled.push_str(&completion.patch.paths());
        completed.rests_on.extend(completion.missing);
        object
    });
    let Mutated { object, refusals, evaluations, decisions: _, rests_on } = mutated;
    completed.evaluations = evaluations;
    completed.rests_on.extend(rests_on);
    if let (Some(object), true) = (object, refusals.is_empty()) {
        completed.patch = patch(review.object.map_or("", |object| object.text), &object);
    }
    completed.refusals = refusals;
    Some(completed)
}

/// What the defaults make of an object, and the object with them, if they change it. Nothing for an object that cannot
/// be read: the validating stage says what is wrong with it.
fn default(review: &Review<'_>, facts: &Facts, object: &Json) -> Option<(Completion, Option<Json>)> {
    let body = with_object(review, object)?;
    let review = Review::parse(body.as_bytes()).ok()?;
    let completion = crate::judge::complete(&review, facts);
    if completion.patch.is_empty() {
        return Some((completion, None));
    }
    let operations = Operation::read(&completion.patch.to_bytes())?;
    let changed = apply_patch(object.clone(), &operations).ok()?;
    Some((completion, Some(changed)))
}

/// The review's body with another object.
fn with_object(review: &Review<'_>, object: &Json) -> Option<String> {
    let (request, old) = (review.request, review.object?.text);
    let start = (old.as_ptr() as usize).checked_sub(request.as_ptr() as usize)?;
    let (before, after) = (request.get(..start)?, request.get(start + old.len()..)?);
    Some(format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{before}{object}{after}}}"#
    ))
}

fn patch(before: &str, after: &Json) -> Vec<u8> {
    let Ok(before) = serde_json::from_str::<Json>(before) else { return Vec::new() };
    let steps = difference(&before, after);
    if steps.is_empty() {
        return Vec::new();
    }
    let mut bytes = Vec::with_capacity(2 + steps.len() * 128);
    for (place, step) in steps.iter().enumerate() {
        bytes.extend_from_slice(if place == 0 { br#"[{"op":""# } else { br#",{"op":""# });
        bytes.extend_from_slice(step.op.as_bytes());
        bytes.extend_from_slice(br#"","path":"#);
        quote(&step.path, &mut bytes);
        if let Some(value) = step.value {
            bytes.extend_from_slice(br#","value":"#);
            // A value always has a form in JSON, and a vector takes whatever is written to it.
            let _ = serde_json::to_writer(&mut bytes, value);
        }
        bytes.push(b'}');
    }
    bytes.push(b']');
    bytes
}
