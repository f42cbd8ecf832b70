//! Well-formed reviews, as the API server sends them, of every object that the project has an example of.

use std::fs;
use std::path::{Path, PathBuf};

use butler_webhook::endpoint::{ENDPOINTS, Endpoint, Stage};
use serde_json::{Value, json};

use crate::json::Json;

pub(crate) struct Original {
    pub(crate) endpoint: Endpoint,
    pub(crate) body: Json,
}

/// Every object in every operation at every endpoint of its kind.
pub(crate) fn all() -> Vec<Original> {
    let objects = objects();
    let mut originals = Vec::new();
    for endpoint in ENDPOINTS {
        let same: Vec<&Value> =
            objects.iter().filter(|object| object["kind"] == endpoint.kind.as_str()).collect();
        assert!(!same.is_empty(), "no example of {}", endpoint.kind.as_str());
        let mut add = |operation: &str, sub_resource: &str, object: &Value, old: &Value| {
            let body = review(endpoint.kind.as_str(), operation, sub_resource, object, old);
            originals.push(Original { endpoint: *endpoint, body: Json::from(&body) });
        };
        for (index, object) in same.iter().enumerate() {
            add("CREATE", "", object, &Value::Null);
            add("UPDATE", "", object, &renamed(same[(index + 1) % same.len()], object));
            add("UPDATE", "", &without_spec_parts(object), object);
            if endpoint.stage == Stage::Validating {
                add("DELETE", "", &Value::Null, object);
                add("UPDATE", "status", object, object);
            }
            if endpoint.kind.as_str() == "TenantCluster" && endpoint.stage == Stage::Validating {
                let replicas = 3 * index;
                add("UPDATE", "scale", &scale(object, replicas + 1), &scale(object, replicas));
            }
        }
    }
    originals
}

/// Every object of the corpus, of the samples, and the smallest valid ones with what their schema refuses.
pub(crate) fn objects() -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut objects = Vec::new();
    for folder in
        ["tests/corpus/valid", "tests/corpus/seeds", "manifests/samples", "manifests/samples/platform"]
    {
        for file in yaml_files(&root.join(folder)) {
            objects.extend(documents(&file));
        }
    }
    for file in yaml_files(&root.join("tests/corpus/invalid")) {
        for document in documents(&file) {
            let minimal = &document["minimal"];
            objects.push(minimal.clone());
            for case in document["cases"].as_array().into_iter().flatten() {
                let mut object = minimal.clone();
                json_patch::merge(&mut object, &case["patch"]);
                objects.push(object);
            }
        }
    }
    objects.retain(|object| {
        object["apiVersion"] == "butler.butlerlabs.dev/v1alpha1" && object["kind"].is_string()
    });
    objects.iter_mut().for_each(as_stored);
    objects
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

fn documents(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap();
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// What the API server adds before it asks anybody.
fn as_stored(object: &mut Value) {
    let namespaced = !["Team", "ButlerConfig", "AddonDefinition", "ClusterCreationPolicy", "User"]
        .contains(&object["kind"].as_str().unwrap_or_default());
    let metadata = &mut object["metadata"];
    if namespaced && metadata["namespace"].is_null() {
        metadata["namespace"] = json!("team-a");
    }
    metadata["uid"] = json!("6f0e4b9c-5a52-4d3f-9c8e-0d6d9b1f7a21");
    metadata["creationTimestamp"] = json!("2026-05-02T10:00:00Z");
    metadata["generation"] = json!(1);
    metadata["managedFields"] = json!([{
        "manager": "kubectl", "operation": "Apply", "apiVersion": "butler.butlerlabs.dev/v1alpha1",
        "time": "2026-05-02T10:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:workers": {"f:replicas": {}}}},
    }]);
}

fn renamed(object: &Value, like: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["name"] = like["metadata"]["name"].clone();
    object["metadata"]["namespace"] = like["metadata"]["namespace"].clone();
    object
}

/// As a file that says less than the one before.
fn without_spec_parts(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(spec) = object["spec"].as_object_mut() {
        let names: Vec<String> = spec.keys().step_by(2).cloned().collect();
        names.iter().for_each(|name| drop(spec.remove(name)));
    }
    object
}

fn scale(object: &Value, replicas: usize) -> Value {
    json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": object["metadata"],
        "spec": {"replicas": replicas}, "status": {"replicas": replicas, "selector": ""},
    })
}

pub(crate) fn review(kind: &str, operation: &str, sub_resource: &str, object: &Value, old: &Value) -> Value {
    let metadata = if object.is_null() { &old["metadata"] } else { &object["metadata"] };
    let resource = match kind {
        "ClusterCreationPolicy" => "clustercreationpolicies".to_owned(),
        kind => kind.to_lowercase() + "s",
    };
    let kind = json!({"group": "butler.butlerlabs.dev", "version": "v1alpha1", "kind": kind});
    let resource = json!({"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": resource});
    json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind, "resource": resource, "subResource": sub_resource,
            "requestKind": kind, "requestResource": resource, "requestSubResource": sub_resource,
            "name": metadata["name"], "namespace": metadata["namespace"].as_str().unwrap_or_default(),
            "operation": operation, "userInfo": {"username": "ana@example.org", "groups": ["system:authenticated"]},
            "object": object, "oldObject": old, "dryRun": false, "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        }
    })
}
