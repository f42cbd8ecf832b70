//! What kubectl shows reads well.

use crate::platform::{eventually, platform};

const PLATFORM: &str = r#"
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata:
  name: readable
spec:
  displayName: Readable Team
status:
  phase: Ready
  namespace: readable
  clusterCount: 1
  quotaStatus: OK
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantCluster
metadata:
  name: orders
spec:
  kubernetesVersion: v1.31.4
  teamRef:
    name: readable
  workers:
    replicas: 3
status:
  phase: Updating
  controlPlaneEndpoint: 10.50.0.9:6443
  workerNodes: 3
  workerNodesReady: 2
"#;

#[tokio::test]
async fn explain_reads_well() {
    let plane = platform().await;
    let explain = ["explain", "tenantcluster.spec.workers.machineTemplate.os"];
    // What `explain` knows comes a few moments after the kinds themselves.
    eventually(async || plane.kubectl(&explain).await.unwrap().status.success()).await;
    let shown = plane.kubectl(&explain).await.unwrap().success().unwrap();
    println!("{shown}");
    assert_eq!(shown, EXPLAINED);
}

#[tokio::test]
async fn get_and_scale_show_what_people_look_for() {
    let plane = platform().await;
    let namespace = plane.namespace().await.unwrap();
    let created = ["create", "-n", &namespace, "-f", "-"];
    plane.kubectl_with_input(&created, PLATFORM).await.unwrap().success().unwrap();
    let status = ["replace", "--subresource=status", "-n", &namespace, "-f", "-"];
    plane.kubectl_with_input(&status, PLATFORM).await.unwrap().success().unwrap();

    for arguments in [&["get", "tc,team", "-A"][..], &["get", "butler", "-A"], &["scale", "tenantcluster", "orders", "-n", &namespace, "--replicas=5"]] {
        let shown = plane.kubectl(arguments).await.unwrap().success().unwrap();
        println!("$ kubectl {}\n{shown}", arguments.join(" "));
    }
}
const EXPLAINED: &str = "";
