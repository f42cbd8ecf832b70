//! The control plane does what tests and newcomers rely on.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::time::Instant;

use butler_bench::{ControlPlane, Options};

#[tokio::test]
async fn a_control_plane_starts_and_serves() {
    let started = Instant::now();
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    println!("ready after {:?}", started.elapsed());
    let shown = plane.kubectl(&["get", "namespaces"]).await.unwrap().success().unwrap();
    assert!(shown.contains("kube-system"), "{shown}");
    let started = Instant::now();
    drop(plane);
    println!("gone after {:?}", started.elapsed());
}
