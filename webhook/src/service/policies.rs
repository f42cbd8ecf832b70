//! `policies`: everything that is in force, one object each. Built-in rules, and the policies of files.

mod files;
mod object;
mod rules;

use std::sync::Arc;

use serde_json::Value;

pub(super) use self::files::name_of;
pub(super) use self::object::Policy;
use super::collection::{Collection, Stored};
use super::resources::Resource;
use super::table::{Column, at};
use crate::policy_files::Policies;

pub(super) const RESOURCE: Resource = Resource {
    plural: "policies",
    singular: "policy",
    kind: "Policy",
    is_namespaced: false,
    verbs: &["get", "list", "watch"],
    about: "What objects are judged by at admission: built-in rules, and policies of files.",
    columns: COLUMNS,
    schema: |generator| generator.subschema_for::<Policy>(),
};

const COLUMNS: &[Column] = &[
    Column { name: "Name", about: "The name.", is_wide: false, cell: |it| text(at(it, "/metadata/name")) },
    Column {
        name: "Action",
        about: "What it does.",
        is_wide: false,
        cell: |it| words(at(it, "/spec/actions")),
    },
    Column {
        name: "Kinds",
        about: "What it is about.",
        is_wide: false,
        cell: |it| words(at(it, "/spec/kinds")),
    },
    Column { name: "Source", about: "Where it is written.", is_wide: false, cell: source },
    Column {
        name: "Summary",
        about: "What it checks.",
        is_wide: false,
        cell: |it| text(at(it, "/spec/summary")),
    },
    Column {
        name: "Operations",
        about: "When.",
        is_wide: true,
        cell: |it| words(at(it, "/spec/operations")),
    },
    Column {
        name: "Portable",
        about: "Whether kube-apiserver could judge by it.",
        is_wide: true,
        cell: portable,
    },
    Column {
        name: "Problems",
        about: "How much there is to say about its file.",
        is_wide: true,
        cell: problems,
    },
    Column { name: "Hash", about: "What tells its files from others.", is_wide: true, cell: hash },
];

/// Keeps the collection at what is in force. Never ends; drop it to stop.
pub(super) async fn follow(policies: Arc<Policies>, collection: &Collection) {
    let mut changes = policies.changes();
    loop {
        changes.borrow_and_update();
        let in_force = policies.current();
        let files = in_force.iter().flat_map(|in_force| files::all(in_force));
        let all = rules::all().into_iter().chain(files);
        collection.replace(all.map(|policy| Stored::new(policy.into_value())));
        if changes.changed().await.is_err() {
            // Nobody can change them any more.
            return std::future::pending().await;
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A list as one text.
fn words(value: &Value) -> String {
    let words: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if words.is_empty() { "<none>".to_owned() } else { words.join(",") }
}

fn source(policy: &Value) -> String {
    let source = at(policy, "/spec/source");
    match (at(source, "/file").as_str(), at(source, "/line").as_u64()) {
        // The name is enough to find it; all of the path is in the object.
        (Some(file), Some(line)) => format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)),
        _ => "built-in".to_owned(),
    }
}

fn portable(policy: &Value) -> String {
    if at(policy, "/spec/portable") == true { "yes".to_owned() } else { "no".to_owned() }
}

fn problems(policy: &Value) -> String {
    at(policy, "/status/problems").as_array().map_or(0, Vec::len).to_string()
}

/// Enough of it to tell two apart.
fn hash(policy: &Value) -> String {
    let hash = at(policy, "/spec/source/hash").as_str().unwrap_or("<none>");
    hash.get(..12).unwrap_or(hash).to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use butler_policies::policy::{PolicySet, SourceFile};

    use super::*;

    const FILE: &str = include_str!("../../../manifests/samples/policies/three-workers.yaml");

    fn set(text: &str) -> PolicySet {
        let file = SourceFile { path: "three-workers.yaml".to_owned(), text: text.to_owned() };
        PolicySet::load(&[file]).unwrap().set
    }

    async fn until(collection: &Collection, is_so: impl Fn(&Collection) -> bool) {
        let mut follower = collection.follow();
        while !is_so(collection) {
            tokio::time::timeout(Duration::from_secs(60), follower.changed()).await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn what_is_loaded_is_shown_and_what_is_gone_is_not() {
        let policies = Arc::new(Policies::awaited());
        let collection = Arc::new(Collection::new("policies"));
        let following = tokio::spawn({
            let (policies, collection) = (policies.clone(), collection.clone());
            async move { follow(policies, &collection).await }
        });
        let count = |collection: &Collection| collection.now().now().objects.len();
        let rules = rules::all().len();
        until(&collection, |collection| count(collection) == rules).await;
        policies.replace(set(FILE));
        until(&collection, |collection| count(collection) == rules + 1).await;
        let key = (String::new(), "validating.three-workers".to_owned());
        let shown = collection.now().now().objects[&key].at(1);
        let cells: Vec<String> = COLUMNS.iter().map(|column| (column.cell)(&shown)).collect();
        let hash = set(FILE).hash()[..12].to_owned();
        assert_eq!(
            cells,
            [
                "validating.three-workers",
                "Deny",
                "TenantCluster",
                "three-workers.yaml:1",
                "object.spec.workers.replicas >= 3",
                "CREATE,UPDATE",
                "yes",
                "0",
                &hash,
            ]
        );
        policies.replace(PolicySet::default());
        until(&collection, |collection| count(collection) == rules).await;
        following.abort();
    }
}
