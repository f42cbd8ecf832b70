//! ValidatingAdmissionPolicy and MutatingAdmissionPolicy.

use super::{at_most, beginning, each, twice};
use crate::policy::definition::{PatchType, Reason};
use crate::policy::fields::{Fields, Written};
use crate::policy::matching::Matching;
use crate::policy::names::{is_dns_1035, is_identifier, is_qualified, is_subdomain};
use crate::policy::params::ParamKind;
use crate::policy::problem::{Place, Problems, quoted};
use crate::policy::set::Kind;

/// A policy as its file has it.
#[derive(Debug)]
pub(crate) struct RawPolicy {
    pub(crate) name: Written,
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    pub(crate) fails_open: bool,
    pub(crate) matching: Matching,
    /// Where its rules are.
    pub(crate) rules: Place,
    pub(crate) param_kind: Option<(ParamKind, Place)>,
    pub(crate) conditions: Vec<Written>,
    pub(crate) variables: Vec<(Written, Written)>,
    pub(crate) validations: Vec<RawValidation>,
    pub(crate) audit_annotations: Vec<(Written, Written)>,
    pub(crate) mutations: Vec<(PatchType, Written)>,
    pub(crate) reinvokes: bool,
}

#[derive(Debug)]
pub(crate) struct RawValidation {
    pub(crate) expression: Written,
    pub(crate) message: Option<Written>,
    pub(crate) message_expression: Option<Written>,
    pub(crate) reason: Reason,
}

const MOST_CONDITIONS: usize = 64;
const MOST_ANNOTATIONS: usize = 20;
const LONGEST_VALUE_EXPRESSION: usize = 5 * 1024;
/// Kubernetes bounds these by the size of an object only; ours may not be larger than anybody needs either.
const MOST_EXPRESSIONS: usize = 1_000;

/// Kubernetes' documentation names `Unauthorized` too, but its API server does not take it.
const REASONS: [(&str, Reason); 3] = [
    ("Forbidden", Reason::Forbidden),
    ("Invalid", Reason::Invalid),
    ("RequestEntityTooLarge", Reason::RequestEntityTooLarge),
];

pub(super) fn read(
    mut fields: Fields<'_>,
    name: Written,
    kind: Kind,
    problems: &mut Problems,
) -> Option<RawPolicy> {
    let place = beginning(&fields);
    // Written by the API server into what was exported from it.
    fields.take("status");
    fields.require("spec", problems);
    let spec = fields.object("spec", problems);
    fields.finish(problems);
    let mut spec = spec?;

    let fails_open =
        spec.one_of("failurePolicy", &[("Fail", false), ("Ignore", true)], problems).unwrap_or(false);
    let param_kind = spec.object("paramKind", problems).and_then(|fields| param_kind(fields, problems));
    let rules = spec.key_place("matchConstraints");
    let matching = match spec.require("matchConstraints", problems) {
        Some(_) => spec.object("matchConstraints", problems).map(|fields| Matching::read(fields, problems)),
        None => None,
    };
    let matching = matching.unwrap_or_default();
    if matching.rules.is_empty() && spec.take("matchConstraints").is_some() {
        let message =
            "spec.matchConstraints.resourceRules: has to have a rule, or the policy is about nothing";
        problems.error(&rules, "missing-field", message);
    }
    let conditions = conditions(&mut spec, problems);
    let variables = each(&mut spec, "variables", problems, |fields, problems| {
        let name = fields.some_text("name", problems);
        let expression = fields.some_text("expression", problems);
        let name = name?;
        if !is_identifier(&name.text) {
            let message = format!("{}: is {}, which no expression can name", name.path, quoted(&name.text));
            problems.error(&name.place, "invalid-value", message);
        }
        Some((name, expression?))
    });
    at_most(&spec, "variables", variables.len(), MOST_EXPRESSIONS, problems);
    twice(variables.iter().map(|(name, _)| name), problems);

    let mut policy = RawPolicy {
        name,
        place,
        kind,
        fails_open,
        matching,
        rules,
        param_kind,
        conditions,
        variables,
        validations: Vec::new(),
        audit_annotations: Vec::new(),
        mutations: Vec::new(),
        reinvokes: false,
    };
    match kind {
        Kind::Validating => validating(&mut spec, &mut policy, problems),
        Kind::Mutating => mutating(&mut spec, &mut policy, problems),
    }
    spec.finish(problems);
    Some(policy)
}

fn param_kind(mut fields: Fields<'_>, problems: &mut Problems) -> Option<(ParamKind, Place)> {
    let place = fields.place.clone();
    let api_version = fields.some_text("apiVersion", problems);
    let kind = fields.some_text("kind", problems);
    fields.finish(problems);
    let (api_version, kind) = (api_version?, kind?);
    let (group, version) = api_version.text.split_once('/').unwrap_or(("", &api_version.text));
    if !(group.is_empty() && !api_version.text.contains('/') || is_subdomain(group)) || !is_dns_1035(version)
    {
        let message = format!(
            "{}: is {}; it has to be a version such as `v1`, or a group and a version such as `example.com/v1`",
            api_version.path,
            quoted(&api_version.text)
        );
        problems.error(&api_version.place, "invalid-value", message);
    }
    if !is_dns_1035(&kind.text.to_lowercase()) {
        let message = format!("{}: is {}, which no kind can be named", kind.path, quoted(&kind.text));
        problems.error(&kind.place, "invalid-value", message);
    }
    Some((ParamKind { api_version: api_version.text.to_string(), kind: kind.text.to_string() }, place))
}

fn conditions(spec: &mut Fields<'_>, problems: &mut Problems) -> Vec<Written> {
    let conditions = each(spec, "matchConditions", problems, |fields, problems| {
        let name = fields.some_text("name", problems);
        let expression = fields.some_text("expression", problems);
        let name = name?;
        if !is_qualified(&name.text) {
            let message = format!(
                "{}: is {}; it has to be letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
                name.path,
                quoted(&name.text)
            );
            problems.error(&name.place, "invalid-value", message);
        }
        Some((name, expression?))
    });
    at_most(spec, "matchConditions", conditions.len(), MOST_CONDITIONS, problems);
    twice(conditions.iter().map(|(name, _)| name), problems);
    conditions.into_iter().map(|(_, expression)| expression).collect()
}

fn validating(spec: &mut Fields<'_>, policy: &mut RawPolicy, problems: &mut Problems) {
    policy.validations = each(spec, "validations", problems, validation);
    let name = policy.name.text.clone();
    policy.audit_annotations = each(spec, "auditAnnotations", problems, |fields, problems| {
        let key = fields.some_text("key", problems);
        let value = fields.some_text("valueExpression", problems);
        let (key, value) = (key?, value?);
        if !is_qualified(&format!("{name}/{}", key.text)) {
            let message = format!(
                "{}: is {}; it has to be at most 63 letters, digits, `-`, `_` and `.`",
                key.path,
                quoted(&key.text)
            );
            problems.error(&key.place, "invalid-value", message);
        }
        if value.text.trim().len() > LONGEST_VALUE_EXPRESSION {
            let message = format!(
                "{}: is {} bytes long; {LONGEST_VALUE_EXPRESSION} are allowed",
                value.path,
                value.text.trim().len()
            );
            problems.error(&key.place, "too-many", message);
        }
        Some((key, value))
    });
    at_most(spec, "validations", policy.validations.len(), MOST_EXPRESSIONS, problems);
    at_most(spec, "auditAnnotations", policy.audit_annotations.len(), MOST_ANNOTATIONS, problems);
    twice(policy.audit_annotations.iter().map(|(key, _)| key), problems);
    if spec.list("validations", problems).is_empty() && spec.list("auditAnnotations", problems).is_empty() {
        let message =
            "spec.validations: has to have an item, or `auditAnnotations` has to, or the policy does nothing";
        problems.error(&spec.key_place("validations"), "missing-field", message);
    }
}

fn validation(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<RawValidation> {
    let expression = fields.some_text("expression", problems);
    let message = fields.text("message", problems);
    let message_expression = fields.text("messageExpression", problems);
    let reason = fields.one_of("reason", &REASONS, problems).unwrap_or(Reason::Invalid);
    for text in [&message, &message_expression].into_iter().flatten() {
        if !text.text.is_empty() && text.text.trim().is_empty() {
            problems.error(
                &text.place,
                "invalid-value",
                format!("{}: has to be more than blanks", text.path),
            );
        }
    }
    if let Some(message) = &message
        && message.text.trim().contains(['\n', '\r'])
    {
        let text = format!("{}: has several lines; it has to be one", message.path);
        problems.error_with_help(
            &message.place,
            "invalid-value",
            text,
            "write it after `>-`, which joins lines",
        );
    }
    let some = |text: Option<Written>| text.filter(|text| !text.text.trim().is_empty());
    Some(RawValidation {
        expression: expression?,
        message: some(message),
        message_expression: some(message_expression),
        reason,
    })
}

fn mutating(spec: &mut Fields<'_>, policy: &mut RawPolicy, problems: &mut Problems) {
    if policy.matching.rules.iter().any(|rule| rule.names_deletion()) {
        let message =
            "spec.matchConstraints: has a rule with `DELETE`, but what is deleted cannot be changed";
        problems.error(&policy.rules, "invalid-value", message);
    }
    let types = [("ApplyConfiguration", PatchType::ApplyConfiguration), ("JSONPatch", PatchType::JsonPatch)];
    policy.mutations = each(spec, "mutations", problems, |fields, problems| {
        fields.require("patchType", problems);
        let patch = fields.one_of("patchType", &types, problems);
        let apply = expression_of(fields, "applyConfiguration", problems);
        let json = expression_of(fields, "jsonPatch", problems);
        let patch = patch?;
        let (wanted, other, named, unwanted) = match patch {
            PatchType::ApplyConfiguration => (apply, json, "applyConfiguration", "jsonPatch"),
            PatchType::JsonPatch => (json, apply, "jsonPatch", "applyConfiguration"),
        };
        if other.is_some() {
            let message = format!("{}: has to be left out with this patchType", fields.path_of(unwanted));
            problems.error(&fields.key_place(unwanted), "invalid-value", message);
        }
        match wanted {
            Some(expression) => Some((patch, expression?)),
            None => {
                fields.missing(named, problems);
                None
            }
        }
    });
    at_most(spec, "mutations", policy.mutations.len(), MOST_EXPRESSIONS, problems);
    if spec.list("mutations", problems).is_empty() {
        let message = "spec.mutations: has to have an item, or the policy does nothing";
        problems.error(&spec.key_place("mutations"), "missing-field", message);
    }
    spec.require("reinvocationPolicy", problems);
    let again = [("Never", false), ("IfNeeded", true)];
    policy.reinvokes = spec.one_of("reinvocationPolicy", &again, problems).unwrap_or(false);
}

/// The expression of a patch; nothing if the field is not there, and then nothing if what is there is wrong.
fn expression_of(
    fields: &mut Fields<'_>,
    name: &'static str,
    problems: &mut Problems,
) -> Option<Option<Written>> {
    fields.take(name)?;
    let mut fields = fields.object(name, problems)?;
    let expression = fields.some_text("expression", problems);
    fields.finish(problems);
    Some(expression)
}
