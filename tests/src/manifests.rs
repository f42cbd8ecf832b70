//! Whether the manifests that install a program agree with each other and with the program.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;
use serde_json::{Map, Value};

/// What does not fit together in `deployment.yaml`, `service.yaml` and `service-monitor.yaml` of a folder, whose pods are to
/// run as that account. Nothing, if all is well.
pub fn disagreements(folder: &Path, account: &str) -> Vec<String> {
    let mut found = Vec::new();
    let deployment = one(folder, "deployment.yaml", "Deployment", &mut found);
    let budget = one(folder, "deployment.yaml", "PodDisruptionBudget", &mut found);
    let service = one(folder, "service.yaml", "Service", &mut found);

    let pods = at(&deployment, "/spec/template/metadata/labels");
    let pod = at(&deployment, "/spec/template/spec");
    let mut selectors = vec![
        ("the Deployment", at(&deployment, "/spec/selector/matchLabels")),
        ("the PodDisruptionBudget", at(&budget, "/spec/selector/matchLabels")),
        ("the Service", at(&service, "/spec/selector")),
    ];
    let spread = items(at(pod, "/topologySpreadConstraints"));
    selectors.extend(spread.map(|it| ("a topology spread", at(it, "/labelSelector/matchLabels"))));
    for (who, selector) in selectors {
        if !is_selected(pods, selector) {
            found.push(format!("{who} selects {selector}, but the pods are {pods}"));
        }
    }

    let own = at(pod, "/serviceAccountName").as_str().unwrap_or_default();
    if format!("system:serviceaccount:butler-system:{own}") != account {
        found.push(format!("the pods run as `{own}`, not as `{account}`"));
    }

    let container = at(pod, "/containers/0");
    let open: Vec<&Value> = items(at(container, "/ports")).map(|port| at(port, "/name")).collect();
    let ports: Vec<&Value> = items(at(&service, "/spec/ports")).collect();
    let mut used: Vec<(&str, &Value)> =
        ports.iter().map(|it| ("the Service", at(it, "/targetPort"))).collect();
    used.push(("the readiness probe", at(container, "/readinessProbe/httpGet/port")));
    used.push(("the liveness probe", at(container, "/livenessProbe/httpGet/port")));
    for (who, port) in used {
        // By name: a number would go on pointing at what it meant before.
        if !port.is_string() || !open.contains(&port) {
            found.push(format!("{who} uses the port {port}, which the container does not name"));
        }
    }
    found.extend(unscraped(folder, &service, &ports));
    found
}

/// What is wrong with the ServiceMonitor of a folder.
fn unscraped(folder: &Path, service: &Value, ports: &[&Value]) -> Vec<String> {
    let text = fs::read_to_string(folder.join("service-monitor.yaml")).unwrap_or_default();
    let monitor: ServiceMonitor = match serde_saphyr::from_str(&text) {
        Ok(monitor) => monitor,
        Err(error) => return vec![format!("service-monitor.yaml: {error}")],
    };
    let mut found = Vec::new();
    let mut expect = |what: &str, is_so: bool| {
        if !is_so {
            found.push(format!("the ServiceMonitor: {what}"));
        }
    };
    expect(
        "another kind",
        monitor.api_version == "monitoring.coreos.com/v1" && monitor.kind == "ServiceMonitor",
    );
    let namespaces: Vec<Value> =
        monitor.spec.namespace_selector.match_names.into_iter().map(Value::from).collect();
    expect("another namespace", namespaces == [at(&monitor.metadata, "/namespace").clone()]);
    let wanted = Value::Object(monitor.spec.selector.match_labels);
    expect("it does not select the Service", is_selected(at(service, "/metadata/labels"), &wanted));
    expect("it scrapes nothing", !monitor.spec.endpoints.is_empty());
    for Scraped { port, path, interval } in monitor.spec.endpoints {
        expect("no such port", ports.iter().any(|it| at(it, "/name").as_str() == Some(&port)));
        expect("another path", path == "/metrics");
        expect("another interval", interval == "30s");
    }
    found
}

/// What a program says to the arguments of its Deployment and a kubeconfig that is not there, and what to an option besides
/// them that there is not.
///
/// # Errors
/// When there is no such program.
pub fn refusals(program: &str, folder: &Path) -> io::Result<[Output; 2]> {
    let deployment = one(folder, "deployment.yaml", "Deployment", &mut Vec::new());
    let given = items(at(&deployment, "/spec/template/spec/containers/0/args"));
    let arguments: Vec<&str> = given.filter_map(Value::as_str).collect();
    let run = |more: &str| Command::new(program).args(&arguments).arg(more).output();
    Ok([run("--kubeconfig=/no/such/file")?, run("--no-such-option")?])
}

fn one(folder: &Path, file: &str, kind: &str, found: &mut Vec<String>) -> Value {
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap_or_default();
    let mut of_kind = documents.into_iter().filter(|it| it["kind"] == kind);
    match (of_kind.next(), of_kind.next()) {
        (Some(one), None) => one,
        _ => {
            found.push(format!("{file} has not exactly one {kind}"));
            Value::Null
        }
    }
}

fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    value.pointer(path).unwrap_or(&Value::Null)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn is_selected(labels: &Value, selector: &Value) -> bool {
    selector
        .as_object()
        .is_some_and(|it| !it.is_empty() && it.iter().all(|(key, value)| labels.get(key) == Some(value)))
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
    selector: Selector,
    namespace_selector: NamespaceSelector,
    endpoints: Vec<Scraped>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Selector {
    match_labels: Map<String, Value>,
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

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: &str = "system:serviceaccount:butler-system:butler-reconciler";
    const FILES: [&str; 3] = ["deployment.yaml", "service.yaml", "service-monitor.yaml"];

    /// What is found in the reconciler's manifests after every `from` in a file has become `to`.
    fn found(file: &str, from: &str, to: &str) -> Vec<String> {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests/reconciler");
        let folder = tempfile::tempdir().unwrap();
        for name in FILES {
            let text = fs::read_to_string(original.join(name)).unwrap();
            let text = if name == file { text.replace(from, to) } else { text };
            fs::write(folder.path().join(name), text).unwrap();
        }
        disagreements(folder.path(), ACCOUNT)
    }

    #[test]
    fn whatever_does_not_fit_is_found() {
        assert_eq!(found("", "", ""), [""; 0]);
        let table = [
            ("service.yaml", "kind: Service", "kind: Servic"),
            ("service.yaml", "targetPort: ", "targetPort: x"),
            ("service.yaml", "name: metrics", "name: other"),
            ("deployment.yaml", "serviceAccountName: ", "serviceAccountName: x"),
            ("deployment.yaml", "kind: PodDisruptionBudget", "kind: Other"),
            ("service-monitor.yaml", "interval: 30s", "interval: 3s"),
            ("service-monitor.yaml", "path: /metrics", "path: /"),
            ("service-monitor.yaml", "matchLabels:", "matchLabel:"),
            ("service-monitor.yaml", "matchNames: [butler-system]", "matchNames: [elsewhere]"),
        ];
        for (file, from, to) in table {
            assert!(!found(file, from, to).is_empty(), "{file}: {from} -> {to}");
        }
    }
}
