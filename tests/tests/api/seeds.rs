//! The examples of the product's own documents work as they are written.

use butler_bench::ControlPlane;
use serde_json::{Value, json};

use crate::corpus::{File, lost, text};
use crate::platform::{objects_of, platform};

/// The namespaces that the documents' examples live in.
const NAMESPACES: [&str; 2] = ["platform-engineering", "team-a"];

#[tokio::test]
async fn the_documents_examples_work_as_they_are_written() {
    let plane = platform().await;
    for namespace in NAMESPACES {
        plane.kubectl(&["create", "namespace", namespace]).await.unwrap().success().unwrap();
    }
    let mut applied = 0;
    for file in File::folder("seeds") {
        for object in file.objects() {
            let is_butlers =
                object["apiVersion"].as_str().is_some_and(|version| version.starts_with(butler_api::GROUP));
            if is_butlers {
                apply(plane, &file, &object).await;
                applied += 1;
            }
        }
    }
    println!("objects of the documents: {applied}");
    assert_eq!(applied, 5);

    the_lifecycle_documents_changes_work_on_its_cluster(plane).await;
}

async fn apply(plane: &ControlPlane, file: &File, object: &Value) {
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    let apply = ["apply", "--validate=strict", "-f", file.argument()];
    let shown = plane.kubectl(&apply).await.unwrap().success().unwrap();
    assert_eq!(shown, format!("{}.butler.butlerlabs.dev/{name} created\n", kind.to_lowercase()));
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let stored = objects_of(plane, kind, namespace).await.get(name).await.unwrap();
    assert_eq!(lost(object, &serde_json::to_value(stored).unwrap()), [""; 0], "{kind} `{name}`");
}

async fn the_lifecycle_documents_changes_work_on_its_cluster(plane: &ControlPlane) {
    let patch = async |arguments: &[&str]| {
        let command =
            [&["patch", "tenantcluster", "my-cluster", "-n", "team-a", "--type", "merge"], arguments]
                .concat();
        let shown = plane.kubectl(&command).await.unwrap().success().unwrap();
        assert_eq!(shown, "tenantcluster.butler.butlerlabs.dev/my-cluster patched\n");
    };
    let [addons, version, status] = ["patch-addons", "patch-kubernetes-version", "patch-status"]
        .map(|name| File::read(&format!("seeds/{name}.yaml")));
    patch(&["--patch-file", addons.argument()]).await;
    patch(&["--patch-file", version.argument()]).await;
    patch(&["-p", r#"{"spec":{"workers":{"replicas":5}}}"#]).await;
    patch(&["--subresource=status", "--patch-file", status.argument()]).await;

    let cluster = objects_of(plane, "TenantCluster", "team-a").await.get("my-cluster").await.unwrap();
    let stored = serde_json::to_value(cluster).unwrap();
    for sent in [&addons, &version, &status] {
        assert_eq!(lost(&sent.document(), &stored), [""; 0], "{}", sent.path.display());
    }
    assert_eq!(stored["spec"]["workers"]["replicas"], json!(5));
    // Conditions with nothing but type and status are read, not only stored.
    let read: butler_api::TenantCluster = serde_json::from_value(stored).unwrap();
    let conditions = read.status.unwrap().conditions;
    assert_eq!(
        conditions
            .iter()
            .map(|condition| (condition.type_.as_str(), condition.status.as_str()))
            .collect::<Vec<_>>(),
        [("ControlPlaneReady", "True"), ("WorkersReady", "True"), ("AddonsReady", "True")]
    );
}
