//! What people type, and what they see.

use std::fs;

use serde_json::Value;

use super::{start, write_policy};
use crate::harness::Gate;
use crate::objects::eventually;

/// What kubectl prints; it has nothing to complain about.
async fn kubectl(gate: &Gate, arguments: &[&str]) -> String {
    let said = gate.plane().kubectl(arguments).await.unwrap();
    assert_eq!(said.stderr, "", "{arguments:?}");
    said.success().unwrap()
}

/// What kubectl complains about.
async fn refused(gate: &Gate, arguments: &[&str]) -> String {
    let said = gate.plane().kubectl(arguments).await.unwrap();
    assert!(!said.status.success(), "{arguments:?}: {}", said.stdout);
    said.stderr.trim_end().to_owned()
}

async fn until_shown(gate: &Gate, name: &str) {
    eventually("the policy is shown", async || {
        kubectl(gate, &["get", "policies", "-o", "name"]).await.lines().any(|line| line.ends_with(name))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_kubectl_reads_what_is_in_force() {
    let gate = start(1).await;
    write_policy(&gate, "three-workers");
    until_shown(&gate, "/validating.three-workers").await;

    let resources = kubectl(&gate, &["api-resources", "--api-group=policy.butler.butlerlabs.dev"]).await;
    let shown: Vec<Vec<&str>> = resources.lines().map(|line| line.split_whitespace().collect()).collect();
    let version = "policy.butler.butlerlabs.dev/v1alpha1";
    assert_eq!(
        shown[1..],
        [
            ["localreviews", version, "true", "LocalReview"],
            ["policies", version, "false", "Policy"],
            ["reviews", version, "false", "Review"],
        ]
    );

    let table = kubectl(&gate, &["get", "policies"]).await;
    println!("{table}");
    assert_eq!(first_words(&table), ["NAME", "ACTION", "KINDS", "SOURCE", "SUMMARY"]);
    let row = table.lines().find(|line| line.starts_with("validating.three-workers ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[..4], ["validating.three-workers", "Deny", "TenantCluster", "three-workers.yaml:1"]);
    assert!(table.contains("rule.kubernetes-version"), "{table}");
    let wide = kubectl(&gate, &["get", "policies", "-o", "wide"]).await;
    assert_eq!(first_words(&wide)[5..], ["OPERATIONS", "PORTABLE", "PROBLEMS", "HASH"]);

    objects_are_whole(&gate).await;
    lists_are_chosen_and_paged(&gate).await;
    fields_are_explained(&gate).await;
    a_watch_tells_of_changes(&gate).await;
    nothing_falls_back(&gate).await;
    what_there_is_not_is_told_as_kubernetes_tells_it(&gate).await;
}

fn first_words(table: &str) -> Vec<&str> {
    table.lines().next().unwrap().split_whitespace().collect()
}

async fn objects_are_whole(gate: &Gate) {
    let name = "validating.three-workers";
    let yaml = kubectl(gate, &["get", "policy", name, "-o", "yaml"]).await;
    assert!(yaml.contains("\n  text: |\n    apiVersion: admissionregistration.k8s.io/v1\n"), "{yaml}");
    let json: Value =
        serde_json::from_str(&kubectl(gate, &["get", "policy", name, "-o", "json"]).await).unwrap();
    assert_eq!(json["spec"]["bindings"][0]["name"], "three-workers");
    assert_eq!((&json["spec"]["portable"], &json["spec"]["source"]["line"]), (&true.into(), &1.into()));
    assert_eq!(json["spec"]["source"]["hash"].as_str().unwrap().len(), 64);
    let list: Value = serde_json::from_str(&kubectl(gate, &["get", "policies", "-o", "json"]).await).unwrap();
    assert!(list["items"].as_array().unwrap().len() > 20);
}

async fn lists_are_chosen_and_paged(gate: &Gate) {
    let all = kubectl(gate, &["get", "policies", "-o", "name"]).await;
    let paged = kubectl(gate, &["get", "policies", "-o", "name", "--chunk-size=4"]).await;
    assert_eq!(paged, all);
    let label = "policy.butler.butlerlabs.dev/type=ValidatingAdmissionPolicy";
    let chosen = kubectl(gate, &["get", "policies", "-o", "name", "-l", label]).await;
    assert_eq!(chosen, "policy.policy.butler.butlerlabs.dev/validating.three-workers\n");
    let field = "--field-selector=metadata.name=rule.team";
    let chosen = kubectl(gate, &["get", "policies", "-o", "name", field]).await;
    assert_eq!(chosen, "policy.policy.butler.butlerlabs.dev/rule.team\n");
    let wrong = refused(gate, &["get", "policies", "--field-selector=spec.type=Rule"]).await;
    assert!(wrong.contains("field label not supported: spec.type"), "{wrong}");
}

async fn fields_are_explained(gate: &Gate) {
    eventually("the API server has our schema", async || {
        let said = gate.plane().kubectl(&["explain", "policies.spec"]).await.unwrap();
        said.status.success()
    })
    .await;
    let explained = kubectl(gate, &["explain", "policies.spec.source"]).await;
    assert!(explained.contains("KIND:       Policy"), "{explained}");
    assert!(explained.contains("The line that it begins at, counted from 1."), "{explained}");
    let explained = kubectl(gate, &["explain", "policies.metadata.labels"]).await;
    assert!(explained.contains("FIELD: labels"), "{explained}");
}

/// What a watch from a version tells within a second, and the version that it ends with.
async fn watched(gate: &Gate, version: &str) -> (Vec<String>, String) {
    let query = format!("?watch=true&resourceVersion={version}&timeoutSeconds=1&allowWatchBookmarks=true");
    let told = kubectl(gate, &["get", "--raw", &path(&query)]).await;
    let events: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let about = |event: &Value| {
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or("-").to_owned();
        format!("{} {name}", event["type"].as_str().unwrap())
    };
    let last = events.last().unwrap()["object"]["metadata"]["resourceVersion"].as_str().unwrap();
    (events.iter().map(about).collect(), last.to_owned())
}

async fn a_watch_tells_of_changes(gate: &Gate) {
    let list = kubectl(gate, &["get", "--raw", &path("")]).await;
    let list: Value = serde_json::from_str(&list).unwrap();
    let before = list["metadata"]["resourceVersion"].as_str().unwrap();
    write_policy(gate, "four-workers");
    until_shown(gate, "/validating.four-workers").await;
    let (told, with_four) = watched(gate, before).await;
    // The hash is that of all files together, so the other policy changes with each load.
    let other = "MODIFIED validating.three-workers";
    assert_eq!(told, ["ADDED validating.four-workers", other, "BOOKMARK -"]);

    fs::remove_file(gate.policy_directory().join("four-workers.yaml")).unwrap();
    eventually("it is gone", async || {
        !kubectl(gate, &["get", "policies", "-o", "name"]).await.contains("four-workers")
    })
    .await;
    let (told, after) = watched(gate, &with_four).await;
    assert_eq!(told, ["DELETED validating.four-workers", other, "BOOKMARK -"]);
    // The same content again is the same version again, and who holds it has missed nothing.
    assert_eq!(after, before);
    assert_eq!(watched(gate, before).await, (vec!["BOOKMARK -".to_owned()], before.to_owned()));

    let far = refused(gate, &["get", "--raw", &path("?watch=true&resourceVersion=7")]).await;
    assert!(far.contains("too old resource version: 7"), "{far}");
    let shown = kubectl(gate, &["get", "policies", "--watch", "--request-timeout=2s"]).await;
    assert!(shown.lines().count() > 20, "{shown}");
}

/// A path of our group, through the API server.
fn path(rest: &str) -> String {
    format!("/apis/policy.butler.butlerlabs.dev/v1alpha1/policies{rest}")
}

/// kubectl logs every request with its status; none of ours is anything but 200.
async fn nothing_falls_back(gate: &Gate) {
    let commands: [&[&str]; 4] = [
        &["get", "policies"],
        &["get", "policies", "-o", "wide"],
        &["get", "policy", "rule.team", "-o", "yaml"],
        &["explain", "policies"],
    ];
    for command in commands {
        let said = gate.plane().kubectl(&[command, &["--v=6"]].concat()).await.unwrap();
        assert!(said.status.success(), "{}", said.stderr);
        let requests: Vec<&str> = said.stderr.lines().filter(|line| line.contains("verb=")).collect();
        assert!(!requests.is_empty(), "{}", said.stderr);
        for request in requests {
            assert!(request.contains("status=\"200 OK\""), "{command:?}: {request}");
        }
        assert!(!said.stderr.contains("fall"), "{}", said.stderr);
    }
}

async fn what_there_is_not_is_told_as_kubernetes_tells_it(gate: &Gate) {
    let missing = refused(gate, &["get", "policy", "rule.nothing"]).await;
    assert_eq!(
        missing,
        "Error from server (NotFound): policies.policy.butler.butlerlabs.dev \"rule.nothing\" not found"
    );
    let resource =
        refused(gate, &["get", "--raw", "/apis/policy.butler.butlerlabs.dev/v1alpha1/things"]).await;
    assert_eq!(resource, "Error from server (NotFound): the server could not find the requested resource");
    let method = refused(gate, &["delete", "policy", "rule.team"]).await;
    assert!(method.contains("(MethodNotAllowed)"), "{method}");
    let object = "apiVersion: policy.butler.butlerlabs.dev/v1alpha1\nkind: Policy\nmetadata: {name: x}\n";
    let created =
        gate.plane().kubectl_with_input(&["create", "--validate=false", "-f", "-"], object).await.unwrap();
    assert!(created.stderr.contains("(MethodNotAllowed)"), "{}", created.stderr);
}
