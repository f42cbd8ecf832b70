//! While nobody answers at the gate, nothing is created or changed, and everything that is needed to repair and to
//! clean up works.

use butler_bench::{ControlPlane, Options};
use butler_policies::review::Kind;
use butler_webhook::endpoint::{ENDPOINTS, Stage};
use butler_webhook::registration::{self, Target};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::objects::{documents, eventually, install_definitions, objects_of};

/// Nobody listens there.
const NOBODY: &str = "https://127.0.0.1:1";
const FINALIZER: &str = "example.com/hold";

/// An object that is there, and all objects of its kind.
struct Subject {
    kind: String,
    sent: DynamicObject,
    api: Api<DynamicObject>,
}

impl Subject {
    fn name(&self) -> String {
        self.sent.name_any()
    }

    fn shown(&self) -> String {
        format!("{} `{}`", self.kind, self.name())
    }

    async fn merge(&self, patch: Value) -> Result<DynamicObject, kube::Error> {
        self.api.patch(&self.name(), &PatchParams::default(), &Patch::Merge(patch)).await
    }

    async fn passes(&self, what: &str, patch: Value) {
        if let Err(error) = self.merge(patch).await {
            panic!("{what} of {}: {error}", self.shown());
        }
    }

    fn is_refused<T>(&self, what: &str, answer: Result<T, kube::Error>) {
        let Err(kube::Error::Api(status)) = answer else { panic!("{what} of {} passed", self.shown()) };
        // Nothing but the connection: a condition that cannot be evaluated denies too, with other words.
        let message = &status.message;
        assert!(message.starts_with("Internal error occurred: failed calling webhook"), "{what}: {message}");
        assert!(message.ends_with("connect: connection refused"), "{what}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_gate_is_down_what_recovery_needs_passes_and_everything_else_is_refused() {
    let plane = ControlPlane::start(Options::default().without_controllers()).await.unwrap();
    install_definitions(&plane).await;
    let namespace = plane.namespace().await.unwrap();
    // One use of every field of every kind: the conditions meet all shapes of objects.
    let (staying, leaving) =
        (subjects(&plane, &namespace, "staying").await, subjects(&plane, &namespace, "leaving").await);
    assert!(staying.len() > 40, "{}", staying.len());
    for subject in &leaving {
        subject.merge(json!({ "metadata": { "finalizers": [FINALIZER] } })).await.unwrap();
        subject.api.delete(&subject.name(), &DeleteParams::default()).await.unwrap();
    }
    register(&plane, &staying[0]).await;

    for subject in &leaving {
        that_is_leaving_is_let_go(subject).await;
    }
    for subject in &staying {
        that_stays_is_looked_after_and_not_changed(subject).await;
    }
    scaling_is_refused(&plane, &namespace).await;
}

/// All objects of the judged kinds in the corpus, under names of their own.
async fn subjects(plane: &ControlPlane, namespace: &str, prefix: &str) -> Vec<Subject> {
    let client = plane.client().await.unwrap();
    let mut subjects = Vec::new();
    for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.stage == Stage::Validating) {
        let kind = endpoint.kind.as_str();
        let mut all = documents(&format!("tests/corpus/valid/{}.yaml", file_name(kind)));
        if endpoint.kind == Kind::TenantAddon {
            all.push(large_addon());
        }
        for mut sent in all {
            sent.metadata.name = Some(format!("{prefix}-{}", sent.name_any()));
            sent.metadata.namespace = None;
            let api = objects_of(&client, kind, namespace);
            api.create(&PostParams::default(), &sent).await.unwrap();
            subjects.push(Subject { kind: kind.to_owned(), sent, api });
        }
    }
    subjects
}

/// Almost as large as etcd takes, in many small pieces: what a condition may cost is bounded, and one that costs too much
/// has failed.
fn large_addon() -> DynamicObject {
    let values: serde_json::Map<_, _> =
        (0..40_000).map(|number| (format!("key-{number}"), json!(number))).collect();
    let notes: serde_json::Map<_, _> =
        (0..5_000).map(|number| (format!("example.com/note-{number}"), json!("0123456789"))).collect();
    let addon = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantAddon",
        "metadata": { "name": "large", "annotations": notes },
        "spec": { "clusterRef": { "name": "ledger" }, "addon": "prometheus", "values": values } });
    serde_json::from_value(addon).unwrap()
}

/// `TenantCluster` as `tenant-cluster`.
fn file_name(kind: &str) -> String {
    let words = kind.char_indices().map(|(at, letter)| match letter.is_ascii_uppercase() && at > 0 {
        true => format!("-{}", letter.to_ascii_lowercase()),
        false => letter.to_ascii_lowercase().to_string(),
    });
    words.collect()
}

/// Registers the gate where nobody is, and waits until the API server has heard of every webhook.
async fn register(plane: &ControlPlane, witness: &Subject) {
    let target = Target::Url(NOBODY.to_owned());
    let client = plane.client().await.unwrap();
    let params = PostParams::default();
    Api::all(client.clone()).create(&params, &registration::validating(&target)).await.unwrap();
    eventually("the validating stage is in force", async || !is_created(witness).await).await;
    Api::all(client).create(&params, &registration::mutating(&target)).await.unwrap();
    eventually("the mutating stage is in force", async || {
        let refused = dry_create(witness).await.unwrap_err();
        refused.to_string().contains("\"mtenantcluster.kb.io\"")
    })
    .await;
}

async fn dry_create(subject: &Subject) -> Result<DynamicObject, kube::Error> {
    let mut fresh = subject.sent.clone();
    fresh.metadata.name = Some("fresh".to_owned());
    subject.api.create(&PostParams { dry_run: true, ..PostParams::default() }, &fresh).await
}

async fn is_created(subject: &Subject) -> bool {
    dry_create(subject).await.is_ok()
}

async fn that_is_leaving_is_let_go(subject: &Subject) {
    let labels = json!({ "metadata": { "labels": { "example.com/changed": "yes" } } });
    subject.passes("a change on the way out", labels).await;
    subject.api.delete(&subject.name(), &DeleteParams::default()).await.unwrap();
    subject.passes("the removal of the last finalizer", json!({ "metadata": { "finalizers": null } })).await;
    assert!(
        subject.api.get_opt(&subject.name()).await.unwrap().is_none(),
        "{} is still there",
        subject.shown()
    );
}

async fn that_stays_is_looked_after_and_not_changed(subject: &Subject) {
    let owner = json!({ "apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "1" });
    subject.passes("an owner", json!({ "metadata": { "ownerReferences": [owner] } })).await;
    subject.passes("a finalizer", json!({ "metadata": { "finalizers": [FINALIZER] } })).await;
    subject.passes("no finalizer", json!({ "metadata": { "finalizers": null } })).await;
    if let Some(status) = subject.sent.data.get("status") {
        let patch = Patch::Merge(json!({ "status": status }));
        subject.api.patch_status(&subject.name(), &PatchParams::default(), &patch).await.unwrap();
    }

    subject.is_refused("a creation", dry_create(subject).await);
    for place in ["labels", "annotations"] {
        let patch = json!({ "metadata": { place: { "example.com/changed": "yes" } } });
        subject.is_refused(place, subject.merge(patch).await);
    }
    let deleted = subject.api.delete(&subject.name(), &DeleteParams::default()).await;
    subject.is_refused("a deletion", deleted);
}

async fn scaling_is_refused(plane: &ControlPlane, namespace: &str) {
    let client = plane.client().await.unwrap();
    let clusters = objects_of(&client, "TenantCluster", namespace);
    let cluster = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": { "name": "scaled" }, "spec": { "kubernetesVersion": "v1.31.4", "workers": { "replicas": 1 } } });
    let validating: Api<k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration> =
        Api::all(client.clone());
    let mutating: Api<k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration> =
        Api::all(client.clone());
    mutating.delete(registration::NAME, &DeleteParams::default()).await.unwrap();
    validating.delete(registration::NAME, &DeleteParams::default()).await.unwrap();
    let cluster: DynamicObject = serde_json::from_value(cluster).unwrap();
    eventually("the gate is gone", async || clusters.create(&PostParams::default(), &cluster).await.is_ok())
        .await;
    let witness = Subject { kind: "TenantCluster".to_owned(), sent: cluster, api: clusters };
    register(plane, &witness).await;

    let scale = async |replicas: &str| {
        let replicas = format!("--replicas={replicas}");
        let arguments = ["scale", "tenantcluster", "scaled", "-n", namespace, &replicas];
        plane.kubectl(&arguments).await.unwrap()
    };
    let refused = scale("3").await;
    assert!(!refused.status.success());
    assert!(refused.stderr.contains("failed calling webhook \"vtenantcluster.kb.io\""), "{}", refused.stderr);
    // Nothing is asked of anybody by one that changes nothing.
    assert_eq!(scale("1").await.success().unwrap(), "tenantcluster.butler.butlerlabs.dev/scaled scaled\n");
}
