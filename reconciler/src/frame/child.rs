//! What has to happen to one child, so that it is as it should be. Pure.
//!
//! A child is desired as the body of a server-side apply: only the fields that we own. It is written only if something
//! of that is not so, or if we own something that is not desired any more. What a step does to something that is there
//! ([`Hand::set_right`](super::Hand::set_right)) and what it makes ([`Hand::make`](super::Hand::make)) are done apart, so
//! that nobody who is to lose something keeps it until something else could be made.

use std::fmt;
use std::sync::Arc;

use butler_api::labels::{MANAGED_BY, MANAGED_BY_BUTLER};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::Resource;
use serde::Serialize;
use serde_json::Value;

/// What has to happen to a child.
#[derive(Clone, Debug)]
pub enum Step<L> {
    /// Nothing.
    Keep(Arc<L>),
    /// It is made.
    Make(Value),
    /// It is changed.
    Change {
        /// What it should be.
        to: Value,
        /// As it was seen. It is written over nothing else.
        from: Arc<L>,
        /// Who else had written what we own.
        others: Vec<String>,
    },
    /// It is removed and made again, because something in it cannot be changed.
    Replace {
        /// What it should be.
        to: Value,
        /// As it was seen.
        from: Arc<L>,
    },
    /// It is removed.
    Remove(Arc<L>),
}

impl<L> Step<L> {
    /// Whether nothing has to be written.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Keep(_))
    }
}

/// What has to happen to a child of ours. `fixed` are its fields that can never change.
pub fn step<L>(desired: Value, live: Option<Arc<L>>, manager: &str, fixed: &[&str]) -> Step<L>
where
    L: Resource<DynamicType = ()> + Serialize,
{
    let Some(from) = live else { return Step::Make(desired) };
    let Ok(seen) = serde_json::to_value(&*from) else {
        return Step::Change { to: desired, from, others: Vec::new() };
    };
    if fixed.iter().any(|field| seen.get(field) != desired.get(field)) {
        return Step::Replace { to: desired, from };
    }
    if is_so(&seen, &desired) && owns_nothing_else(from.meta(), &desired, manager) {
        return Step::Keep(from);
    }
    let others = if is_so(&seen, &desired) { Vec::new() } else { holders(from.meta(), &desired, manager) };
    Step::Change { to: desired, from, others }
}

/// Puts a field into an object.
pub fn put(object: &mut Value, field: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

/// Whether Butler made an object, or was given it.
pub fn is_butlers(metadata: &ObjectMeta) -> bool {
    label(metadata, MANAGED_BY) == Some(MANAGED_BY_BUTLER)
}

/// A label's value.
pub fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

/// Whether a live object has everything that is desired.
fn is_so(live: &Value, desired: &Value) -> bool {
    let Some(fields) = desired.as_object() else { return false };
    fields.iter().all(|(key, wanted)| match key.as_str() {
        // A watch of metadata tells of another kind.
        "apiVersion" | "kind" => true,
        "metadata" => metadata_is_so(live.get(key), wanted),
        _ => live.get(key).is_some_and(|present| covers(present, wanted)),
    })
}

fn metadata_is_so(live: Option<&Value>, desired: &Value) -> bool {
    let (Some(live), Some(fields)) = (live, desired.as_object()) else { return false };
    fields.iter().all(|(key, wanted)| match (key.as_str(), live.get(key), wanted) {
        // Others may add theirs.
        ("ownerReferences" | "finalizers", Some(Value::Array(present)), Value::Array(wanted)) => {
            wanted.iter().all(|one| present.iter().any(|other| covers(other, one)))
        }
        (_, Some(present), wanted) => covers(present, wanted),
        (_, None, _) => false,
    })
}

/// Maps may hold more than is wanted. Lists may not: another subject in a binding is another member.
fn covers(present: &Value, wanted: &Value) -> bool {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => {
            wanted.iter().all(|(key, one)| present.get(key).is_some_and(|other| covers(other, one)))
        }
        (present, wanted) => present == wanted,
    }
}

/// Whether we have applied the object before, and own nothing that is not desired any more.
fn owns_nothing_else(metadata: &ObjectMeta, desired: &Value, manager: &str) -> bool {
    let entries = metadata.managed_fields.iter().flatten();
    let mut own =
        entries.filter(|entry| is_main(entry) && entry.manager.as_deref() == Some(manager)).peekable();
    own.peek().is_some()
        && own.filter_map(|entry| entry.fields_v1.as_ref()).all(|fields| is_within(&fields.0, desired))
}

fn is_main(entry: &ManagedFieldsEntry) -> bool {
    entry.subresource.as_deref().is_none_or(str::is_empty)
}

/// Whether all fields of a field set are in the value. What is inside lists is compared as a whole elsewhere.
fn is_within(fields: &Value, value: &Value) -> bool {
    let Some(fields) = fields.as_object() else { return true };
    fields.iter().all(|(key, inner)| match key.strip_prefix("f:") {
        Some(name) => value.get(name).is_some_and(|value| is_within(inner, value)),
        None => true,
    })
}

/// Who besides us holds a field that is desired.
fn holders(metadata: &ObjectMeta, desired: &Value, manager: &str) -> Vec<String> {
    let entries = metadata.managed_fields.iter().flatten();
    let others = entries.filter(|entry| is_main(entry) && entry.manager.as_deref() != Some(manager));
    let holding = others.filter(|entry| entry.fields_v1.as_ref().is_some_and(|it| overlaps(&it.0, desired)));
    let mut names: Vec<String> = holding.filter_map(|entry| entry.manager.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn overlaps(fields: &Value, value: &Value) -> bool {
    let Some(fields) = fields.as_object() else { return false };
    fields.iter().any(|(key, inner)| {
        let Some(value) = key.strip_prefix("f:").and_then(|name| value.get(name)) else { return false };
        let is_leaf = inner.as_object().is_none_or(|inner| !inner.keys().any(|key| key.starts_with("f:")));
        is_leaf || overlaps(inner, value)
    })
}

impl<L: Resource<DynamicType = ()>> fmt::Display for Step<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let live = |it: &L| it.meta().name.clone().unwrap_or_default();
        let named = |value: &Value| {
            value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (verb, name) = match self {
            Self::Keep(it) => ("keep", live(it)),
            Self::Make(it) => ("make", named(it)),
            Self::Change { to, .. } => ("change", named(to)),
            Self::Replace { to, .. } => ("replace", named(to)),
            Self::Remove(it) => ("remove", live(it)),
        };
        write!(f, "{verb} {} {name}", L::kind(&()))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::rbac::v1::RoleBinding;
    use serde_json::json;

    use super::*;

    const MANAGER: &str = "butler-reconciler/team";

    fn desired() -> Value {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": { "name": "b", "namespace": "n", "labels": { "team": "n" } },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "viewer" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ana@example.org" }],
        })
    }

    /// As the API server has it after we applied it.
    fn live(tweak: impl FnOnce(&mut Value)) -> Option<Arc<RoleBinding>> {
        let mut value = desired();
        value["metadata"]["uid"] = json!("u");
        value["metadata"]["managedFields"] = json!([{
            "manager": MANAGER, "operation": "Apply", "fieldsType": "FieldsV1",
            "fieldsV1": { "f:metadata": { "f:labels": { "f:team": {} } }, "f:roleRef": {}, "f:subjects": {} },
        }]);
        tweak(&mut value);
        Some(Arc::new(serde_json::from_value(value).unwrap()))
    }

    fn shown(live: Option<Arc<RoleBinding>>) -> String {
        let step = step(desired(), live, MANAGER, &["roleRef"]);
        match &step {
            Step::Change { others, .. } => format!("{step} {others:?}"),
            step => step.to_string(),
        }
    }

    #[test]
    fn a_child_is_written_only_if_it_is_not_as_it_should_be() {
        assert_eq!(shown(None), "make RoleBinding b");
        assert_eq!(shown(live(|_| {})), "keep RoleBinding b");
        let with_more = live(|it| {
            it["metadata"]["labels"]["theirs"] = json!("x");
            it["metadata"]["annotations"] = json!({ "theirs": "x" });
        });
        assert_eq!(shown(with_more), "keep RoleBinding b");
        assert_eq!(shown(live(|it| it["metadata"]["labels"] = json!({}))), "change RoleBinding b []");
        let joined = live(|it| {
            let eve =
                json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve@example.org" });
            it["subjects"].as_array_mut().unwrap().push(eve);
        });
        assert_eq!(shown(joined), "change RoleBinding b []");
    }

    #[test]
    fn what_can_never_change_is_replaced() {
        let live = live(|it| it["roleRef"]["name"] = json!("cluster-admin"));
        assert_eq!(shown(live), "replace RoleBinding b");
    }

    #[test]
    fn what_we_own_and_do_not_want_any_more_goes() {
        let live = live(|it| {
            it["metadata"]["annotations"] = json!({ "description": "old" });
            it["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:annotations"] =
                json!({ "f:description": {} });
        });
        assert_eq!(shown(live), "change RoleBinding b []");
    }

    #[test]
    fn what_others_made_the_same_is_applied_once_to_own_it() {
        let live = live(|it| it["metadata"]["managedFields"][0]["manager"] = json!("kubectl"));
        assert_eq!(shown(live), "change RoleBinding b []");
    }

    #[test]
    fn whoever_has_written_what_is_ours_is_named() {
        let live = live(|it| {
            it["metadata"]["labels"]["team"] = json!("other");
            it["metadata"]["managedFields"].as_array_mut().unwrap().push(json!({
                "manager": "kubectl-label", "operation": "Update", "fieldsType": "FieldsV1",
                "fieldsV1": { "f:metadata": { "f:labels": { "f:team": {} } } },
            }));
            it["metadata"]["managedFields"].as_array_mut().unwrap().push(json!({
                "manager": "theirs", "operation": "Update", "fieldsType": "FieldsV1",
                "fieldsV1": { "f:metadata": { "f:labels": { "f:theirs": {} } } },
            }));
        });
        assert_eq!(shown(live), r#"change RoleBinding b ["kubectl-label"]"#);
    }
}
