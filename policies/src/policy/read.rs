//! From documents to objects: what each file holds, field by field.

mod binding;
mod policy;

use super::fields::{Fields, Written};
use super::names::is_subdomain;
use super::params::ParamKind;
use super::problem::{Place, Problems, quoted};
use super::set::Kind;
use super::yaml::Node;

pub(crate) use self::binding::RawBinding;
pub(crate) use self::policy::{RawPolicy, RawValidation};

/// The group and version of policies and bindings.
const GROUP: &str = "admissionregistration.k8s.io";

/// What a document holds.
#[derive(Debug)]
pub(crate) enum Object {
    Policy(Box<RawPolicy>),
    Binding(Box<RawBinding>),
    /// Any other object: a param.
    Param(RawParam),
    /// Something that cannot be read, so that nobody can say what is missing.
    Unreadable,
}

/// An object that bindings may give to policies.
#[derive(Debug)]
pub(crate) struct RawParam {
    pub(crate) kind: ParamKind,
    pub(crate) namespace: String,
    pub(crate) name: Written,
    /// All of it as JSON.
    pub(crate) json: String,
}

/// Reads the objects of a document, of which a list has several.
pub(crate) fn read(node: &Node, file: usize, objects: &mut Vec<Object>, problems: &mut Problems) {
    let count = objects.len();
    let is_list = read_document(node, file, objects, problems);
    if objects.len() == count && !is_list {
        objects.push(Object::Unreadable);
    }
}

/// Whether the document is a list, which may be empty.
fn read_document(node: &Node, file: usize, objects: &mut Vec<Object>, problems: &mut Problems) -> bool {
    let Some(mut fields) = Fields::open(node, file, "", problems) else { return false };
    let (api_version, kind) = (fields.some_text("apiVersion", problems), fields.some_text("kind", problems));
    let (Some(api_version), Some(kind)) = (api_version, kind) else { return false };
    let (group, version) = api_version.text.split_once('/').unwrap_or(("", &api_version.text));
    match (group, &*kind.text) {
        ("", "List")
        | (GROUP, "ValidatingAdmissionPolicyList" | "ValidatingAdmissionPolicyBindingList")
        | (GROUP, "MutatingAdmissionPolicyList" | "MutatingAdmissionPolicyBindingList") => {
            fields.take("metadata");
            for (_, node) in fields.list("items", problems) {
                read(node, file, objects, problems);
            }
            fields.finish(problems);
            return true;
        }
        (GROUP, name) => {
            let Some((what, is_binding)) = known(name) else {
                let message = format!("kind: {} is nothing that is loaded here", quoted(name));
                let help =
                    "there are ValidatingAdmissionPolicy, MutatingAdmissionPolicy and a Binding of each";
                problems.error_with_help(&kind.place, "unknown-kind", message, help);
                return false;
            };
            if version != "v1" {
                let message =
                    format!("apiVersion: is {}; it has to be `{GROUP}/v1`", quoted(&api_version.text));
                problems.error(&api_version.place, "unknown-kind", message);
                return false;
            }
            let Some(name) = metadata(&mut fields, problems) else { return false };
            if is_binding {
                objects.extend(
                    binding::read(fields, name, what, problems).map(|it| Object::Binding(Box::new(it))),
                );
            } else {
                objects.extend(
                    policy::read(fields, name, what, problems).map(|it| Object::Policy(Box::new(it))),
                );
            }
        }
        _ => objects.extend(param(node, &mut fields, &api_version, &kind, problems).map(Object::Param)),
    }
    false
}

fn known(kind: &str) -> Option<(Kind, bool)> {
    Some(match kind {
        "ValidatingAdmissionPolicy" => (Kind::Validating, false),
        "ValidatingAdmissionPolicyBinding" => (Kind::Validating, true),
        "MutatingAdmissionPolicy" => (Kind::Mutating, false),
        "MutatingAdmissionPolicyBinding" => (Kind::Mutating, true),
        _ => return None,
    })
}

/// The name of a policy or a binding. What else its metadata may have says nothing to us.
fn metadata(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Written> {
    const HOUSEKEEPING: [&str; 12] = [
        "labels",
        "annotations",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "ownerReferences",
        "finalizers",
        "managedFields",
        "selfLink",
    ];
    fields.require("metadata", problems)?;
    let mut metadata = fields.object("metadata", problems)?;
    let name = metadata.some_text("name", problems);
    if let Some(namespace) =
        metadata.text("namespace", problems).filter(|namespace| !namespace.text.is_empty())
    {
        let message =
            format!("{}: has to be left out; policies and bindings are in no namespace", namespace.path);
        problems.error(&namespace.place, "invalid-value", message);
    }
    for name in HOUSEKEEPING {
        metadata.take(name);
    }
    metadata.finish(problems);
    let name = name?;
    if !is_subdomain(&name.text) {
        let message = format!(
            "{}: is {}; it has to be lower-case letters, digits, `-` and `.`, with a letter or digit at both ends",
            name.path,
            quoted(&name.text)
        );
        problems.error(&name.place, "invalid-value", message);
    }
    Some(name)
}

pub(crate) fn param(
    node: &Node,
    fields: &mut Fields<'_>,
    api_version: &Written,
    kind: &Written,
    problems: &mut Problems,
) -> Option<RawParam> {
    fields.require("metadata", problems)?;
    let mut metadata = fields.object("metadata", problems)?;
    let name = metadata.some_text("name", problems)?;
    let namespace = metadata.text("namespace", problems);
    let mut json = String::new();
    node.write_json(&mut json);
    let kind = ParamKind { api_version: api_version.text.to_string(), kind: kind.text.to_string() };
    let namespace = namespace.map(|namespace| namespace.text.to_string()).unwrap_or_default();
    Some(RawParam { kind, namespace, name, json })
}

/// The items of a list of objects.
pub(crate) fn each<'n, T>(
    fields: &mut Fields<'n>,
    name: &'static str,
    problems: &mut Problems,
    mut item: impl FnMut(&mut Fields<'n>, &mut Problems) -> Option<T>,
) -> Vec<T> {
    let file = fields.place.file;
    let mut all = Vec::new();
    for (path, node) in fields.list(name, problems) {
        let Some(mut fields) = Fields::open(node, file, &path, problems) else { continue };
        all.extend(item(&mut fields, problems));
        fields.finish(problems);
    }
    all
}

/// A list may not be longer.
fn at_most(fields: &Fields<'_>, name: &str, count: usize, most: usize, problems: &mut Problems) {
    if count > most {
        let message = format!("{}: has {count} items; {most} are allowed", fields.path_of(name));
        problems.error(&fields.key_place(name), "too-many", message);
    }
}

/// Names in a list that come twice.
pub(crate) fn twice<'w>(names: impl Iterator<Item = &'w Written>, problems: &mut Problems) {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(&*name.text) {
            let message = format!("{}: {} is there twice", name.path, quoted(&name.text));
            problems.error(&name.place, "duplicate-name", message);
        }
    }
}

/// Where a document begins, without the whole of it.
fn beginning(fields: &Fields<'_>) -> Place {
    fields.key_place("apiVersion")
}
