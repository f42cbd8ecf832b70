//! `kubectl apply -k manifests` on an empty cluster. Pods are played by tasks of this process, which take the arguments of
//! their Deployments, and the Service by one that leads to loopback.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

use std::fs;
use std::future::pending;
use std::path::{Path, PathBuf};

use butler_bench::control_plane::free_port;
use butler_bench::{ControlPlane, Options, eventually};
use butler_program::start::LogOptions;
use clap::{Args, Command, FromArgMatches};
use serde_json::{Value, json};

fn manifests(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests").join(path)
}

/// What a pod of the Deployment would be started with; `more` is what only this place knows.
fn options<O: Args + FromArgMatches>(program: &str, more: &[String]) -> O {
    let text = fs::read_to_string(manifests(program).join("deployment.yaml")).unwrap();
    let deployment: Value = serde_saphyr::from_multiple::<Value>(&text).unwrap().remove(0);
    let own = deployment["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap().clone();
    let name = |argument: &str| argument.split('=').next().unwrap().to_owned();
    let own = own.iter().map(|it| it.as_str().unwrap().to_owned());
    let own = own.filter(|it| !more.iter().any(|other| name(other) == name(it)));
    let command = LogOptions::augment_args(O::augment_args(Command::new("pod").no_binary_name(true)));
    let matches = command.try_get_matches_from(own.chain(more.iter().cloned())).unwrap();
    O::from_arg_matches(&matches).unwrap()
}

async fn kubectl(plane: &ControlPlane, arguments: &[&str]) -> String {
    plane.kubectl(arguments).await.unwrap().success().unwrap()
}

fn reached_as(plane: &ControlPlane, program: &str) -> Vec<String> {
    let account = format!("system:serviceaccount:butler-system:{program}");
    let groups = ["system:serviceaccounts", "system:serviceaccounts:butler-system"];
    let kubeconfig = plane.user(&account, &groups).unwrap().kubeconfig().display().to_string();
    vec![format!("--kubeconfig={kubeconfig}"), format!("--metrics-listen=127.0.0.1:{}", free_port().unwrap())]
}

/// Lets the API server reach ports of this process, the gate's and the policy service's, under the name of the Service.
async fn play_service(plane: &ControlPlane, port: u16, policy_port: u16) {
    kubectl(plane, &["delete", "service", "butler-webhook", "-n", "butler-system"]).await;
    let service = json!({ "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "butler-webhook", "namespace": "butler-system" },
        "spec": { "type": "ExternalName", "externalName": "localhost" } });
    plane.apply(&service.to_string()).await.unwrap();
    let there = json!({ "spec": { "service": { "port": policy_port } } }).to_string();
    let name = butler_webhook::service::API_SERVICE;
    kubectl(plane, &["patch", "apiservice", name, "--type=merge", "-p", &there]).await;
    for kind in ["mutatingwebhookconfiguration", "validatingwebhookconfiguration"] {
        let shown = kubectl(plane, &["get", kind, "butler-webhook", "-o", "json"]).await;
        let registration: Value = serde_json::from_str(&shown).unwrap();
        let count = registration["webhooks"].as_array().unwrap().len();
        let changes: Vec<Value> = (0..count)
            .map(|at| json!({ "op": "replace", "path": format!("/webhooks/{at}/clientConfig/service/port"), "value": port }))
            .collect();
        let changes = Value::from(changes).to_string();
        kubectl(plane, &["patch", kind, "butler-webhook", "--type=json", "-p", &changes]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_command_installs_everything_and_the_samples_apply() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let all = manifests("").canonicalize().unwrap();
    let install = ["apply", "-k", all.to_str().unwrap()];
    let said = kubectl(&plane, &install).await;
    for line in [
        "customresourcedefinition.apiextensions.k8s.io/teams.butler.butlerlabs.dev created",
        "deployment.apps/butler-webhook created",
        "deployment.apps/butler-reconciler created",
        "validatingwebhookconfiguration.admissionregistration.k8s.io/butler-webhook created",
    ] {
        assert!(said.lines().any(|it| it == line), "{line} is not in\n{said}");
    }
    // Again, as GitOps does.
    kubectl(&plane, &install).await;

    let port = free_port().unwrap();
    let mut more = reached_as(&plane, "butler-webhook");
    more.push(format!("--listen=127.0.0.1:{port}"));
    let policy_port = free_port().unwrap();
    more.push(format!("--service-listen=127.0.0.1:{policy_port}"));
    // What a kubelet mounts for a ConfigMap that is not there.
    let policies = plane.data_directory().join("policies");
    fs::create_dir(&policies).unwrap();
    more.push(format!("--policy-dir={}", policies.display()));
    let webhook = tokio::spawn(butler_webhook::run(options("webhook", &more), pending()));
    let more = reached_as(&plane, "butler-reconciler");
    let reconciler = tokio::spawn(butler_reconciler::run(options("reconciler", &more), pending()));
    play_service(&plane, port, policy_port).await;

    let probe = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ButlerConfig",
        "metadata": { "name": "probe" }, "spec": {} });
    eventually("the gate judges", async || {
        let tried = plane.apply(&probe.to_string()).await;
        tried.is_err_and(|error| error.to_string().contains("metadata.name"))
    })
    .await;
    for sample in
        ["namespaces", "administrators", "provider-config", "butler-config", "addon-definitions", "teams"]
    {
        let file = manifests(&format!("samples/platform/{sample}.yaml"));
        kubectl(&plane, &["apply", "-f", file.to_str().unwrap()]).await;
    }
    kubectl(&plane, &["wait", "--for=condition=Ready", "team/team-a", "--timeout=60s"]).await;
    let file = manifests("samples/tenant-cluster.yaml");
    let said = kubectl(&plane, &["apply", "-f", file.to_str().unwrap()]).await;
    assert_eq!(said.trim(), "tenantcluster.butler.butlerlabs.dev/my-cluster created");
    // The webhook has counted what the cluster takes, and the reconciler tells it.
    let told = "jsonpath={.status.phase} {.status.clusterCount} {.status.quotaStatus} {.status.resourceUsage.totalNodes}";
    eventually("the team counts its cluster", async || {
        kubectl(&plane, &["get", "team", "team-a", "-o", told]).await == "Ready 1 OK 3"
    })
    .await;
    eventually("policies are shown", async || {
        let shown = plane.kubectl(&["get", "policies", "-o", "name"]).await.unwrap();
        shown.stdout.contains("policy.policy.butler.butlerlabs.dev/rule.team")
    })
    .await;
    webhook.abort();
    reconciler.abort();
}
