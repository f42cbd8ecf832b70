//! The manifests that install the webhook: accepted by the API server as they are, agreeing with each other, and
//! granting what is needed and no more.

use std::process::Command;

use butler_bench::{ControlPlane, Options};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::harness::{ACCOUNT, GROUPS};
use crate::objects::{documents, install_definitions, read, repository};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_command_installs_everything_and_a_second_changes_nothing() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let folder = repository("manifests/webhook");
    let folder = folder.to_str().unwrap();
    let kubectl = async |arguments: &[&str]| {
        let output = plane.kubectl(arguments).await.unwrap();
        // Also how the API server says that a Pod breaks the namespace's standard, or a field is deprecated. That nobody
        // serves the policy service here is so.
        let is_news = |line: &&str| !line.contains(butler_webhook::service::API_VERSION);
        let complaints: Vec<&str> = output.stderr.lines().filter(is_news).collect();
        assert_eq!(complaints, [""; 0], "{arguments:?}");
        output.success().unwrap()
    };
    // What is in a namespace can only be tried where the namespace is.
    kubectl(&["apply", "--server-side", "-f", &format!("{folder}/namespace.yaml")]).await;
    let tried =
        kubectl(&["apply", "--server-side", "--dry-run=server", "--validate=strict", "-k", folder]).await;
    let installed = kubectl(&["apply", "--server-side", "--validate=strict", "-k", folder]).await;
    assert_eq!(tried.replace(" (server dry run)", ""), installed);
    let objects: Vec<&str> =
        installed.lines().filter_map(|line| line.strip_suffix(" serverside-applied")).collect();
    assert_eq!(objects.len(), 17, "{installed}");
    let elsewhere = "rolebinding.rbac.authorization.k8s.io/butler-webhook-front-proxy";
    let objects: Vec<&str> = objects.into_iter().filter(|object| *object != elsewhere).collect();
    kubectl(&["get", "-n", "kube-system", elsewhere]).await;

    let versions =
        "-o=jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}";
    let read = [&["get", "-n", "butler-system", versions], objects.as_slice()].concat();
    // `get` takes one namespace and ignores it for what is in none.
    let before = kubectl(&read).await;
    kubectl(&["apply", "--server-side", "--validate=strict", "-k", folder]).await;
    assert_eq!(kubectl(&read).await, before);

    samples_of_administrators_make_administrators(&plane).await;
    the_account_may_do_what_it_needs_and_no_more(&plane).await;
}

async fn samples_of_administrators_make_administrators(plane: &ControlPlane) {
    install_definitions(plane).await;
    plane.apply(&read("manifests/samples/platform/administrators.yaml")).await.unwrap();
    let engineer = plane.user("engineer@example.com", &["platform-engineers"]).unwrap();
    let developer = plane.user("developer@example.com", &["developers"]).unwrap();
    for (user, answer) in [(engineer, "yes\n"), (developer, "no\n")] {
        let asked = ["auth", "can-i", "administer", "teams.butler.butlerlabs.dev"];
        let output = plane.kubectl_as(&user, &asked).await.unwrap();
        assert_eq!(output.stdout, answer, "{}: {}", user.name(), output.stderr);
    }
}

async fn the_account_may_do_what_it_needs_and_no_more(plane: &ControlPlane) {
    let account = plane.user(ACCOUNT, &GROUPS).unwrap();
    let system = "--namespace=butler-system";
    let cases: &[(&str, &[&str])] = &[
        ("yes", &["watch", "tenantclusters.butler.butlerlabs.dev", "-A"]),
        ("yes", &["list", "namespaces"]),
        ("yes", &["create", "subjectaccessreviews.authorization.k8s.io"]),
        ("yes", &["patch", "validatingwebhookconfigurations/butler-webhook"]),
        ("yes", &["watch", "mutatingwebhookconfigurations/butler-webhook"]),
        ("yes", &["update", "secrets/butler-webhook-certificates", system]),
        ("yes", &["create", "secrets", system]),
        ("yes", &["get", "secrets/harvester-prod", system]),
        ("yes", &["create", "events.events.k8s.io", system]),
        ("yes", &["create", "tokenreviews.authentication.k8s.io"]),
        ("yes", &["watch", "configmaps/extension-apiserver-authentication", "--namespace=kube-system"]),
        ("yes", &["patch", "apiservices/v1alpha1.policy.butler.butlerlabs.dev"]),
        ("no", &["get", "configmaps", "--namespace=kube-system"]),
        ("no", &["patch", "apiservices/v1.apps"]),
        ("no", &["update", "tenantclusters.butler.butlerlabs.dev", "-A"]),
        ("no", &["patch", "teams.butler.butlerlabs.dev"]),
        ("no", &["administer", "teams.butler.butlerlabs.dev"]),
        ("no", &["patch", "validatingwebhookconfigurations/somebody-else"]),
        ("no", &["list", "validatingwebhookconfigurations"]),
        ("no", &["create", "validatingwebhookconfigurations"]),
        ("no", &["delete", "mutatingwebhookconfigurations/butler-webhook"]),
        ("no", &["list", "secrets", system]),
        ("no", &["update", "secrets/harvester-prod", system]),
        ("no", &["delete", "secrets/butler-webhook-certificates", system]),
        ("no", &["get", "secrets", "--namespace=default"]),
        ("no", &["create", "secrets", "--namespace=default"]),
        ("no", &["impersonate", "users"]),
    ];
    for (answer, question) in cases {
        let output = plane.kubectl_as(&account, &[&["auth", "can-i"], *question].concat()).await.unwrap();
        assert_eq!(output.stdout.trim_end(), *answer, "{question:?}: {}", output.stderr);
    }
}

fn one<T: DeserializeOwned>(file: &str, kind: &str) -> T {
    let mut all = documents(file).into_iter();
    let found = all.find(|object| object.types.as_ref().is_some_and(|types| types.kind == kind)).unwrap();
    serde_json::from_value(serde_json::to_value(found).unwrap()).unwrap()
}

#[test]
fn the_manifests_agree_with_each_other() {
    let deployment: Deployment = one("manifests/webhook/deployment.yaml", "Deployment");
    let budget: PodDisruptionBudget = one("manifests/webhook/deployment.yaml", "PodDisruptionBudget");
    let service: Service = one("manifests/webhook/service.yaml", "Service");
    let spec = deployment.spec.unwrap();
    let pods = spec.template.metadata.unwrap().labels.unwrap();
    let selects = |selector: &std::collections::BTreeMap<String, String>| {
        assert!(!selector.is_empty() && selector.iter().all(|(key, value)| pods.get(key) == Some(value)));
    };
    selects(&spec.selector.match_labels.unwrap());
    selects(&budget.spec.unwrap().selector.unwrap().match_labels.unwrap());
    let service_labels = service.metadata.labels.unwrap();
    let service = service.spec.unwrap();
    selects(&service.selector.unwrap());

    let pod = spec.template.spec.unwrap();
    for constraint in pod.topology_spread_constraints.unwrap() {
        selects(&constraint.label_selector.unwrap().match_labels.unwrap());
    }
    assert_eq!(format!("system:serviceaccount:butler-system:{}", pod.service_account_name.unwrap()), ACCOUNT);
    let container = &pod.containers[0];
    let ports: Vec<_> = container.ports.iter().flatten().map(|port| port.name.clone().unwrap()).collect();
    let is_open = |port: &IntOrString| matches!(port, IntOrString::String(name) if ports.contains(name));
    let service_ports = service.ports.unwrap();
    assert!(service_ports.iter().all(|port| is_open(port.target_port.as_ref().unwrap())));
    for probe in [&container.readiness_probe, &container.liveness_probe] {
        assert!(is_open(&probe.as_ref().unwrap().http_get.as_ref().unwrap().port));
    }

    let monitor: ServiceMonitor =
        serde_saphyr::from_str(&read("manifests/webhook/service-monitor.yaml")).unwrap();
    assert_eq!((&*monitor.api_version, &*monitor.kind), ("monitoring.coreos.com/v1", "ServiceMonitor"));
    assert_eq!(monitor.metadata["namespace"], monitor.spec.namespace_selector.match_names[0]);
    let selected = monitor.spec.selector.match_labels.unwrap();
    assert!(selected.iter().all(|(key, value)| service_labels.get(key) == Some(value)));
    for endpoint in &monitor.spec.endpoints {
        assert!(service_ports.iter().any(|port| port.name.as_deref() == Some(&endpoint.port)));
        assert_eq!((&*endpoint.path, &*endpoint.interval), ("/metrics", "30s"));
    }
}

#[test]
fn the_program_takes_the_arguments_of_the_deployment() {
    let deployment: Deployment = one("manifests/webhook/deployment.yaml", "Deployment");
    let pod = deployment.spec.unwrap().template.spec.unwrap();
    let arguments = pod.containers[0].args.clone().unwrap();
    let program = || Command::new(env!("CARGO_BIN_EXE_butler-webhook"));
    let output = program().args(&arguments).arg("--kubeconfig=/no/such/file").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot read the kubeconfig `/no/such/file`"), "{said}");
    let misspelt = program().args(&arguments).arg("--no-such-option").output().unwrap();
    assert_eq!((output.status.code(), misspelt.status.code()), (Some(1), Some(2)));
}

/// As far as ours uses it. The kind is the Prometheus operator's, and so no API server here knows it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ServiceMonitor {
    api_version: String,
    kind: String,
    metadata: Value,
    spec: Monitored,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Monitored {
    selector: k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector,
    namespace_selector: NamespaceSelector,
    endpoints: Vec<Scraped>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NamespaceSelector {
    match_names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scraped {
    port: String,
    path: String,
    interval: String,
}
