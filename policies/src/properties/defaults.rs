//! Defaults fill in what was left out, once, and nothing else.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::generated::*;
use crate::facts::Facts;
use crate::fixtures::*;
use crate::review::Review;
use crate::{complete, judge};

/// The kinds that are completed.
const COMPLETED: usize = 3;

/// Applies a JSON Patch that only adds.
fn apply(object: &Value, patch: &[u8]) -> Value {
    let operations: Vec<Value> = serde_json::from_slice(patch).expect("patch");
    operations.into_iter().fold(object.clone(), |object, operation| {
        let pointer = operation["path"].as_str().expect("path").to_owned();
        let nested = pointer.trim_start_matches('/').rsplit('/');
        merged(
            object,
            nested.fold(
                operation["value"].clone(),
                |value, part| json!({part.replace("~1", "/").replace("~0", "~"): value}),
            ),
        )
    })
}

/// Every leaf of `given` is in `whole`, unchanged.
fn keeps(given: &Value, whole: &Value) -> bool {
    match (given, whole) {
        (Value::Object(given), Value::Object(whole)) => {
            given.iter().all(|(key, value)| whole.get(key).is_some_and(|whole| keeps(value, whole)))
        }
        // `0` is the same as nothing: clients written in Go send it for an amount never set.
        (given, whole) => given == whole || *given == json!("0"),
    }
}

/// The object as it is stored.
fn completed(kind: usize, object: &Value, old: &Value, facts: &Facts, caller: &str) -> Value {
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    let text = body(kind, operation, object, old, caller);
    let Ok(review) = Review::parse(text.as_bytes()) else { return object.clone() };
    apply(object, &complete(&review, facts).patch.to_bytes())
}

fn completed_pairs() -> impl Strategy<Value = (usize, Value, Value)> {
    (0..COMPLETED).prop_flat_map(|kind| (Just(kind), specs(kind), specs(kind)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn twice_is_once_and_changes_nothing_that_was_written(
        (kind, spec, other) in completed_pairs(), platform in platforms(), caller in callers(),
    ) {
        let facts = platform.facts();
        let given = object(kind, &spec, json!({}));
        let once = completed(kind, &given, &Value::Null, &facts, caller);
        prop_assert_eq!(&completed(kind, &once, &Value::Null, &facts, caller), &once);
        prop_assert!(keeps(&given, &once), "{} in {}", given, once);
        // An update of it.
        let given = object(kind, &other, json!({}));
        let after = completed(kind, &given, &once, &facts, caller);
        prop_assert_eq!(&completed(kind, &after, &once, &facts, caller), &after);
        prop_assert!(keeps(&given, &after), "{} in {}", given, after);
    }

    /// The same file again, when every default has changed since: the spec stays as it is.
    #[test]
    fn a_file_that_is_sent_again_changes_nothing(
        (kind, spec, _) in completed_pairs(), then in platforms(), now in platforms(), text in "[a-z]{1,8}",
    ) {
        let file = object(kind, &spec, json!({}));
        let stored = completed(kind, &file, &Value::Null, &then.facts(), "eve@example.org");
        // A file that was only read, and one in which something that is not judged has changed.
        let described = merged(file.clone(), json!({"metadata": {"annotations": {"butler.butlerlabs.dev/description": text}}}));
        let again = completed(kind, &described, &stored, &now.facts(), "eve@example.org");
        prop_assert!(keeps(&stored["spec"], &again["spec"]), "{} in {}", stored, again);
        let made = body(kind, "CREATE", &stored, &Value::Null, "eve@example.org");
        // What could not be completed then, and so was not stored, may be completed now.
        if Review::parse(made.as_bytes()).is_ok_and(|review| judge(&review, &then.facts()).allows()) {
            prop_assert_eq!(&again["spec"], &stored["spec"]);
        }
        let description = json!({"metadata": {"annotations": {"butler.butlerlabs.dev/description": Value::Null}}});
        let annotations = |object: &Value| merged(object.clone(), description.clone())["metadata"]["annotations"].clone();
        let kept = annotations(&again);
        prop_assert!(kept == annotations(&stored) || kept == json!({}), "{kept} of {stored}");
    }

    /// What the user sees after defaults are their own mistakes: fields that they wrote, or things that no default can settle.
    #[test]
    fn a_completed_cluster_names_only_the_users_own_mistakes(spec in specs(0), platform in platforms()) {
        let facts = platform.facts();
        let completed = completed(0, &object(0, &spec, json!({})), &Value::Null, &facts, "ana@example.org");
        let text = body(0, "CREATE", &completed, &Value::Null, "ana@example.org");
        let Ok(review) = Review::parse(text.as_bytes()) else { return Ok(()) };
        let filled: Vec<&str> = completed["metadata"]["annotations"]["butler.butlerlabs.dev/filled-in"]
            .as_str().unwrap_or_default().split(',').collect();
        for denial in judge(&review, &facts).denials() {
            // Where a team, an environment or a provider is missing, no default can be right; and a range that is filled in
            // can be too small, or of the wrong family, for what the user wrote beside it.
            let beyond_defaults = ["tenancy-mode", "environment", "provider-access", "network"].contains(&denial.rule);
            prop_assert!(beyond_defaults || !filled.contains(&&*denial.path), "{denial:?} in {completed}");
        }
    }
}
