//! What is invalid is refused by the schema alone, for one reason, with a message that says what is wrong.
//!
//! A file of `corpus/invalid` has the smallest valid object of a kind, and cases that each change one thing about it. A
//! case that changes the status is sent to the status subresource.

use butler_bench::ControlPlane;
use kube::core::Status;
use serde::Deserialize;
use serde_json::Value;

use crate::corpus::{File, merge, text};
use crate::platform::{definitions, dry_run, dry_run_status, platform};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refusals {
    minimal: Value,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    patch: Value,
    message: String,
}

#[tokio::test]
async fn every_invalid_object_is_refused_for_one_reason_with_a_message_that_names_it() {
    let plane = platform().await;
    let namespace = plane.namespace().await.unwrap();
    let files = File::folder("invalid");
    let checks = files.iter().map(|file| {
        let (refusals, namespace) = (file.document::<Refusals>(), namespace.clone());
        tokio::spawn(async move { check(plane, &namespace, refusals).await })
    });
    let (mut refused, mut surprises) = (0, Vec::new());
    for check in checks.collect::<Vec<_>>() {
        let (cases, found) = check.await.unwrap();
        refused += cases;
        surprises.extend(found);
    }
    println!("invalid objects: {refused}, refused as expected: {}", refused - surprises.len());
    assert_eq!(files.len(), definitions().len(), "one file for each kind");
    assert!(surprises.is_empty(), "{}", surprises.join("\n\n"));
}

async fn check(plane: &ControlPlane, namespace: &str, refusals: Refusals) -> (usize, Vec<String>) {
    let Refusals { minimal, cases } = refusals;
    let create = ["create", "--validate=strict", "-n", namespace, "-f", "-"];
    plane.kubectl_with_input(&create, &minimal.to_string()).await.unwrap().success().unwrap();
    let replace = ["replace", "--subresource=status", "--validate=strict", "-n", namespace, "-f", "-"];
    let mut surprises = Vec::new();
    for case in &cases {
        let mut object = minimal.clone();
        merge(&mut object, &case.patch);
        let in_status = case.patch.get("status").is_some();

        let (refusal, command) = match in_status {
            true => (dry_run_status(plane, namespace, &object).await, &replace[..]),
            false => (dry_run(plane, namespace, &object).await, &create[..]),
        };
        let reasons = refusal.map_or_else(|status| reasons(&status), |_| Vec::new());
        let output = plane.kubectl_with_input(command, &object.to_string()).await.unwrap();
        let message = trimmed(&output.stderr);
        if reasons.len() != 1 || output.status.success() || message != trimmed(&case.message) {
            surprises.push(format!(
                "{}, {}: {} reasons {reasons:?}\nexpected: {}\nkubectl says: {message}",
                text(&minimal, "/kind"),
                case.name,
                reasons.len(),
                case.message,
            ));
        }
    }
    (cases.len(), surprises)
}

/// Without the spaces that kubectl leaves at the ends of lines, which editors would remove from the corpus.
fn trimmed(message: &str) -> String {
    message.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Why the API server refused.
fn reasons(status: &Status) -> Vec<String> {
    // A field that the schema does not know is found before validation, and its message lists all such fields.
    if let Some((_, fields)) = status.message.split_once("strict decoding error: ") {
        return fields.split(", ").map(str::to_owned).collect();
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    // Not a reason but the remark that CEL rules wait until the object has the right shape.
    let is_remark = |message: &str| message.contains("some validation rules were not checked");
    causes
        .filter(|cause| !is_remark(&cause.message))
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect()
}
