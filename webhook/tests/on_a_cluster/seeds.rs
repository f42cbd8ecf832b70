//! The examples of the product's own documents, as they are written, through the gate.

use crate::harness::{self, Gate};
use crate::objects::{read, repository};

/// What the examples presume to be there: namespaces, the other team, a provider, a catalogue.
const PRESUMED: [&str; 4] = ["namespaces", "provider-config", "addon-definitions", "butler-config"];

/// In the order in which the documents come to them.
const EXAMPLES: [(&str, &str); 5] = [
    ("controller-butler-config", "butlerconfig.butler.butlerlabs.dev/butler configured"),
    ("controller-team", "team.butler.butlerlabs.dev/platform-engineering created"),
    ("controller-tenant-cluster", "tenantcluster.butler.butlerlabs.dev/production created"),
    ("controller-tenant-addon", "tenantaddon.butler.butlerlabs.dev/production-argocd created"),
    ("lifecycle-tenant-cluster", "tenantcluster.butler.butlerlabs.dev/my-cluster created"),
];

const TEAM_A: &str = "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: { name: team-a }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documents_examples_are_admitted_as_they_are_written() {
    let gate = harness::start().await;
    for sample in PRESUMED {
        gate.plane().apply(&read(&format!("manifests/samples/platform/{sample}.yaml"))).await.unwrap();
    }
    gate.plane().apply(TEAM_A).await.unwrap();

    for (example, expected) in EXAMPLES {
        let shown = kubectl(&gate, &["apply", "--validate=strict", "-f"], example).await;
        assert_eq!(shown, format!("{expected}\n"));
    }
    for (example, _) in EXAMPLES {
        let shown = kubectl(&gate, &["apply", "--validate=strict", "-f"], example).await;
        assert!(shown.ends_with(" unchanged\n"), "{example}: {shown}");
    }
    let patch = ["patch", "tenantcluster", "my-cluster", "-n", "team-a", "--type=merge"];
    for (example, subresource) in [
        ("patch-addons", None),
        ("patch-kubernetes-version", None),
        ("patch-status", Some("--subresource=status")),
    ] {
        let arguments: Vec<&str> = patch.into_iter().chain(subresource).chain(["--patch-file"]).collect();
        let shown = kubectl(&gate, &arguments, example).await;
        assert_eq!(shown, "tenantcluster.butler.butlerlabs.dev/my-cluster patched\n", "{example}");
    }
    let scale = ["scale", "tenantcluster", "my-cluster", "-n", "team-a", "--replicas=5"];
    gate.plane().kubectl(&scale).await.unwrap().success().unwrap();
}

/// What kubectl prints, with the path of an example as its last argument.
async fn kubectl(gate: &Gate, arguments: &[&str], example: &str) -> String {
    let file = repository(&format!("tests/corpus/seeds/{example}.yaml"));
    let arguments = [arguments, &[file.to_str().unwrap()]].concat();
    gate.plane().kubectl(&arguments).await.unwrap().success().unwrap()
}
