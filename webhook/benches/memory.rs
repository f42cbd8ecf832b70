//! What the real program takes with 10,000 TenantClusters in its cache, on a real API server.
//!
//! ```console
//! $ cargo bench -p butler-webhook --bench memory
//! ```
//!
//! The clusters are made before the gate is there, each with a status, as the reconciler leaves it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a measurement that cannot be made has nobody to report to but its reader"
)]

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use butler_api::TenantCluster;
use butler_bench::control_plane::free_port;
use butler_bench::guard::{Held, Streams};
use butler_bench::{ControlPlane, Options};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

const CLUSTERS: usize = 10_000;
const PER_TEAM: usize = 100;
const AT_ONCE: usize = 32;
/// What is promised.
const MOST: u64 = 150 << 20;
const PATIENCE: Duration = Duration::from_secs(120);

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let resident = runtime.block_on(measure());
    if resident > MOST {
        std::process::exit(1);
    }
}

async fn measure() -> u64 {
    let plane = ControlPlane::start(Options::default().without_controllers()).await.unwrap();
    plane.install_crds(&butler_api::crd::all()).await.unwrap();
    let client = plane.client().await.unwrap();
    for team in 0..CLUSTERS / PER_TEAM {
        let namespace = json!({"metadata": {"name": format!("team-{team}")}});
        let namespace: Namespace = serde_json::from_value(namespace).unwrap();
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    }
    let namespace: Namespace =
        serde_json::from_value(json!({"metadata": {"name": "butler-system"}})).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    let started = Instant::now();
    let making =
        stream::iter(0..CLUSTERS).map(|number| make(client.clone(), number)).buffer_unordered(AT_ONCE);
    making.try_collect::<()>().await.unwrap();
    println!("{CLUSTERS} TenantClusters with a status made in {:.0} s", started.elapsed().as_secs_f64());

    let (port, metrics_port) = (free_port().unwrap(), free_port().unwrap());
    let listen = format!("--listen=127.0.0.1:{port}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_butler-webhook"));
    command.arg(&listen).arg(format!("--metrics-listen=127.0.0.1:{metrics_port}"));
    command.arg(format!("--kubeconfig={}", plane.kubeconfig().display()));
    let log = plane.logs().join("butler-webhook.log");
    let mut program = Held::start(&command, Streams::to_log(&log).unwrap()).unwrap();
    let started = Instant::now();
    while !get(metrics_port, "/readyz").is_some_and(|answer| answer.starts_with("HTTP/1.1 200 ")) {
        let log = || fs::read_to_string(&log).unwrap();
        assert!(program.ended().unwrap().is_none() && started.elapsed() < PATIENCE, "not ready:\n{}", log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("ready after {:.1} s", started.elapsed().as_secs_f64());
    // What the first list needed is given back by then, if it is ever given back.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let metrics = get(metrics_port, "/metrics").unwrap();
    let cached = format!("butler_facts_objects{{kind=\"TenantCluster\"}} {CLUSTERS}");
    assert!(metrics.lines().any(|line| line == cached), "not all of them are there:\n{metrics}");
    let status = status_of(&listen);
    let (resident, peak) = (kibibytes(&status, "VmRSS:"), kibibytes(&status, "VmHWM:"));
    println!(
        "resident set with {CLUSTERS} cached TenantClusters: {:.1} MiB (peak {:.1} MiB; promised: {} MiB)",
        resident as f64 / 1024.0,
        peak as f64 / 1024.0,
        MOST >> 20,
    );
    resident << 10
}

async fn make(client: Client, number: usize) -> Result<(), kube::Error> {
    let team = format!("team-{}", number / PER_TEAM);
    let name = format!("cluster-{number}");
    let cluster = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {
            "name": name, "finalizers": ["butler.butlerlabs.dev/tenantcluster"],
            "labels": {"butler.butlerlabs.dev/team": team, "butler.butlerlabs.dev/environment": "prod"},
            "annotations": {"butler.butlerlabs.dev/creator-email": "ana@example.org", "butler.butlerlabs.dev/owner": "ana@example.org"}},
        "spec": {
            "kubernetesVersion": "v1.31.4", "teamRef": {"name": team},
            "providerConfigRef": {"name": "harvester-a", "namespace": "butler-system"},
            "controlPlane": {"replicas": 3, "serviceType": "LoadBalancer", "certSANs": [format!("{name}.example.org")]},
            "workers": {"replicas": 3, "machineTemplate": {
                "cpu": 8, "memory": "32Gi", "diskSize": "200Gi", "os": {"type": "talos", "version": "v1.9.3"}}},
            "networking": {"podCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/12",
                "loadBalancerPool": {"start": "10.40.1.10", "end": "10.40.1.20"}},
            "addons": {
                "cni": {"provider": "cilium", "version": "1.17.0", "values": {"hubble": {"enabled": true}}},
                "loadBalancer": {"provider": "metallb", "version": "0.14.9"},
                "storage": {"provider": "longhorn", "version": "1.7.2"},
                "ingress": {"enabled": true, "provider": "traefik", "version": "34.3.0"},
                "certManager": {"enabled": true, "version": "v1.16.2"}}}});
    let status = json!({"status": {
        "phase": "Ready", "tenantNamespace": format!("{name}-1a2b3c4d"), "controlPlaneEndpoint": "10.50.0.9:6443",
        "observedGeneration": 1, "workerNodes": 3, "workerNodesReady": 3, "workerNodesDesired": 3,
        "observedState": {"kubernetesVersion": "v1.31.4",
            "workers": {"desired": 3, "ready": 3, "nodes": [format!("{name}-w-0"), format!("{name}-w-1"), format!("{name}-w-2")]},
            "addons": [
                {"name": "cilium", "version": "1.17.0", "status": "Healthy", "managedBy": "butler"},
                {"name": "metallb", "version": "0.14.9", "status": "Healthy", "managedBy": "butler"}]},
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Ready", "message": "everything is as it should be",
                "lastTransitionTime": "2026-05-02T10:00:00Z", "observedGeneration": 1},
            {"type": "ControlPlaneReady", "status": "True", "reason": "Ready", "message": "",
                "lastTransitionTime": "2026-05-02T10:00:00Z", "observedGeneration": 1}]}});
    let cluster: TenantCluster = serde_json::from_value(cluster).unwrap_or_else(|error| panic!("{error}"));
    let api: Api<TenantCluster> = Api::namespaced(client, &team);
    api.create(&PostParams::default(), &cluster).await?;
    api.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

/// An answer of the plain port.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// What the kernel says of the program with that argument; a shell that holds it has it too, and another name.
fn status_of(argument: &str) -> String {
    let entries = fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let mut ours = entries.filter(|path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.next() == Some(env!("CARGO_BIN_EXE_butler-webhook").as_bytes())
            && words.any(|word| word == argument.as_bytes())
    });
    fs::read_to_string(ours.next().unwrap().join("status")).unwrap()
}

fn kibibytes(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    value.trim().trim_end_matches("kB").trim().parse().unwrap()
}
