//! Several people and programs apply parts of one object without treading on each other.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use crate::corpus::{File, merge};
use crate::platform::{objects_of, platform};

#[tokio::test]
async fn two_managers_own_different_environments_and_users_of_one_team() {
    let plane = platform().await;
    let teams = objects_of(plane, "Team", "").await;
    let part = |environment: &str, user: &str, role: &str| {
        json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1",
            "kind": "Team",
            "metadata": {"name": "shared-by-two"},
            "spec": {
                "environments": [{"name": environment, "limits": {"maxClusters": 2}}],
                "access": {"users": [{"name": user, "role": role}]},
            },
        })
    };
    apply(&teams, "fleet", &part("prod", "ana@example.org", "admin")).await.unwrap();
    apply(&teams, "console", &part("dev", "bo@example.org", "viewer")).await.unwrap();
    let both = json!({
        "environments": [
            {"name": "prod", "limits": {"maxClusters": 2}},
            {"name": "dev", "limits": {"maxClusters": 2}},
        ],
        "access": {"users": [
            {"name": "ana@example.org", "role": "admin"},
            {"name": "bo@example.org", "role": "viewer"},
        ]},
    });
    assert_eq!(stored(&teams, "shared-by-two").await["spec"], both);

    // Each owns its own entries and no more: taking over the other's is a conflict, leaving one's own out removes it.
    let refusal = apply(&teams, "console", &part("dev", "ana@example.org", "viewer")).await.unwrap_err();
    assert_eq!(
        refusal,
        r#"Apply failed with 1 conflict: conflict with "fleet": .spec.access.users[name="ana@example.org"].role"#
    );
    let nothing = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1",
        "kind": "Team",
        "metadata": {"name": "shared-by-two"},
    });
    apply(&teams, "console", &nothing).await.unwrap();
    let spec = &stored(&teams, "shared-by-two").await["spec"];
    assert_eq!(spec["environments"], json!([{"name": "prod", "limits": {"maxClusters": 2}}]));
    assert_eq!(spec["access"]["users"], json!([{"name": "ana@example.org", "role": "admin"}]));
}

#[tokio::test]
async fn two_managers_own_different_conditions_of_one_cluster() {
    let plane = platform().await;
    let namespace = plane.namespace().await.unwrap();
    let clusters = objects_of(plane, "TenantCluster", &namespace).await;
    let cluster = |key: &str, value: Value| {
        json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1",
            "kind": "TenantCluster",
            "metadata": {"name": "watched"},
            key: value,
        })
    };
    let spec = json!({"kubernetesVersion": "v1.31.4", "workers": {"replicas": 1}});
    apply(&clusters, "user", &cluster("spec", spec)).await.unwrap();

    let condition = |name: &str| {
        json!({
            "type": name,
            "status": "True",
            "reason": "Ready",
            "message": "all is well",
            "lastTransitionTime": "2026-05-02T10:00:00Z",
        })
    };
    for (manager, name) in [("reconciler", "ControlPlaneReady"), ("addons", "AddonsReady")] {
        let status = cluster("status", json!({"conditions": [condition(name)]}));
        let params = PatchParams::apply(manager).validation_strict();
        clusters.patch_status("watched", &params, &Patch::Apply(&status)).await.unwrap();
    }
    let conditions = json!([condition("ControlPlaneReady"), condition("AddonsReady")]);
    assert_eq!(stored(&clusters, "watched").await["status"]["conditions"], conditions);
}

#[tokio::test]
async fn applying_a_file_again_changes_nothing() {
    let plane = platform().await;
    let mut file = File::read("valid/tenant-cluster.yaml").objects();
    // What users apply has no status; kubectl would see the one that was not stored as a change for ever.
    file.iter_mut().for_each(|object| merge(object, &json!({"status": null})));
    let file: Vec<String> = file.iter().map(Value::to_string).collect();
    for (server_side, first, again) in [
        (false, "created", "unchanged"),
        // kubectl says the same word every time; that nothing changed shows in the versions.
        (true, "serverside-applied", "serverside-applied"),
    ] {
        let namespace = plane.namespace().await.unwrap();
        let clusters = objects_of(plane, "TenantCluster", &namespace).await;
        let flag = format!("--server-side={server_side}");
        let apply = async || {
            let apply = ["apply", &flag, "--validate=strict", "-n", &namespace, "-f", "-"];
            plane.kubectl_with_input(&apply, &file.join("\n---\n")).await.unwrap().success().unwrap()
        };
        let shown = apply().await;
        assert!(shown.lines().all(|line| line.ends_with(first)), "{shown}");
        // Who owns what schema defaults wrote into an object that sets nothing itself is noted at its second apply.
        apply().await;
        let before = versions(&clusters).await;
        let shown = apply().await;
        assert!(shown.lines().all(|line| line.ends_with(again)), "{shown}");
        assert_eq!(versions(&clusters).await, before);
        assert_eq!(before.len(), file.len());
    }
}

async fn apply(objects: &Api<DynamicObject>, manager: &str, object: &Value) -> Result<(), String> {
    let name = object["metadata"]["name"].as_str().unwrap();
    let params = PatchParams::apply(manager).validation_strict();
    match objects.patch(name, &params, &Patch::Apply(object)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(status.message),
        Err(error) => panic!("{error}"),
    }
}

async fn stored(objects: &Api<DynamicObject>, name: &str) -> Value {
    serde_json::to_value(objects.get(name).await.unwrap()).unwrap()
}

async fn versions(objects: &Api<DynamicObject>) -> Vec<Option<String>> {
    let listed = objects.list(&Default::default()).await.unwrap();
    listed.items.into_iter().map(|object| object.metadata.resource_version).collect()
}
