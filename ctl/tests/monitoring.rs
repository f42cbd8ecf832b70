//! What dashboards and alerts ask for is there to be asked for.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test by panicking, like the test itself")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use prometheus_client::registry::Registry;
use serde_json::Value;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests/monitoring").join(path))
        .unwrap()
}

/// The name of every metric that the two programs have, as Prometheus stores it. A registry shows what has no samples yet
/// only when it is printed for debugging.
fn known() -> BTreeSet<String> {
    let mut registry = Registry::default();
    butler_reconciler::frame::Metrics::default().register(&mut registry);
    butler_reconciler::provider_config::Metrics::default().register(&mut registry);
    butler_webhook::facts::Metrics::default().register(&mut registry);
    butler_webhook::admission::Metrics::default().register(&mut registry);
    butler_webhook::server::Metrics::default().register(&mut registry);
    let shown = format!("{registry:?}");
    let mut names = BTreeSet::new();
    let mut prefix = "";
    for part in shown.split("Prefix(\"").skip(1) {
        prefix = part.split('"').next().unwrap_or(prefix);
        for descriptor in part.split("Descriptor { name: \"").skip(1) {
            let name = descriptor.split('"').next().unwrap();
            let unit =
                if descriptor.split('}').next().unwrap().contains("Some(Seconds)") { "_seconds" } else { "" };
            for suffix in ["", "_total", "_bucket", "_sum", "_count"] {
                names.insert(format!("{prefix}_{name}{unit}{suffix}"));
            }
        }
    }
    assert!(names.contains("butler_reconciler_writes_total"), "the registry was read: {shown}");
    names
}

/// Every expression under a key `expr`, wherever it is.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                match inner.as_str().filter(|_| key == "expr") {
                    Some(expression) => found.push(expression.to_owned()),
                    None => expressions(inner, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

fn metrics_in(expression: &str) -> Vec<String> {
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = expression.split(|character| !is_name(character));
    words.filter(|word| word.starts_with("butler_")).map(str::to_owned).collect()
}

#[test]
fn every_query_of_the_dashboard_and_every_alert_names_a_metric_that_exists() {
    let dashboard: Value = serde_json::from_str(&read("dashboard.json")).unwrap();
    let alerts: Value = serde_saphyr::from_str(&read("alerts.yaml")).unwrap();
    let known = known();
    for (what, document, least) in [("dashboard", dashboard, 13), ("alerts", alerts, 8)] {
        let mut all = Vec::new();
        expressions(&document, &mut all);
        assert!(all.len() >= least, "{what}: {} expressions", all.len());
        for expression in all {
            let names = metrics_in(&expression);
            assert!(!names.is_empty(), "{what}: `{expression}` names no metric");
            for name in names {
                assert!(known.contains(&name), "{what}: nothing is called `{name}`");
            }
        }
    }
}

#[test]
fn every_alert_says_what_to_do() {
    let alerts: Value = serde_saphyr::from_str(&read("alerts.yaml")).unwrap();
    let groups = alerts["spec"]["groups"].as_array().unwrap();
    for rule in groups.iter().flat_map(|group| group["rules"].as_array().unwrap()) {
        let annotations = &rule["annotations"];
        assert!(annotations["summary"].is_string() && annotations["action"].is_string(), "{rule}");
        assert!(rule["for"].is_string() && rule["labels"]["severity"].is_string(), "{rule}");
    }
}
