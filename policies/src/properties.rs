//! What holds for every review, however the platform has changed since the object was admitted.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::facts::Facts;
use crate::fixtures::*;
use crate::judge::standing;
use crate::review::Review;
use crate::{complete, judge};

fn specs() -> impl Strategy<Value = Value> {
    let version = prop_oneof![
        Just(Value::Null),
        Just(json!("v1.30.2")),
        Just(json!("v1.31.4")),
        Just(json!("v1.36.0")),
        Just(json!("1"))
    ];
    let replicas =
        prop_oneof![Just(Value::Null), Just(json!(0)), Just(json!(3)), Just(json!(300)), Just(json!(9000))];
    let os =
        prop_oneof![Just(Value::Null), Just(json!("talos")), Just(json!("rocky")), Just(json!("kairos"))];
    let cidr = prop_oneof![
        Just(Value::Null),
        Just(json!("10.96.0.0/16")),
        Just(json!("fd00::/48")),
        Just(json!("nonsense"))
    ];
    let team =
        prop_oneof![Just(Value::Null), Just(json!({"name": "payments"})), Just(json!({"name": "gone"}))];
    let provider =
        prop_oneof![Just(Value::Null), Just(json!({"name": "harvester-a"})), Just(json!({"name": "gone"}))];
    let memory = prop_oneof![
        Just(Value::Null),
        Just(json!("0")),
        Just(json!("1Mi")),
        Just(json!("8Gi")),
        Just(json!("x"))
    ];
    (version, replicas, os, cidr, team, provider, memory).prop_map(|(version, replicas, os, cidr, team, provider, memory)| {
        json!({
            "kubernetesVersion": version, "teamRef": team, "providerConfigRef": provider, "networking": {"podCIDR": cidr},
            "workers": {"replicas": replicas, "machineTemplate": {"memory": memory, "os": {"type": os}}}
        })
    })
}

fn platforms() -> impl Strategy<Value = Facts> {
    let mode = prop_oneof![Just("Enforced"), Just("Optional"), Just("Disabled")];
    let versions =
        prop_oneof![Just(json!([])), Just(json!(["v1.30.2"])), Just(json!(["v1.31.4", "v1.29.1"]))];
    (mode, versions, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(mode, versions, ready, environments, pinned)| {
        let mut objects = vec![
            config(json!({"spec": {"multiTenancy": {"mode": mode}, "defaultProviderConfigRef": {"name": "harvester-a"}}})),
            team(json!({"spec": {
                "resourceLimits": {"allowedKubernetesVersions": versions},
                "environments": if environments { json!([{"name": "dev"}]) } else { json!([]) }
            }})),
            provider(json!({"status": {"ready": ready}})),
        ];
        if pinned {
            objects.push(creation_policy(json!({"spec": {"options": {"image": {"values": ["default/pinned"]}}}})));
        }
        facts_with(&objects)
    })
}

fn object(spec: &Value, metadata: Value) -> Value {
    json!({"metadata": merged(json!({"name": "orders", "namespace": "payments"}), metadata), "spec": spec})
}

fn body(operation: &str, new: &Value, old: &Value) -> String {
    review_body(operation, "tenantclusters", new, old, "ana@example.org")
}

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

fn without_nulls(value: &Value) -> Value {
    merged(json!({}), value.clone())
}

/// Every leaf of `given` is in `whole`, unchanged.
fn keeps(given: &Value, whole: &Value) -> bool {
    match (given, whole) {
        (Value::Object(given), Value::Object(whole)) => {
            given.iter().all(|(key, value)| whole.get(key).is_some_and(|whole| keeps(value, whole)))
        }
        // `null` is the same as nothing, and so is `0`, which clients written in Go send for an amount never set.
        (given, whole) => given == whole || given.is_null() || *given == json!("0"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_update_that_adds_no_finding_is_allowed(spec in specs(), facts in platforms(), label in "[a-z]{1,8}") {
        let old = object(&without_nulls(&spec), json!({}));
        let mut new = old.clone();
        new["spec"]["timeServers"] = json!([label]);
        let text = body("UPDATE", &new, &old);
        let verdict = judge(&Review::parse(text.as_bytes()).expect("review"), &facts);
        prop_assert!(verdict.allows(), "{}", verdict.message());
    }

    #[test]
    fn an_update_is_denied_only_for_what_is_new(old in specs(), new in specs(), facts in platforms()) {
        let (old, new) = (object(&without_nulls(&old), json!({})), object(&without_nulls(&new), json!({})));
        let text = body("UPDATE", &new, &old);
        let verdict = judge(&Review::parse(text.as_bytes()).expect("review"), &facts);
        let before = standing(&serde_json::from_value(old).expect("old"), &facts);
        for denial in verdict.denials() {
            prop_assert!(!before.iter().any(|old| old.path == denial.path && old.message == denial.message), "{denial:?}");
        }
    }

    #[test]
    fn deletion_finalizers_and_objects_on_their_way_out_always_pass(spec in specs(), other in specs(), facts in platforms()) {
        let spec = without_nulls(&spec);
        let held = object(&spec, json!({"finalizers": ["butler.butlerlabs.dev/tenantcluster"]}));
        let free = object(&spec, json!({}));
        let leaving = object(&without_nulls(&other), json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}));
        for text in [body("UPDATE", &free, &held), body("DELETE", &Value::Null, &held), body("UPDATE", &leaving, &held)] {
            let review = Review::parse(text.as_bytes()).expect("review");
            prop_assert!(judge(&review, &facts).allows());
            prop_assert!(complete(&review, &facts).patch.is_empty());
        }
    }

    #[test]
    fn defaults_twice_are_defaults_once_and_change_nothing_that_was_written(spec in specs(), facts in platforms()) {
        let given = object(&without_nulls(&spec), json!({}));
        let once = |object: &Value| {
            let text = body("CREATE", object, &Value::Null);
            apply(object, &complete(&Review::parse(text.as_bytes()).expect("review"), &facts).patch.to_bytes())
        };
        let completed = once(&given);
        prop_assert_eq!(&once(&completed), &completed);
        prop_assert!(keeps(&given, &completed), "{} in {}", given, completed);
        // What the user sees afterwards are their own mistakes: fields that they wrote, or things no default can settle.
        let text = body("CREATE", &completed, &Value::Null);
        let verdict = judge(&Review::parse(text.as_bytes()).expect("review"), &facts);
        let written: Vec<&str> = completed["metadata"]["annotations"]["butler.butlerlabs.dev/filled-in"]
            .as_str().unwrap_or_default().split(',').collect();
        for denial in verdict.denials() {
            // Where a team, an environment or a provider is missing, no default can be right; and a range that is filled in
            // can be too small, or of the wrong family, for what the user wrote beside it.
            let beyond_defaults = ["tenancy-mode", "environment", "provider-access", "network"].contains(&denial.rule);
            prop_assert!(beyond_defaults || !written.contains(&&*denial.path), "{denial:?} in {completed}");
        }
    }

    #[test]
    fn no_mutation_of_a_review_panics(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let text = body("UPDATE", &cluster_json(json!({})), &cluster_json(json!({"spec": {"workers": {"replicas": 1}}})));
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let facts = facts();
        for bytes in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
            if let Ok(review) = Review::parse(bytes) {
                let verdict = judge(&review, &facts);
                let completion = complete(&review, &facts);
                let answers = [
                    crate::verdict::answer_verdict(&review.uid, &verdict),
                    crate::verdict::answer_patch(&review.uid, &completion.patch),
                ];
                for answer in answers {
                    let answer: Value = serde_json::from_slice(&answer).expect("an answer");
                    prop_assert_eq!(answer["response"]["uid"].as_str(), Some(&*review.uid));
                }
            }
        }
    }
}
