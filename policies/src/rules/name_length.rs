//! A cluster's name must leave room for the names that are made from it.
//!
//! Field: `metadata.name`. Allowed: a lower-case label that begins with a letter, short enough for the tenant namespace
//! `<name>-<uid8>`, which is a label of at most 63 characters. Without this rule the cluster is accepted and its namespace
//! can never be created.

use butler_api::TenantCluster;
use butler_api::names::ClusterName;

use super::{Case, name_of};
use crate::finding::Findings;

/// The name has a form or a length that derived names cannot have.
const UNUSABLE_NAME: &str = "UnusableName";

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let name = name_of(&case.object.metadata);
    // The API server makes a name up after the mutating stage; there is nothing to look at before.
    if name.is_empty() {
        return;
    }
    if let Err(error) = name.parse::<ClusterName>() {
        findings.invalid(UNUSABLE_NAME, "metadata.name", error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;
    use crate::fixtures::*;

    #[test]
    fn a_name_must_fit_what_is_made_from_it() {
        let table = [
            (json!("orders"), vec![]),
            (json!("a".repeat(54)), vec![]),
            (
                json!("a".repeat(55)),
                vec![format!(
                    "metadata.name: `{}` has 55 characters; at most 54 fit, because the namespace of the cluster, its \
                     name with `-` and 8 characters of its uid has at most 63",
                    "a".repeat(55)
                )],
            ),
            (
                json!("4orders"),
                vec![
                    "metadata.name: `4orders` does not begin with a lower-case letter; put one first".into(),
                ],
            ),
            (
                json!("orders.eu"),
                vec![
                    "metadata.name: `orders.eu` contains `.`; use only lower-case letters, digits and `-`"
                        .into(),
                ],
            ),
        ];
        for (name, expected) in table {
            let cluster = cluster(json!({"metadata": {"name": name}}));
            assert_eq!(on_create(check, &cluster, &facts()), expected);
        }
    }
}
