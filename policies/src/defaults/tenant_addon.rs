//! What a TenantAddon leaves out: the version of its chart comes from its AddonDefinition.
//!
//! The namespace of the release is not written: a TenantAddon from the catalogue has no field for it, it always is the
//! definition's.

use butler_api::TenantAddon;
use butler_api::wire::given;

use super::Completion;
use super::patch::Fills;
use crate::facts::{FactKey, Facts, Lookup};
use crate::review::{Change, Review};

pub(crate) fn complete(review: &Review<'_>, change: &Change<TenantAddon>, facts: &Facts) -> Completion {
    let (addon, old) = match change {
        Change::Create(addon) => (addon, None),
        Change::Update { old, new } => (new, Some(old)),
        Change::Delete(_) => return Completion::default(),
    };
    let (None, Some(name)) = (given(&addon.spec.version), addon.spec.addon()) else {
        return Completion::default();
    };
    let mut fills = Fills::default();
    let kept = old.filter(|old| old.spec.addon() == Some(name)).and_then(|old| given(&old.spec.version));
    match (kept, facts.definition(name)) {
        (Some(version), _) => fills.add("spec.version", version),
        (None, Lookup::Found(definition)) if !definition.spec.chart.default_version.is_empty() => {
            fills.add("spec.version", definition.spec.chart.default_version.as_str());
        }
        (None, Lookup::Found(_)) => {}
        (None, Lookup::Absent | Lookup::Unknown) => {
            return Completion {
                missing: vec![FactKey::Definition(name.to_owned())],
                ..Completion::default()
            };
        }
    }
    Completion { patch: fills.into_patch(review.object), missing: Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::fixtures::*;
    use crate::review::Review;
    use crate::{FactKey, complete};

    fn version(operation: &str, object: &Value, old: &Value) -> (Value, Vec<FactKey>) {
        let body = review_body(operation, "tenantaddons", object, old, "ana@example.org");
        let completion = complete(&Review::parse(body.as_bytes()).expect("review"), &facts());
        let patch: Value = serde_json::from_slice(&completion.patch.to_bytes()).expect("patch");
        (patch[0]["value"].clone(), completion.missing)
    }

    #[test]
    fn the_version_is_the_old_one_else_the_catalogues() {
        let bare = addon_json(json!({"spec": {"version": null}}));
        assert_eq!(version("CREATE", &bare, &Value::Null), (json!("7.7.5"), vec![]));
        let old = addon_json(json!({"spec": {"version": "7.0.0"}}));
        assert_eq!(version("UPDATE", &bare, &old), (json!("7.0.0"), vec![]));
        assert_eq!(version("CREATE", &addon_json(json!({})), &Value::Null), (Value::Null, vec![]));
        let unknown = addon_json(json!({"spec": {"version": null, "addon": "late"}}));
        assert_eq!(
            version("CREATE", &unknown, &Value::Null),
            (Value::Null, vec![FactKey::Definition("late".into())])
        );
    }
}
