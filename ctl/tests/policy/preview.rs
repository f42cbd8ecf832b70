//! What policies would say of a real control plane.

use std::path::Path;

use butler_bench::control_plane::{ControlPlane, Options};
use serde_json::{Value, json};

use crate::{Ran, program};

const TEAM: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {env: prod}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: sizes, namespace: team-a}
data: {most: "4"}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: {name: team-a}
spec: {displayName: A}
"#;

fn cluster(number: usize, replicas: usize) -> String {
    format!(
        "---\napiVersion: butler.butlerlabs.dev/v1alpha1\nkind: TenantCluster\n\
         metadata: {{name: cluster-{number:03}, namespace: team-a}}\n\
         spec: {{kubernetesVersion: v1.31.4, teamRef: {{name: team-a}}, workers: {{replicas: {replicas}}}}}\n"
    )
}

async fn preview(kubeconfig: &Path, arguments: &[&str]) -> Ran {
    let mut command = program(&["preview", "preview", "--kubeconfig", kubeconfig.to_str().unwrap()]);
    command.args(arguments);
    Ran::of(tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_judged_with_its_params_namespaces_and_facts() {
    let control_plane = ControlPlane::start(Options::default()).await.unwrap();
    control_plane.install_crds(&butler_api::crd::all()).await.unwrap();
    control_plane.apply(TEAM).await.unwrap();
    let kubeconfig = control_plane.kubeconfig();

    control_plane.apply(&cluster(0, 3)).await.unwrap();
    // The one cluster counts once, so seven nodes are not exceeded.
    preview(kubeconfig, &[]).await.prints(0, "preview-good.txt");

    control_plane.apply(&cluster(1, 5)).await.unwrap();
    preview(kubeconfig, &[]).await.prints(1, "preview-denied.txt");

    let before = objects(&control_plane).await;
    let ran = preview(kubeconfig, &["--output", "json"]).await;
    assert_eq!((ran.code, ran.errors.as_str()), (Some(1), ""));
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&report["objects"], &report["denied"]), (&json!(3), &json!(1)), "{report:#}");
    assert_eq!(objects(&control_plane).await, before, "nothing is changed");

    // More than a page holds.
    let many: String = (2..262).map(|number| cluster(number, 1)).collect();
    control_plane.apply(&many).await.unwrap();
    let ran = preview(kubeconfig, &["--output", "json"]).await;
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["policies"][0]["asked"], json!(262), "{}", ran.errors);

    let ran = preview(Path::new("no-such-file"), &[]).await;
    assert_eq!(ran.code, Some(2), "{}", ran.out);
}

/// Every version of every cluster.
async fn objects(control_plane: &ControlPlane) -> Vec<Option<String>> {
    let api: kube::Api<butler_api::TenantCluster> = kube::Api::all(control_plane.client().await.unwrap());
    let list = api.list(&kube::api::ListParams::default()).await.unwrap();
    list.items.into_iter().map(|cluster| cluster.metadata.resource_version).collect()
}
