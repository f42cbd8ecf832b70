//! Every rule, on a real API server, over TLS, as kubectl prints it. The cases are data: see `cases/README.md`.

mod bless;
mod case;
mod platform;
mod reviews;

use std::collections::BTreeSet;
use std::time::Duration;

use butler_bench::ControlPlane;
use butler_policies::rules;
use futures::StreamExt;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use self::bless::Seen;
use self::case::{By, Operation, Person, Planned, place};
use self::platform::{Changed, Platform};

/// As many kubectls at once as keep two processors busy.
const BESIDE_EACH_OTHER: usize = 4;
/// The gate sees a change of the platform a moment after the API server has stored it; kubectl takes longer to start.
const SETTLING: Duration = Duration::from_millis(50);
/// A case whose platform was changed may be answered from before the change for this long.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_rule_answers_as_its_cases_say() {
    let gate = crate::harness::start().await;
    let plane = gate.plane();
    let minimal = case::documents(&case::directory().join("minimal.yaml"));
    let platform = Platform::set_up(plane, &minimal).await;
    let planned = case::plan(&minimal);
    sleep(SETTLING).await;

    let (alone, others): (Vec<&Planned>, Vec<&Planned>) = planned.iter().partition(|it| it.is_alone());
    let mut surprises: Vec<String> = futures::stream::iter(alone)
        .map(|it| run(plane, &platform, it))
        .buffer_unordered(BESIDE_EACH_OTHER)
        .filter_map(|surprise| async move { surprise })
        .collect()
        .await;
    for it in others {
        surprises.extend(run(plane, &platform, it).await);
    }
    surprises.extend(uncovered(&planned));
    assert!(surprises.is_empty(), "{} surprises\n\n{}", surprises.len(), surprises.join("\n\n"));
    println!("cases: {}, rules: {}", planned.len(), rule_ids().len());
}

/// Runs a case, tidies up after it, and says what was not as expected.
async fn run(plane: &ControlPlane, platform: &Platform, planned: &Planned) -> Option<String> {
    let mut changed = Changed::default();
    let surprise = match set_up(plane, platform, planned, &mut changed).await {
        Ok(()) => until_as_expected(plane, planned).await,
        Err(error) => Some(error),
    };
    let made = planned.old.as_ref().or(planned.case.stored.then_some(&planned.object));
    let tidied = platform.restore(&changed, made).await;
    let surprise = surprise.or(tidied.err())?;
    Some(format!("{}: {}\n{surprise}", planned.topic, planned.case.name))
}

async fn set_up(
    plane: &ControlPlane,
    platform: &Platform,
    planned: &Planned,
    changed: &mut Changed,
) -> Result<(), String> {
    if let Some(old) = &planned.old {
        let person = planned.case.old_by.as_ref().unwrap_or(&planned.caller);
        let user = plane.user(person.name(), &person.groups()).unwrap();
        platform.store(&user.client().await.unwrap(), old).await?;
    }
    platform.change(&planned.case.platform, changed).await
}

/// Asks, again for a while if the platform was changed, because the gate may answer from before the change.
async fn until_as_expected(plane: &ControlPlane, planned: &Planned) -> Option<String> {
    let (case, started) = (&planned.case, Instant::now());
    loop {
        if !planned.is_alone() {
            sleep(if bless::is_asked_for() { 6 * SETTLING } else { SETTLING }).await;
        }
        let (succeeded, seen) = ask(plane, planned).await;
        let surprise = compare(planned, succeeded, &seen);
        if surprise.is_some() && bless::is_asked_for() && succeeded == case.admitted.is_some() {
            bless::write(planned, &seen);
            return None;
        }
        if surprise.is_none() || case.stored || planned.is_alone() || started.elapsed() > PATIENCE {
            return surprise;
        }
    }
}

/// What kubectl does and prints.
async fn ask(plane: &ControlPlane, planned: &Planned) -> (bool, Seen) {
    let case = &planned.case;
    let (kind, namespace, name) = place(&planned.object);
    let kubeconfig = kubeconfig(plane, &planned.caller);
    let kind = kind.to_lowercase();
    let replicas = format!("--replicas={}", case.replicas.unwrap_or_default());
    let mut args = match case.operation {
        Operation::Create => vec!["create", "-f", "-"],
        Operation::Update => vec!["replace", "-f", "-"],
        Operation::Delete => vec!["delete", &kind, &name, "--wait=false"],
        Operation::Scale => vec!["scale", &kind, &name, &replicas],
    };
    args.push(&kubeconfig);
    if !case.stored {
        args.push("--dry-run=server");
    }
    let sends = matches!(case.operation, Operation::Create | Operation::Update);
    if !sends && !namespace.is_empty() {
        args.extend(["-n", &namespace]);
    }
    if case.patch.is_some() {
        args.extend(["-o", "json"]);
    }
    let input = if sends { planned.object.to_string() } else { String::new() };
    let output = plane.kubectl_with_input(&args, &input).await.unwrap();
    let succeeded = output.status.success();
    if case.patch.is_some() && succeeded {
        let returned: Value = serde_json::from_str(&output.stdout).unwrap();
        let patch = case::filled_in(&planned.object, &returned);
        return (true, Seen { prints: output.stderr, patch: Some(patch) });
    }
    (succeeded, Seen { prints: output.stdout + &output.stderr, patch: None })
}

fn kubeconfig(plane: &ControlPlane, person: &Person) -> String {
    let user = plane.user(person.name(), &person.groups()).unwrap();
    format!("--kubeconfig={}", user.kubeconfig().display())
}

fn compare(planned: &Planned, succeeded: bool, seen: &Seen) -> Option<String> {
    let case = &planned.case;
    let expected = case.admitted.as_ref().or(case.denied.as_ref());
    let as_expected =
        succeeded == case.admitted.is_some() && expected == Some(&seen.prints) && case.patch == seen.patch;
    let indented = |text: &str| text.replace('\n', "\n    ");
    (!as_expected).then(|| {
        format!(
            "  expected {}\n    {}\n    {}\n  {}\n    {}\n    {}",
            if case.admitted.is_some() { "success" } else { "failure" },
            indented(expected.map_or("", String::as_str)),
            indented(case.patch.as_deref().unwrap_or_default()),
            if succeeded { "succeeded" } else { "failed" },
            indented(&seen.prints),
            indented(seen.patch.as_deref().unwrap_or_default()),
        )
    })
}

fn rule_ids() -> BTreeSet<&'static str> {
    let clusters = rules::TENANT_CLUSTER.iter().map(|rule| rule.id);
    let protections = rules::PROTECTIONS.iter().map(|protection| protection.id);
    clusters
        .chain(rules::TENANT_ADDON.iter().map(|rule| rule.id))
        .chain(rules::TEAM.iter().map(|rule| rule.id))
        .chain(rules::BUTLER_CONFIG.iter().map(|rule| rule.id))
        .chain(rules::PROVIDER_CONFIG.iter().map(|rule| rule.id))
        .chain(rules::NETWORK_POOL.iter().map(|rule| rule.id))
        .chain(rules::ADDON_DEFINITION.iter().map(|rule| rule.id))
        .chain(rules::CLUSTER_CREATION_POLICY.iter().map(|rule| rule.id))
        .chain(protections)
        .collect()
}

/// Rules without a case that passes, or without one that the gate denies, and files about no rule.
fn uncovered(planned: &[Planned]) -> Vec<String> {
    let mut found = Vec::new();
    for rule in rule_ids() {
        let of_rule = || planned.iter().filter(|it| it.topic == rule && it.case.by == By::Gate);
        if !of_rule().any(|it| it.case.admitted.is_some()) {
            found.push(format!("{rule}: no case passes"));
        }
        if !of_rule().any(|it| it.case.denied.is_some()) {
            found.push(format!("{rule}: no case is denied"));
        }
        if !of_rule().any(|it| it.case.stored && it.case.admitted.is_some()) {
            found.push(format!("{rule}: no case is stored in earnest"));
        }
    }
    let topics: BTreeSet<&str> = planned.iter().map(|it| it.topic.as_str()).collect();
    let strangers = topics.into_iter().filter(|it| !rule_ids().contains(it) && !it.starts_with("defaults-"));
    found.extend(strangers.map(|topic| format!("{topic}: no rule is called so")));
    found
}
