//! ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding.

use super::{beginning, twice};
use crate::policy::definition::Action;
use crate::policy::fields::{Fields, Written, one_of};
use crate::policy::matching::Matching;
use crate::policy::names::{is_path_segment, is_subdomain};
use crate::policy::params::{ParamRef, Which};
use crate::policy::problem::{Place, Problems, quoted};
use crate::policy::selector::Selector;
use crate::policy::set::Kind;

/// A binding as its file has it.
#[derive(Debug)]
pub(crate) struct RawBinding {
    pub(crate) name: Written,
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    pub(crate) policy: Written,
    pub(crate) param_ref: Option<(ParamRef, Place)>,
    pub(crate) matching: Option<Matching>,
    pub(crate) actions: Vec<Action>,
}

const ACTIONS: [(&str, Action); 3] =
    [("Deny", Action::Deny), ("Warn", Action::Warn), ("Audit", Action::Audit)];

pub(super) fn read(
    mut fields: Fields<'_>,
    name: Written,
    kind: Kind,
    problems: &mut Problems,
) -> Option<RawBinding> {
    let place = beginning(&fields);
    fields.require("spec", problems);
    let spec = fields.object("spec", problems);
    fields.finish(problems);
    let mut spec = spec?;
    let policy = spec.some_text("policyName", problems);
    if let Some(policy) = policy.as_ref().filter(|policy| !is_subdomain(&policy.text)) {
        let message = format!("{}: is {}, which no policy can be named", policy.path, quoted(&policy.text));
        problems.error(&policy.place, "invalid-value", message);
    }
    let param_ref = spec.object("paramRef", problems).and_then(|fields| param_ref(fields, problems));
    let matching = spec.object("matchResources", problems).map(|fields| Matching::read(fields, problems));
    let actions = match kind {
        Kind::Validating => actions(&mut spec, problems),
        Kind::Mutating => Vec::new(),
    };
    spec.finish(problems);
    Some(RawBinding { name, place, kind, policy: policy?, param_ref, matching, actions })
}

fn actions(spec: &mut Fields<'_>, problems: &mut Problems) -> Vec<Action> {
    let words = spec.texts("validationActions", problems);
    twice(words.iter(), problems);
    let actions: Vec<Action> = words.iter().filter_map(|word| one_of(word, &ACTIONS, problems)).collect();
    if words.is_empty() {
        spec.missing("validationActions", problems);
    }
    if actions.contains(&Action::Deny) && actions.contains(&Action::Warn) {
        let message =
            "spec.validationActions: has both `Deny` and `Warn`, which would tell the user twice; keep one";
        problems.error(&spec.key_place("validationActions"), "invalid-value", message);
    }
    actions
}

fn param_ref(mut fields: Fields<'_>, problems: &mut Problems) -> Option<(ParamRef, Place)> {
    let place = fields.key_place("name");
    let name = fields.text("name", problems).filter(|name| !name.text.is_empty());
    let namespace = fields.text("namespace", problems).filter(|namespace| !namespace.text.is_empty());
    let selector = fields.object("selector", problems).map(|fields| Selector::read(fields, problems));
    fields.require("parameterNotFoundAction", problems);
    let missing = fields.one_of("parameterNotFoundAction", &[("Allow", false), ("Deny", true)], problems);
    if let Some(name) = name.as_ref().filter(|name| !is_path_segment(&name.text)) {
        let message = format!("{}: is {}, which no object can be named", name.path, quoted(&name.text));
        problems.error(&name.place, "invalid-value", message);
    }
    let which = match (name, selector) {
        (Some(name), None) => Some(Which::Name(name.text.to_string())),
        (None, Some(selector)) => Some(Which::Selected(selector)),
        (both, _) => {
            let what = if both.is_some() { "has both" } else { "has neither" };
            let message = format!("{}: {what} `name` and `selector`; set one of them", fields.path);
            let message = if both.is_some() { message } else { message.replace(" and ", " nor ") };
            problems.error(&place, "invalid-value", message);
            None
        }
    };
    fields.finish(problems);
    let namespace = namespace.map(|namespace| namespace.text.to_string());
    Some((ParamRef { which: which?, namespace, denies_when_missing: missing? }, place))
}
