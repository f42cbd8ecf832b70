//! Cluster API's real managers judge, convert and act on what is written to a control plane of the bench.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::time::{Duration, Instant};

use butler_bench::{ClusterApi, ControlPlane, Options, stand_ins};
use tokio::sync::OnceCell;

/// One pair of managers for all tests of this file: they take longer to start than the tests to run.
async fn plane() -> &'static ControlPlane {
    static SHARED: OnceCell<(ControlPlane, ClusterApi)> = OnceCell::const_new();
    let start = || async {
        let plane = ControlPlane::start(Options::default()).await.unwrap();
        let started = Instant::now();
        stand_ins::install(&plane).await.unwrap();
        println!("stand-ins installed after {:?}", started.elapsed());
        let started = Instant::now();
        let cluster_api = ClusterApi::start(&plane).await.unwrap();
        println!("Cluster API ready after {:?}", started.elapsed());
        (plane, cluster_api)
    };
    &SHARED.get_or_init(start).await.0
}

const CLUSTER: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: one
spec:
  controlPlaneRef:
    apiGroup: controlplane.cluster.x-k8s.io
    kind: StewardControlPlane
    name: one
  infrastructureRef:
    apiGroup: infrastructure.cluster.x-k8s.io
    kind: HarvesterCluster
    name: one
---
apiVersion: controlplane.cluster.x-k8s.io/v1alpha1
kind: StewardControlPlane
metadata:
  name: one
spec:
  version: v1.31.0
---
apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
kind: HarvesterCluster
metadata:
  name: one
spec:
  targetNamespace: default
  identitySecret: { namespace: default, name: harvester }
  loadBalancerConfig: { ipamType: dhcp }
";

#[tokio::test]
async fn a_cluster_on_stand_in_kinds_is_accepted_and_its_parts_adopted() {
    let plane = plane().await;
    let namespace = plane.namespace().await.unwrap();
    plane.apply_in(&namespace, CLUSTER).await.unwrap();
    for part in ["stewardcontrolplane/one", "harvestercluster/one"] {
        let owner = shows(plane, &namespace, part, "{.metadata.ownerReferences[0].kind}", "Cluster").await;
        assert_eq!(owner, "Cluster", "{part}");
    }

    // Harvester carries both contract labels, so the newer contract's field counts.
    let status = r#"{"status":{"initialization":{"provisioned":true}}}"#;
    let patch =
        ["patch", "-n", &namespace, "harvestercluster", "one", "--subresource=status", "--type=merge", "-p"];
    plane.kubectl(&[patch.as_slice(), &[status]].concat()).await.unwrap().success().unwrap();
    let path = "{.status.initialization.infrastructureProvisioned}";
    assert_eq!(shows(plane, &namespace, "cluster/one", path, "true").await, "true");
}

#[tokio::test]
async fn the_documents_cluster_api_examples_apply_as_they_are_written() {
    let plane = plane().await;
    let namespace = plane.namespace().await.unwrap();
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/seeds");
    for (file, shown) in [
        ("cluster-api-cluster.yaml", "cluster.cluster.x-k8s.io/my-cluster created\n"),
        (
            "steward-control-plane.yaml",
            "stewardcontrolplane.controlplane.cluster.x-k8s.io/my-cluster created\n",
        ),
        ("machine-deployment.yaml", "machinedeployment.cluster.x-k8s.io/my-cluster-workers created\n"),
    ] {
        let path = format!("{seeds}/{file}");
        let applied =
            plane.kubectl(&["apply", "-n", &namespace, "--validate=strict", "-f", &path]).await.unwrap();
        assert_eq!(applied.success().unwrap(), shown, "{file}");
    }
}

#[tokio::test]
async fn a_cluster_without_any_reference_is_refused() {
    let plane = plane().await;
    let namespace = plane.namespace().await.unwrap();
    let bare =
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: bare}\nspec: {paused: true}";
    let refused = plane.apply_in(&namespace, bare).await.unwrap_err().to_string();
    assert!(refused.starts_with("cannot apply Cluster `bare`: "), "{refused}");
    assert!(refused.contains("validation.cluster.cluster.x-k8s.io"), "{refused}");
}

#[tokio::test]
async fn clusters_are_converted_between_their_versions() {
    let plane = plane().await;
    let namespace = plane.namespace().await.unwrap();
    plane.apply_in(&namespace, CLUSTER).await.unwrap();
    let version = "{.spec.infrastructureRef.apiVersion}";
    let old = shows(plane, &namespace, "clusters.v1beta1.cluster.x-k8s.io/one", version, "").await;
    assert_eq!(old, "infrastructure.cluster.x-k8s.io/v1alpha1");

    // And the other way: written as v1beta1, read as v1beta2.
    let written = "
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: { name: two }
spec:
  infrastructureRef:
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
    kind: NutanixCluster
    name: two
";
    plane.apply_in(&namespace, written).await.unwrap();
    let group = "{.spec.infrastructureRef.apiGroup}";
    let new = shows(plane, &namespace, "clusters.v1beta2.cluster.x-k8s.io/two", group, "").await;
    assert_eq!(new, "infrastructure.cluster.x-k8s.io");
}

#[tokio::test]
async fn the_bootstrap_manager_judges_its_templates() {
    let plane = plane().await;
    let namespace = plane.namespace().await.unwrap();
    let template = |format: &str| {
        format!(
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate\nmetadata: {{name: workers}}\n\
             spec: {{template: {{spec: {{format: {format}}}}}}}"
        )
    };
    plane.apply_in(&namespace, &template("cloud-config")).await.unwrap();
    let refused = plane.apply_in(&namespace, &template("tablets-of-clay")).await.unwrap_err().to_string();
    assert!(refused.contains("tablets-of-clay"), "{refused}");
}

/// What a field shows, as soon as it is `wanted`, or anything if `wanted` is empty.
async fn shows(plane: &ControlPlane, namespace: &str, object: &str, path: &str, wanted: &str) -> String {
    let started = Instant::now();
    loop {
        let output = format!("jsonpath={path}");
        let shown = plane.kubectl(&["get", "-n", namespace, object, "-o", &output]).await.unwrap();
        let is_there = if wanted.is_empty() { !shown.stdout.is_empty() } else { shown.stdout == wanted };
        if is_there || started.elapsed() > Duration::from_secs(30) {
            assert!(shown.status.success(), "{}", shown.stderr);
            return shown.stdout;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
