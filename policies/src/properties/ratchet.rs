//! However the platform changes, what exists is never frozen.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::generated::*;
use crate::finding::Finding;
use crate::fixtures::*;
use crate::review::Review;
use crate::verdict::Verdict;
use crate::{complete, judge, rules};

/// What is found by comparing old and new, and so never in an object alone.
const OF_THE_CHANGE: [&str; 11] = [
    "Immutable",
    "Downgrade",
    "SkippedMinor",
    "UpgradeUnderWay",
    "NotAMigration",
    "NotTheCreator",
    "OwnerProtected",
    "Shrinks",
    "InUse",
    "PlatformAdministrators",
    "TeamAdministrators",
];

fn verdict(body: &str, facts: &crate::Facts) -> Verdict {
    judge(&Review::parse(body.as_bytes()).expect("review"), facts)
}

/// Whether both say the same of the same field, wherever in a list it is. What is to be done about a measured one
/// may differ.
fn same(one: &Finding, other: &Finding) -> bool {
    let field = |finding: &Finding| finding.path.replace(|letter: char| letter.is_ascii_digit(), "");
    let alike = one.message == other.message || one.measure.is_some_and(|it| Some(it) == other.measure);
    alike && (one.rule, one.reason, field(one)) == (other.rule, other.reason, field(other))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A description is in a key of ours, so the update is judged; it makes nothing worse.
    #[test]
    fn an_update_that_adds_no_finding_is_allowed((kind, spec, _) in pairs(), platform in platforms(), caller in callers(), text in "[a-z]{1,8}") {
        let facts = platform.facts();
        let old = object(kind, &spec, json!({}));
        let new = object(kind, &spec, json!({"annotations": {"butler.butlerlabs.dev/description": text}}));
        let verdict = verdict(&body(kind, "UPDATE", &new, &old, caller), &facts);
        prop_assert!(verdict.allows(), "{}\n{new}", verdict.message());
    }

    #[test]
    fn an_update_is_denied_only_for_what_it_adds((kind, old, new) in pairs(), platform in platforms(), caller in callers()) {
        let facts = platform.facts();
        let (old, new) = (object(kind, &old, json!({})), object(kind, &new, json!({})));
        let text = body(kind, "UPDATE", &new, &old, caller);
        let Ok(review) = Review::parse(text.as_bytes()) else { return Ok(()) };
        let made = |object: &Value| {
            let text = body(kind, "CREATE", object, &Value::Null, "admin");
            Review::parse(text.as_bytes()).map(|review| judge(&review, &facts).findings).unwrap_or_default()
        };
        let (before, after) = (made(&old), made(&new));
        // Who would lose a provider by its new scope is asked only of a change, and nobody may be able to say.
        let is_of_the_change = |denial: &&Finding| {
            OF_THE_CHANGE.contains(&denial.reason) || (denial.reason, &*denial.path) == ("Unknown", "spec.scope")
        };
        for denial in judge(&review, &facts).denials().filter(|denial| !is_of_the_change(denial)) {
            prop_assert!(!before.iter().any(|old| same(old, denial)), "was there before: {denial:?}");
            prop_assert!(after.iter().any(|new| same(new, denial)), "is not wrong with the object: {denial:?}");
        }
    }

    /// Whoever asks, and whether or not anybody can read the object.
    #[test]
    fn finalizers_status_and_objects_on_their_way_out_always_pass(
        (kind, spec, other) in pairs(), nonsense in nonsense(), platform in platforms(), caller in callers(),
    ) {
        let facts = platform.facts();
        for spec in [&spec, &nonsense] {
            let held = object(kind, spec, json!({"finalizers": ["butler.butlerlabs.dev/tenantcluster"]}));
            let free = object(kind, spec, json!({}));
            let leaving = object(kind, &other, json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}));
            let labelled = object(kind, spec, json!({"labels": {"app.kubernetes.io/name": "theirs"}}));
            let status = body(kind, "UPDATE", &object(kind, &other, json!({})), &held, caller)
                .replace("\"dryRun\"", "\"subResource\":\"status\",\"dryRun\"");
            let updates = [&free, &leaving, &labelled].map(|new| body(kind, "UPDATE", new, &held, caller));
            for text in updates.iter().chain([&status]) {
                let review = Review::parse(text.as_bytes()).expect("review");
                prop_assert!(judge(&review, &facts).allows(), "{}\n{text}", judge(&review, &facts).message());
                prop_assert!(complete(&review, &facts).patch.is_empty());
            }
        }
    }

    /// A kind that nothing depends on can always go; another can once nobody depends on it any more.
    #[test]
    fn what_nobody_depends_on_can_be_deleted((kind, spec, _) in pairs(), nonsense in nonsense(), platform in platforms(), caller in callers()) {
        let facts = platform.facts();
        for spec in [&spec, &nonsense] {
            let text = body(kind, "DELETE", &Value::Null, &object(kind, spec, json!({})), caller);
            let review = Review::parse(text.as_bytes()).expect("review");
            let is_protected = rules::PROTECTIONS.iter().any(|protection| protection.kind == review.kind);
            let lonely = crate::Facts::default();
            let facts = if is_protected { &lonely } else { &facts };
            prop_assert!(judge(&review, facts).allows(), "{}\n{text}", judge(&review, facts).message());
        }
    }

    #[test]
    fn scaling_down_is_always_allowed(spec in specs(0), platform in platforms(), before in 2..9000_i32, less in 1..9000_i32) {
        let mut facts = platform.facts();
        let mut spec = merged(spec, json!({"workers": {"replicas": before}}));
        facts.regain(crate::facts::FactKind::Cluster);
        learn(&mut facts, &merged(object(0, &spec, json!({})), json!({"kind": "TenantCluster"})));
        spec["workers"]["replicas"] = json!((before - less).max(1));
        let scale = json!({"metadata": fields(0).metadata, "spec": {"replicas": spec["workers"]["replicas"]}});
        let text = body(0, "UPDATE", &scale, &scale, "eve@example.org")
            .replace("\"dryRun\"", "\"subResource\":\"scale\",\"dryRun\"");
        let verdict = verdict(&text, &facts);
        prop_assert!(verdict.allows(), "{}\n{spec}", verdict.message());
    }
}
