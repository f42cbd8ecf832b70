//! Folders whose cases want different params of one name in one place, which cannot be there at the same time.
//!
//! Such a folder becomes several, one for each state of the params, with policies and bindings of other names and params
//! in another namespace.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::corpus::{Case, Folder, is_policy};

/// The folder itself, or one for each state of its params.
pub(crate) fn editions(folder: Folder) -> Vec<Folder> {
    let mut states: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in &folder.file.cases {
        let object = case.object.as_ref().or(folder.file.object.as_ref());
        let own = object.map(|object| &object["metadata"]["namespace"]);
        let params = case.params.as_ref().unwrap_or(&folder.file.params);
        let shared: Vec<&Value> =
            params.iter().filter(|param| Some(&param["metadata"]["namespace"]) != own).collect();
        states.entry(json!(shared).to_string()).or_default().push(case.clone());
    }
    if states.len() < 2 {
        return vec![folder];
    }
    let named = |(number, cases): (usize, Vec<Case>)| edition(&folder, number + 1, cases);
    states.into_values().enumerate().map(named).collect()
}

fn edition(folder: &Folder, number: usize, cases: Vec<Case>) -> Folder {
    let mut edition = folder.clone();
    edition.name = format!("{}-{number}", folder.name);
    edition.file.cases = cases;
    let mut shared = Vec::new();
    for object in &mut edition.rules {
        renumber(&mut object["metadata"]["name"], number);
        if !is_policy(object) {
            renumber(&mut object["spec"]["policyName"], number);
            if let Some(namespace) = object.pointer_mut("/spec/paramRef/namespace") {
                shared.push(namespace.clone());
                renumber(namespace, number);
            }
        }
    }
    let cases = edition.file.cases.iter_mut().filter_map(|case| case.params.as_mut());
    let params = cases.chain([&mut edition.file.params, &mut edition.params]).flatten();
    for param in params.filter(|param| shared.contains(&param["metadata"]["namespace"])) {
        renumber(&mut param["metadata"]["namespace"], number);
    }
    edition
}

fn renumber(name: &mut Value, number: usize) {
    if let Some(text) = name.as_str() {
        *name = json!(format!("{text}-{number}"));
    }
}
