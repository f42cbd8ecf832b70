//! What `manifests/reconciler` says fits together, and the program understands it.

use std::collections::BTreeMap;
use std::process::Command;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::world::{ACCOUNT, read, repository};

fn one<T: DeserializeOwned>(path: &str, kind: &str) -> T {
    let documents: Vec<DynamicObject> = serde_saphyr::from_multiple(&read(path)).unwrap();
    let found = documents.into_iter().find(|it| it.types.as_ref().unwrap().kind == kind).unwrap();
    serde_json::from_value(serde_json::to_value(found).unwrap()).unwrap()
}

#[test]
fn selectors_ports_and_account_fit_together() {
    let deployment: Deployment = one("manifests/reconciler/deployment.yaml", "Deployment");
    let budget: PodDisruptionBudget = one("manifests/reconciler/deployment.yaml", "PodDisruptionBudget");
    let service: Service = one("manifests/reconciler/service.yaml", "Service");
    let monitor: Value = serde_saphyr::from_str(&read("manifests/reconciler/service-monitor.yaml")).unwrap();
    let spec = deployment.spec.unwrap();
    let pods = spec.template.metadata.unwrap().labels.unwrap();
    let selects = |selector: &BTreeMap<String, String>| {
        assert!(!selector.is_empty() && selector.iter().all(|(key, value)| pods.get(key) == Some(value)));
    };
    selects(&spec.selector.match_labels.unwrap());
    selects(&budget.spec.unwrap().selector.unwrap().match_labels.unwrap());
    let labels = service.metadata.labels.unwrap();
    let service = service.spec.unwrap();
    selects(&service.selector.unwrap());
    let pod = spec.template.spec.unwrap();
    for constraint in pod.topology_spread_constraints.unwrap() {
        selects(&constraint.label_selector.unwrap().match_labels.unwrap());
    }
    assert_eq!(format!("system:serviceaccount:butler-system:{}", pod.service_account_name.unwrap()), ACCOUNT);
    let container = &pod.containers[0];
    let open: Vec<String> = container.ports.iter().flatten().map(|port| port.name.clone().unwrap()).collect();
    let is_open = |port: &IntOrString| matches!(port, IntOrString::String(name) if open.contains(name));
    let ports = service.ports.unwrap();
    assert!(ports.iter().all(|port| is_open(port.target_port.as_ref().unwrap())));
    for probe in [&container.readiness_probe, &container.liveness_probe] {
        assert!(is_open(&probe.as_ref().unwrap().http_get.as_ref().unwrap().port));
    }
    let selected: BTreeMap<String, String> =
        serde_json::from_value(monitor["spec"]["selector"]["matchLabels"].clone()).unwrap();
    assert!(selected.iter().all(|(key, value)| labels.get(key) == Some(value)));
    let scraped = &monitor["spec"]["endpoints"][0];
    assert!(ports.iter().any(|port| port.name.as_deref() == scraped["port"].as_str()));
    assert_eq!((scraped["path"].as_str(), scraped["interval"].as_str()), (Some("/metrics"), Some("30s")));
}

#[test]
fn the_program_takes_the_arguments_of_the_deployment() {
    let deployment: Deployment = one("manifests/reconciler/deployment.yaml", "Deployment");
    let arguments = deployment.spec.unwrap().template.spec.unwrap().containers[0].args.clone().unwrap();
    let program = || Command::new(env!("CARGO_BIN_EXE_butler-reconciler"));
    let output = program().args(&arguments).arg("--kubeconfig=/no/such/file").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("cannot read the kubeconfig `/no/such/file`"), "{said}");
    let misspelt = program().args(&arguments).arg("--no-such-option").output().unwrap();
    assert_eq!((output.status.code(), misspelt.status.code()), (Some(1), Some(2)));
}

#[test]
fn the_installation_has_every_definition_and_both_programs() {
    let all: Value = serde_saphyr::from_str(&read("manifests/kustomization.yaml")).unwrap();
    let mut listed: Vec<String> = serde_json::from_value(all["resources"].clone()).unwrap();
    listed.sort();
    let files = std::fs::read_dir(repository("manifests/crds")).unwrap();
    let mut wanted: Vec<String> =
        files.map(|entry| format!("crds/{}", entry.unwrap().file_name().into_string().unwrap())).collect();
    wanted.extend(["webhook".to_owned(), "reconciler".to_owned()]);
    wanted.sort();
    assert_eq!(listed, wanted);
}
