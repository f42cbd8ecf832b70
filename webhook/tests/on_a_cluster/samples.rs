//! The samples that a newcomer applies.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::harness::{self, Gate};
use crate::objects::repository;

/// In the order of the README: the platform, then what a tenant asks for.
const SAMPLES: [&str; 8] = [
    "platform/namespaces.yaml",
    "platform/administrators.yaml",
    "platform/provider-config.yaml",
    "platform/butler-config.yaml",
    "platform/teams.yaml",
    "platform/addon-definitions.yaml",
    "tenant-cluster.yaml",
    "tenant-addon.yaml",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_sample_is_admitted_and_applying_it_again_changes_nothing() {
    assert_eq!(SAMPLES.map(str::to_owned).into_iter().collect::<BTreeSet<_>>(), all_samples());
    let gate = harness::start().await;
    for sample in SAMPLES {
        apply(&gate, sample, &["apply", "--validate=strict"]).await;
    }
    for sample in SAMPLES {
        let shown = apply(&gate, sample, &["apply", "--validate=strict"]).await;
        // `stringData` of a Secret is written anew each time, since it is never read back.
        let mut objects = shown.lines().filter(|line| !line.starts_with("secret/"));
        assert!(objects.all(|line| line.ends_with(" unchanged")), "{sample}: {shown}");
    }
    let server_side =
        ["apply", "--server-side", "--validate=strict", "-o=name", "--show-managed-fields=false"];
    for sample in SAMPLES {
        apply(&gate, sample, &server_side).await;
    }
    let before = settled_versions(&gate).await;
    for sample in SAMPLES {
        apply(&gate, sample, &server_side).await;
    }
    assert_eq!(settled_versions(&gate).await, before);
    scaling_past_what_the_team_may_have_is_refused(&gate).await;
}

async fn scaling_past_what_the_team_may_have_is_refused(gate: &Gate) {
    let scale = async |replicas: &str| {
        let arguments = ["scale", "tenantcluster", "my-cluster", "-n", "team-a", replicas];
        gate.plane().kubectl(&arguments).await.unwrap()
    };
    assert_eq!(
        scale("--replicas=10").await.success().unwrap(),
        "tenantcluster.butler.butlerlabs.dev/my-cluster scaled\n"
    );
    let refused = scale("--replicas=11").await;
    assert!(!refused.status.success());
    assert_eq!(
        refused.stderr,
        "Error from server (Forbidden): admission webhook \"vtenantcluster.kb.io\" denied the request: \
         spec.workers.replicas: a cluster of the Team `team-a` may have 10 nodes, and this one would have 11; the \
         platform's administrators can raise `spec.resourceLimits.maxNodesPerCluster` of the Team `team-a`\n"
    );
}

fn all_samples() -> BTreeSet<String> {
    let folder = repository("manifests/samples");
    let files = |under: &str| {
        let entries = fs::read_dir(folder.join(under)).unwrap().map(|entry| entry.unwrap().path());
        let named = entries.filter(|path| path.is_file());
        let shown = |path: std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        named.map(|path| Path::new(under).join(shown(path)).to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    [files(""), files("platform")].concat().into_iter().collect()
}

/// What kubectl prints; it has nothing to complain about and nothing to warn of.
async fn apply(gate: &Gate, sample: &str, arguments: &[&str]) -> String {
    let file = repository("manifests/samples").join(sample);
    let arguments = [arguments, &["-f", file.to_str().unwrap()]].concat();
    let output = gate.plane().kubectl(&arguments).await.unwrap();
    assert_eq!(output.stderr, "", "{sample}");
    output.success().unwrap()
}

/// The versions once nobody writes any more: ledgers and what teams use follow what was applied.
async fn settled_versions(gate: &Gate) -> String {
    let mut seen = versions(gate).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let now = versions(gate).await;
        if now == seen {
            return now;
        }
        seen = now;
    }
    panic!("somebody writes again and again:\n{seen}")
}

async fn versions(gate: &Gate) -> String {
    let columns = "-o=custom-columns=KIND:.kind,NAME:.metadata.name,VERSION:.metadata.resourceVersion";
    gate.plane().kubectl(&["get", "butler", "-A", columns]).await.unwrap().success().unwrap()
}
