//! Objects held against each other: names, bindings and params.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::super::matching::one_or_all;
use super::super::params::{ParamKind, ParamScope, Params, WantedParams, Which};
use super::super::problem::{Place, Problems, quoted};
use super::super::read::{Object, RawBinding, RawParam, RawPolicy};
use super::super::set::Kind;
use super::{Bindings, named};
use crate::cel::Tree;
use crate::review::{Kind as Reviewed, Operation};

/// What is left when nothing contradicts anything.
pub(super) struct Checked {
    /// By name, validating ones first.
    pub(super) policies: Vec<RawPolicy>,
    pub(super) bindings: Bindings,
    pub(super) params: Params,
    pub(super) param_kinds: Vec<ParamKind>,
    pub(super) wanted_params: Vec<WantedParams>,
}

/// Names that end so are for files that kube-apiserver reads itself (KEP-5793), which takes no params there.
const STATIC: &str = ".static.k8s.io";

pub(super) fn check(objects: Vec<Object>, problems: &mut Problems) -> Checked {
    let mut policies: BTreeMap<(Kind, Arc<str>), RawPolicy> = BTreeMap::new();
    let mut bindings: BTreeMap<(Kind, Arc<str>), RawBinding> = BTreeMap::new();
    let mut params = Vec::new();
    // Where something could not be read, nobody can say what is missing.
    let mut is_complete = true;
    for object in objects {
        match object {
            Object::Policy(policy) => {
                let key = (policy.kind, Arc::clone(&policy.name.text));
                match policies.entry(key) {
                    std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(*policy)),
                    std::collections::btree_map::Entry::Occupied(_) => {
                        let message = format!(
                            "metadata.name: there is another {}",
                            named(policy.kind, &policy.name.text)
                        );
                        problems.error(&policy.name.place, "duplicate-name", message);
                    }
                }
            }
            Object::Binding(binding) => {
                let key = (binding.kind, Arc::clone(&binding.name.text));
                match bindings.entry(key) {
                    std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(*binding)),
                    std::collections::btree_map::Entry::Occupied(_) => {
                        let name = quoted(&binding.name.text);
                        let message = format!("metadata.name: there is another binding {name}");
                        problems.error(&binding.name.place, "duplicate-name", message);
                    }
                }
            }
            Object::Param(param) => params.push(param),
            Object::Unreadable => is_complete = false,
        }
    }
    for policy in policies.values() {
        reaches_the_gate(policy, problems);
    }
    let bound: HashSet<(Kind, Arc<str>)> =
        bindings.values().map(|binding| (binding.kind, Arc::clone(&binding.policy.text))).collect();
    for (key, policy) in policies.iter().filter(|(key, _)| is_complete && !bound.contains(key)) {
        let message = format!("{} has no binding, so it does nothing", named(key.0, &key.1));
        let help = format!("add a binding with `policyName: {}`", key.1);
        problems.warn(&policy.name.place, "unbound-policy", message, help);
    }
    let params = take_params(params, &policies, problems);
    let mut live = BTreeSet::new();
    let mut by_policy = Bindings::new();
    for ((kind, _), binding) in bindings {
        match policies.get(&(kind, Arc::clone(&binding.policy.text))) {
            Some(policy) => {
                is_static_alike(policy, &binding, problems);
                live.extend(check_params(policy, &binding, &params, problems));
                by_policy.entry((kind, binding.policy.text.to_string())).or_default().push(binding);
            }
            None if !is_complete => {}
            None => {
                let message = format!("spec.policyName: there is no {}", named(kind, &binding.policy.text));
                problems.error(&binding.policy.place, "unknown-policy", message);
            }
        }
    }
    let kinds: BTreeSet<ParamKind> = live.iter().map(|wanted: &WantedParams| wanted.kind.clone()).collect();
    // Who wants all of a kind wants those of a namespace too.
    let everywhere = |wanted: &WantedParams| WantedParams { namespace: None, ..wanted.clone() };
    let wanted =
        live.iter().filter(|wanted| wanted.namespace.is_none() || !live.contains(&everywhere(wanted)));
    Checked {
        policies: policies.into_values().collect(),
        bindings: by_policy,
        params,
        param_kinds: kinds.into_iter().collect(),
        wanted_params: wanted.cloned().collect(),
    }
}

/// Warns of a policy that is about nothing that is sent to the gate.
fn reaches_the_gate(policy: &RawPolicy, problems: &mut Problems) {
    let reaches = policy.matching.rules.iter().any(|rule| {
        let has = |operation| rule.operations.has(operation);
        let is_whole_sent = has(Operation::Create)
            || has(Operation::Update)
            || (has(Operation::Delete) && policy.kind == Kind::Validating);
        // `kubectl scale` changes a part of a cluster, and is judged.
        let is_scale_sent = has(Operation::Update) && policy.kind == Kind::Validating;
        let is_sent = |(resource, part): &(String, String)| match (resource.as_str(), part.as_str()) {
            ("*", "" | "*") => is_whole_sent,
            (resource, "") => is_whole_sent && Reviewed::ALL.iter().any(|kind| kind.resource() == resource),
            (resource, "scale" | "*") => {
                is_scale_sent && (resource == "*" || resource == Reviewed::TenantCluster.resource())
            }
            _ => false,
        };
        one_or_all(&rule.groups, butler_api::GROUP)
            && one_or_all(&rule.versions, butler_api::VERSION)
            && rule.resources.iter().any(is_sent)
    });
    if !reaches && !policy.matching.rules.is_empty() {
        let message = format!(
            "spec.matchConstraints: {} is about nothing that is sent to Butler, so it does nothing here",
            named(policy.kind, &policy.name.text)
        );
        let resources: Vec<&str> = Reviewed::ALL.iter().map(|kind| kind.resource()).collect();
        let help =
            format!("sent are {} of `{}/{}`", resources.join(", "), butler_api::GROUP, butler_api::VERSION);
        problems.warn(&policy.rules, "unmatched-kind", message, help);
    }
}

/// Warns of what kube-apiserver would refuse in its own directory of policies.
fn is_static_alike(policy: &RawPolicy, binding: &RawBinding, problems: &mut Problems) {
    let is_static = |name: &str| name.ends_with(STATIC);
    let help =
        format!("kube-apiserver reads files only if all names end in `{STATIC}`, and gives them no params");
    if is_static(&policy.name.text) != is_static(&binding.name.text) {
        let message =
            format!("spec.policyName: only one of binding and policy has a name that ends in `{STATIC}`");
        problems.warn(&binding.policy.place, "static-name", message, help);
    } else if is_static(&policy.name.text)
        && let Some((_, place)) = &policy.param_kind
    {
        let message = format!("spec.paramKind: a policy with a name that ends in `{STATIC}` has no params");
        problems.warn(place, "static-name", message, help);
    }
}

/// Takes in the objects that are no policies and no bindings.
fn take_params(
    raw: Vec<RawParam>,
    policies: &BTreeMap<(Kind, Arc<str>), RawPolicy>,
    problems: &mut Problems,
) -> Params {
    let kinds: HashMap<&ParamKind, &Place> = policies
        .values()
        .filter_map(|policy| policy.param_kind.as_ref())
        .map(|(kind, place)| (kind, place))
        .collect();
    let mut params = Params::default();
    for param in raw {
        let RawParam { kind, namespace, name, json } = param;
        if !kinds.contains_key(&kind) {
            let what = format!("{} of {}", quoted(&kind.kind), quoted(&kind.api_version));
            let message =
                format!("no policy takes {what} as its params, so {} does nothing", quoted(&name.text));
            problems.warn(&name.place, "unused-object", message, "set `paramKind` of a policy, or remove it");
            continue;
        }
        match kind.known_scope() {
            Some(ParamScope::Namespaced) if namespace.is_empty() => {
                let message = format!("metadata.namespace: has to be set; every {} is in one", kind.kind);
                problems.error(&name.place, "missing-field", message);
            }
            Some(ParamScope::Cluster) if !namespace.is_empty() => {
                let message = format!("metadata.namespace: has to be left out; no {} is in one", kind.kind);
                problems.error(&name.place, "invalid-value", message);
            }
            _ => {}
        }
        match Tree::parse(&json) {
            Ok(tree) => {
                if !params.add(kind, namespace, name.text.to_string(), Arc::new(tree.into_owned())) {
                    let message =
                        format!("metadata.name: there is another object {} of this kind", quoted(&name.text));
                    problems.error(&name.place, "duplicate-name", message);
                }
            }
            Err(error) => {
                problems.error(&name.place, "yaml", format!("the object cannot be used: {}", error.message))
            }
        }
    }
    params
}

/// Whether a binding and its policy agree on params; gives those that have to come from the cluster.
fn check_params(
    policy: &RawPolicy,
    binding: &RawBinding,
    params: &Params,
    problems: &mut Problems,
) -> Option<WantedParams> {
    let (kind, (reference, place)) = match (&policy.param_kind, &binding.param_ref) {
        (None, None) => return None,
        (None, Some((_, place))) => {
            let message = "spec.paramRef: the policy takes no params";
            problems.error_with_help(
                place,
                "unused-params",
                message,
                "set `paramKind` of the policy, or remove it",
            );
            return None;
        }
        (Some(_), None) => {
            let message = "spec.paramRef: is not set, although the policy takes params; they are null to it";
            problems.warn(&binding.place, "missing-params", message, "set `paramRef`");
            return None;
        }
        (Some((kind, _)), Some(reference)) => (kind, reference),
    };
    if kind.known_scope() == Some(ParamScope::Cluster) && reference.namespace.is_some() {
        let message = format!("spec.paramRef.namespace: has to be left out; no {} is in one", kind.kind);
        problems.error(place, "invalid-value", message);
    }
    let wanted = || WantedParams { kind: kind.clone(), namespace: reference.namespace.clone() };
    match &reference.which {
        Which::Name(name) if params.has(kind, reference.namespace.as_deref(), name) => None,
        Which::Name(name) => {
            let (what, name) = (&kind.kind, quoted(name));
            let message =
                format!("spec.paramRef.name: no file has {what} {name}, so it has to be in the cluster");
            problems.note(place, "live-params", message);
            Some(wanted())
        }
        Which::Selected(_) => Some(wanted()),
    }
}
