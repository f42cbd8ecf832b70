//! The control plane does what tests and newcomers rely on.

use std::fs;
use std::time::{Duration, Instant};

use butler_bench::{ControlPlane, Options};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;

fn config_map(name: &str, extra: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{extra}")
}

#[tokio::test]
async fn a_start_says_how_long_it_took() {
    // The first start of the process may have to build or read the programs, so the second one is shown.
    drop(ControlPlane::start(Options::default()).await.unwrap());
    let started = Instant::now();
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    println!("warm start: ready after {:.2?}", started.elapsed());
    plane.check().await.unwrap();
}

#[tokio::test]
async fn objects_survive_a_restart_of_the_api_server() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    plane.apply(&config_map("kept", "")).await.unwrap();
    let client = plane.client().await.unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(client);

    let asked = Instant::now();
    plane.stop_api_server().await;
    println!("stop: gone after {:.2?}", asked.elapsed());
    assert!(api.get("kept").await.is_err());
    plane.check().await.unwrap();

    let started = Instant::now();
    plane.restart_api_server().await.unwrap();
    println!("restart: ready after {:.2?}", started.elapsed());
    assert!(api.get("kept").await.is_ok(), "the same address, the same data");
    // Restarting a running one is a restart too.
    plane.restart_api_server().await.unwrap();
    assert!(api.get("kept").await.is_ok());
}

#[tokio::test]
async fn users_are_known_by_name_and_groups_and_judged_by_rbac() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace().await.unwrap();
    let groups = ["team-a", "team-b", "oidc:äöü/operators"];
    let alice = plane.user("alice@example.com", &groups).unwrap();
    let shown =
        plane.kubectl_as(&alice, &["auth", "whoami", "-o", "jsonpath={.status.userInfo}"]).await.unwrap();
    let shown: serde_json::Value = serde_json::from_str(&shown.success().unwrap()).unwrap();
    assert_eq!(shown["username"], "alice@example.com");
    let seen: Vec<&str> =
        shown["groups"].as_array().unwrap().iter().filter_map(|group| group.as_str()).collect();
    assert_eq!(seen, ["team-a", "team-b", "oidc:äöü/operators", "system:authenticated"]);

    let binding = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {{name: readers, namespace: {namespace}}}\n\
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}\n\
         subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: Group, name: team-b}}]"
    );
    plane.apply(&binding).await.unwrap();
    let list = ["get", "configmaps", "-n", &namespace];
    let bob = plane.user("bob", &["team-c"]).unwrap();
    let refused = plane.kubectl_as(&bob, &list).await.unwrap();
    assert!(!refused.status.success());
    assert!(
        refused.stderr.contains("User \"bob\" cannot list resource \"configmaps\""),
        "{}",
        refused.stderr
    );
    // Authorisation learns of the binding by a watch.
    eventually("alice may list", async || plane.kubectl_as(&alice, &list).await.unwrap().status.success())
        .await;
    let api: Api<ConfigMap> = Api::namespaced(alice.client().await.unwrap(), &namespace);
    assert!(api.list(&Default::default()).await.is_ok());
    assert!(api.delete("any", &Default::default()).await.is_err());
}

#[tokio::test]
async fn namespaces_are_deleted_with_what_is_in_them() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace().await.unwrap();
    plane.apply_in(&namespace, &config_map("inside", "")).await.unwrap();
    let delete = ["delete", "namespace", &namespace, "--timeout=60s"];
    plane.kubectl(&delete).await.unwrap().success().unwrap();
    assert!(!plane.kubectl(&["get", "namespace", &namespace]).await.unwrap().status.success());
}

#[tokio::test]
async fn what_has_lost_its_owner_is_collected() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace().await.unwrap();
    let owner = plane.apply_in(&namespace, &config_map("owner", "")).await.unwrap();
    let uid = owner[0].metadata.uid.clone().unwrap();
    let reference =
        format!("  ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}]\n");
    plane.apply_in(&namespace, &config_map("owned", &reference)).await.unwrap();
    plane.kubectl(&["delete", "configmap", "owner", "-n", &namespace]).await.unwrap().success().unwrap();
    let get = ["get", "configmap", "owned", "-n", &namespace];
    eventually("the owned goes", async || !plane.kubectl(&get).await.unwrap().status.success()).await;
}

#[tokio::test]
async fn namespaces_get_a_service_account_and_the_cluster_s_authority() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace().await.unwrap();
    for object in ["serviceaccount/default", "configmap/kube-root-ca.crt"] {
        let get = ["get", object, "-n", &namespace];
        eventually(object, async || plane.kubectl(&get).await.unwrap().status.success()).await;
    }
    let token =
        plane.kubectl(&["create", "token", "default", "-n", &namespace]).await.unwrap().success().unwrap();
    assert_eq!(token.split('.').count(), 3);
}

#[tokio::test]
async fn a_manifest_may_bring_its_own_kinds_and_is_judged_strictly() {
    let plane = ControlPlane::shared().await.unwrap();
    let crd = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: crates.bench.example.com }
spec:
  group: bench.example.com
  scope: Namespaced
  names: { kind: Crate, plural: crates, singular: crate }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: { spec: { type: object, properties: { size: { type: integer } } } }
---
";
    let object = |spec: &str| {
        format!("{crd}apiVersion: bench.example.com/v1\nkind: Crate\nmetadata: {{name: one}}\nspec: {spec}")
    };
    let stored = plane.apply(&object("{size: 3}")).await.unwrap();
    assert_eq!(stored[1].data["spec"]["size"], 3);
    let refused = plane.apply(&object("{size: 3, colour: red}")).await.unwrap_err().to_string();
    assert!(refused.starts_with("cannot apply Crate `one`: "), "{refused}");
    assert!(refused.ends_with(".spec.colour: field not declared in schema"), "{refused}");
    let unknown = plane.apply("apiVersion: bench.example.com/v1\nkind: Barrel\nmetadata: {name: x}").await;
    let unknown = unknown.unwrap_err().to_string();
    assert!(unknown.starts_with("cannot find the kind `Barrel` in `bench.example.com/v1`: "), "{unknown}");
}

#[tokio::test]
async fn two_control_planes_run_side_by_side() {
    let (one, two) =
        tokio::join!(ControlPlane::start(Options::default()), ControlPlane::start(Options::default()));
    let (one, two) = (one.unwrap(), two.unwrap());
    one.apply(&config_map("only-here", "")).await.unwrap();
    let get = ["get", "configmap", "only-here"];
    assert!(one.kubectl(&get).await.unwrap().status.success());
    assert!(two.kubectl(&get).await.unwrap().stderr.contains("NotFound"));
    // Neither trusts the other's users.
    let mallory = one.user("kubernetes-admin", &["system:masters"]).unwrap();
    let text = fs::read_to_string(mallory.kubeconfig()).unwrap().replace(one.url(), two.url());
    fs::write(mallory.kubeconfig(), text).unwrap();
    assert!(!two.kubectl_as(&mallory, &get).await.unwrap().status.success());
}

#[tokio::test]
async fn a_tenant_shares_etcd_and_nothing_else() {
    let management = ControlPlane::start(Options::default()).await.unwrap();
    let tenant = management.start_tenant("blue", Options::default()).await.unwrap();
    management.apply(&config_map("management", "")).await.unwrap();
    tenant.apply(&config_map("tenant", "")).await.unwrap();
    let get = async |plane: &ControlPlane, name| plane.kubectl(&["get", "configmap", name]).await.unwrap();
    assert!(get(&management, "tenant").await.stderr.contains("NotFound"));
    assert!(get(&tenant, "management").await.stderr.contains("NotFound"));

    // Its data is its prefix, not its process: the same name finds it again.
    drop(tenant);
    let tenant = management.start_tenant("blue", Options::default()).await.unwrap();
    assert!(get(&tenant, "tenant").await.status.success());
    // And etcd stays for as long as somebody needs it.
    drop(management);
    assert!(get(&tenant, "tenant").await.status.success());
}

#[tokio::test]
async fn requests_are_recorded_where_a_policy_says_so() {
    let policy =
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, resources: [{group: ''}]}]";
    let plane =
        ControlPlane::start(Options::default().without_controllers().audit_policy(policy)).await.unwrap();
    plane.apply(&config_map("recorded", "")).await.unwrap();
    let log = fs::read_to_string(plane.audit_log()).unwrap();
    let recorded = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ours = recorded.filter(|event| event["objectRef"]["name"] == "recorded").count();
    assert!(ours > 0, "{log}");
}

#[tokio::test]
async fn kubectl_reads_and_helm_installs() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace().await.unwrap();
    let apply = ["apply", "-n", &namespace, "-f", "-"];
    let shown = plane.kubectl_with_input(&apply, &config_map("read", "")).await.unwrap().success().unwrap();
    assert_eq!(shown, "configmap/read created\n");

    let chart = tempfile::tempdir().unwrap();
    fs::create_dir(chart.path().join("templates")).unwrap();
    fs::write(chart.path().join("Chart.yaml"), "apiVersion: v2\nname: small\nversion: 1.0.0\n").unwrap();
    fs::write(chart.path().join("templates/map.yaml"), config_map("installed", "")).unwrap();
    let path = chart.path().display().to_string();
    let install = ["upgrade", "--install", "small", &path, "-n", &namespace];
    plane.helm(&install).await.unwrap().success().unwrap();
    let get = ["get", "configmap", "installed", "-n", &namespace, "-o", "name"];
    assert_eq!(plane.kubectl(&get).await.unwrap().success().unwrap(), "configmap/installed\n");
    let failed = plane.helm(&["uninstall", "absent", "-n", &namespace]).await.unwrap().success();
    let failed = failed.unwrap_err().to_string();
    assert!(failed.starts_with("`helm uninstall absent -n "), "{failed}");
}

async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !condition().await {
        assert!(started.elapsed() < Duration::from_secs(30), "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
