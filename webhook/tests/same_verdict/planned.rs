//! A case as it is asked: where its objects are, what is stored before, and what is sent.

use serde_json::{Map, Value, json};

use crate::corpus::{Asked, Case, Folder, Operation, Person};

/// The label that keeps a folder's policies away from what other folders ask for: on namespaces, and on objects that are
/// in none.
pub(crate) const FOLDER: &str = "same-verdict.example.org/folder";

pub(crate) struct Planned {
    pub(crate) folder: String,
    pub(crate) name: String,
    /// One of a kind; also the id under which audit logs have the request.
    pub(crate) id: String,
    /// The names of the folder's policies.
    pub(crate) policies: Vec<String>,
    /// Whether kube-apiserver, too, asks everything in a certain order: it does not for several policies, bindings or
    /// params.
    pub(crate) is_ordered: bool,
    pub(crate) place: Place,
    /// What is in the cluster before.
    pub(crate) stored: Option<Value>,
    pub(crate) params: Vec<Value>,
    pub(crate) object: Value,
    pub(crate) operation: Operation,
    pub(crate) replicas: Option<i32>,
    pub(crate) person: Option<Person>,
    pub(crate) dry_run: bool,
    /// What the case says of the answer, if it knows all of it.
    pub(crate) expected: Option<Expected>,
}

/// Where a case is. A namespace belongs to a team of the same name, as the gate wants it.
pub(crate) enum Place {
    /// The Namespace that stands for the one that the case names.
    Namespace { written: String, namespace: Value },
    /// Nowhere: the name that stands for the one that the case gives to its object.
    Name { written: String, name: String },
}

/// What the case says of the answer. Its names are those that are written.
pub(crate) struct Expected {
    pub(crate) denied: Option<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) audit: Option<Value>,
    pub(crate) patched: Value,
}

impl Planned {
    /// The Namespace, if the case is in one.
    pub(crate) fn namespace(&self) -> Option<&Value> {
        match &self.place {
            Place::Namespace { namespace, .. } => Some(namespace),
            Place::Name { .. } => None,
        }
    }

    /// Text from an answer with the names that are written in the case, and without what is made up each time.
    pub(crate) fn as_written(&self, text: &str) -> String {
        let text = match &self.place {
            Place::Namespace { written, namespace } => text.replace(name_of(namespace), written),
            Place::Name { written, name } => text.replace(name, written),
        };
        let Some(beginning) = self.object["metadata"]["generateName"].as_str() else { return text };
        let mut parts = text.split(beginning);
        let first = parts.next().unwrap_or_default().to_owned();
        // The API server adds five letters or digits.
        let is_made = |added: &str| added.bytes().all(|byte| byte.is_ascii_alphanumeric());
        parts.fold(first, |text, rest| match rest.split_at_checked(5) {
            Some((added, rest)) if is_made(added) => text + beginning + "…" + rest,
            _ => text + beginning + rest,
        })
    }
}

/// The name of an object.
pub(crate) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The requests of a folder.
pub(crate) fn plan(folder: &Folder) -> Vec<Planned> {
    folder.file.cases.iter().enumerate().map(|(number, case)| plan_case(folder, number, case)).collect()
}

fn plan_case(folder: &Folder, number: usize, case: &Case) -> Planned {
    let file = &folder.file;
    let id = format!("{}-{number}", folder.name);
    let whole = case.object.as_ref().or(file.object.as_ref());
    let whole = whole.unwrap_or_else(|| panic!("{}: {}: has no object", folder.name, case.name));
    let object = merged(whole.clone(), &case.change);
    let operation = case.operation.or(file.operation).unwrap_or(Operation::Create);
    let old = case.old.as_ref().or(file.old.as_ref());
    let stored = match (operation, old) {
        (Operation::Create, _) => None,
        (Operation::Update, old) => Some(merged(whole.clone(), old.unwrap_or(&json!({})))),
        (Operation::Delete | Operation::Scale, Some(old)) => Some(merged(whole.clone(), old)),
        (Operation::Delete | Operation::Scale, None) => Some(object.clone()),
    };
    let params = case.params.clone().unwrap_or_else(|| file.params.clone());
    let usual = file.request.clone().unwrap_or_else(|| json!({}));
    let asked = merged(usual, case.request.as_ref().unwrap_or(&json!({})));
    let Asked { user_info: person, dry_run } = serde_json::from_value(asked)
        .unwrap_or_else(|error| panic!("{}: {}: {error}", folder.name, case.name));

    let namespace = case.namespace.as_ref().or(file.namespace.as_ref());
    let place = match object["metadata"]["namespace"].as_str() {
        None => {
            let written = name_of(&object).to_owned();
            Place::Name { name: format!("{written}-{id}"), written }
        }
        Some(written) => {
            let is_in = |param: &Value| param["metadata"]["namespace"] == written;
            let is_alone = stored.is_some() || namespace.is_some() || params.iter().any(is_in);
            // Unlike any other word, so that it can be found in a text.
            let name = format!("in-{}", if is_alone { &id } else { &folder.name });
            let plain = json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": {FOLDER: folder.name}}});
            let mut namespace = merged(plain, namespace.unwrap_or(&json!({})));
            namespace["metadata"]["name"] = json!(name);
            Place::Namespace { written: written.to_owned(), namespace }
        }
    };
    let there = |object: Value| match &place {
        Place::Namespace { written, namespace } => renamed(object, written, name_of(namespace)),
        Place::Name { name, .. } => {
            merged(object, &json!({"metadata": {"name": name, "labels": {FOLDER: folder.name}}}))
        }
    };
    Planned {
        folder: folder.name.clone(),
        name: case.name.clone(),
        policies: folder.policy_names(),
        is_ordered: folder.is_ordered(),
        stored: stored.map(&there),
        params: match &place {
            Place::Namespace { .. } => params.into_iter().map(&there).collect(),
            Place::Name { .. } => params,
        },
        object: there(object),
        id,
        operation,
        replicas: case.replicas,
        person,
        dry_run: dry_run.unwrap_or(true),
        expected: folder.is_whole.then(|| Expected {
            denied: case.denied.as_ref().map(|messages| messages.first().to_owned()),
            warnings: case.warnings.clone(),
            audit: case.audit.clone(),
            patched: case.patched.clone().unwrap_or_else(|| json!({})),
        }),
        place,
    }
}

/// An object in which every text that is the one name is the other: the namespace, and the team that it belongs to.
fn renamed(object: Value, from: &str, to: &str) -> Value {
    match object {
        Value::String(text) if text == from => json!(to),
        Value::Array(items) => items.into_iter().map(|item| renamed(item, from, to)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, renamed(value, from, to))).collect()
        }
        other => other,
    }
}

/// A value changed by a merge patch.
pub(crate) fn merged(mut value: Value, patch: &Value) -> Value {
    json_patch::merge(&mut value, patch);
    value
}

/// The label of a folder, as a selector wants it.
pub(crate) fn selected(folder: &str) -> Value {
    Value::Object(Map::from_iter([(FOLDER.to_owned(), json!(folder))]))
}
