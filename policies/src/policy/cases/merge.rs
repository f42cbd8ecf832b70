//! JSON merge patches (RFC 7396): how cases say what differs. They nest as deep as the YAML they come from may.

use serde_json::{Map, Value as Json};

/// Changes a value by a patch.
pub(super) fn merge(target: &mut Json, patch: &Json) {
    let Json::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Json::Object(Map::new());
    }
    let Json::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.as_str()).or_insert(Json::Null), value);
        }
    }
}

/// The value changed by several patches.
pub(super) fn merged<'p>(mut target: Json, patches: impl IntoIterator<Item = Option<&'p Json>>) -> Json {
    for patch in patches.into_iter().flatten() {
        merge(&mut target, patch);
    }
    target
}

/// The patch that makes one value the other.
pub(super) fn patch_between(before: &Json, after: &Json) -> Json {
    let (Json::Object(before), Json::Object(after)) = (before, after) else { return after.clone() };
    let mut patch = Map::new();
    for (key, value) in after {
        match before.get(key) {
            Some(old) if old == value => {}
            Some(old) => drop(patch.insert(key.clone(), patch_between(old, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        patch.insert(key.clone(), Json::Null);
    }
    Json::Object(patch)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{merged, patch_between};

    #[test]
    fn the_patch_between_two_values_makes_one_the_other() {
        for (before, after, patch) in [
            (json!({"a": 1}), json!({"a": 1}), json!({})),
            (json!({"a": 1}), json!({"a": 2}), json!({"a": 2})),
            (json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": 1}}), json!({"a": {"c": null}})),
            (json!({"a": [1, 2]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"a": 1}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}})),
        ] {
            assert_eq!(patch_between(&before, &after), patch);
            assert_eq!(merged(before, [Some(&patch)]), after);
        }
    }
}
