//! A mounted directory, the gate that follows it, and reviews to send.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use butler_policies::Presumption;
use butler_policies::facts::{Fact, FactKey, Facts};
use butler_policies::review::Caller;
use butler_webhook::admission::{self, Admission};
use butler_webhook::endpoint::Endpoint;
use butler_webhook::facts::{Look, Snapshots};
use butler_webhook::policy_files::{Metrics, Pace, Policies, PolicyFiles};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::over_tls::{Server, ask};

pub(crate) const VALIDATE: &str = "/validate-butler-butlerlabs-dev-v1alpha1-tenantcluster";
pub(crate) const MUTATE: &str = "/mutate-butler-butlerlabs-dev-v1alpha1-tenantcluster";

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory as a kubelet mounts a ConfigMap: files are links through `..data`, which is swapped as a whole.
pub(crate) struct Mount {
    directory: TempDir,
    version: u64,
}

impl Mount {
    pub(crate) fn of(files: &[(&str, String)]) -> Self {
        let mut mount = Self { directory: tempfile::tempdir().unwrap(), version: 0 };
        mount.swap(files);
        mount
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What a kubelet does, in its order: the new version beside the old one, the swap, new links, the old version away.
    pub(crate) fn swap(&mut self, files: &[(&str, String)]) {
        let (path, old) = (self.directory.path().to_owned(), format!("..version-{}", self.version));
        self.version += 1;
        let new = format!("..version-{}", self.version);
        fs::create_dir(path.join(&new)).unwrap();
        for (name, text) in files {
            fs::write(path.join(&new).join(name), text).unwrap();
        }
        symlink(&new, path.join("..data_tmp")).unwrap();
        fs::rename(path.join("..data_tmp"), path.join("..data")).unwrap();
        for (name, _) in files.iter().filter(|(name, _)| path.join(name).symlink_metadata().is_err()) {
            symlink(Path::new("..data").join(name), path.join(name)).unwrap();
        }
        for entry in fs::read_dir(&path).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if !name.starts_with("..") && !files.iter().any(|(kept, _)| *kept == name) {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        if path.join(&old).exists() {
            fs::remove_dir_all(path.join(&old)).unwrap();
        }
    }
}

/// A gate over TLS that judges by the policies of a directory.
pub(crate) struct World {
    pub(crate) policies: Arc<Policies>,
    pub(crate) server: Server,
    registry: Registry,
    following: tokio::task::JoinHandle<()>,
}

impl World {
    pub(crate) async fn start(directory: &Path) -> Self {
        Self::knowing(directory, Facts::default()).await
    }

    pub(crate) async fn knowing(directory: &Path, facts: Facts) -> Self {
        let quick = Pace { debounce: Duration::from_millis(20), second_look: Duration::from_millis(40) };
        Self::at_pace(directory, facts, quick).await
    }

    pub(crate) async fn at_pace(directory: &Path, facts: Facts, pace: Pace) -> Self {
        let policies = Arc::new(Policies::awaited());
        let (metrics, mut registry) = (Metrics::default(), Registry::default());
        metrics.register(&policies, &mut registry);
        let files = PolicyFiles::new(directory, policies.clone(), metrics).pace(pace);
        let following = tokio::spawn(async { match files.run().await {} });
        let facts = Arc::new(Snapshots::new(facts));
        let gate = Admission::new(facts, Nobody, admission::Metrics::default());
        let server = Server::start(gate.with_policies(policies.clone())).await;
        Self { policies, server, registry, following }
    }

    pub(crate) async fn loaded(directory: &Path) -> Self {
        let world = Self::start(directory).await;
        eventually("the policies are loaded", || world.policies.ready().is_ok()).await;
        world
    }

    /// What is answered to a review.
    pub(crate) async fn ask(&self, path: &str, review: &Value) -> Value {
        let (status, body, _) =
            ask(self.server.connect().await, Endpoint::at(path).unwrap(), review.to_string().as_bytes())
                .await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        let answer: Value = serde_json::from_slice(&body).unwrap();
        answer["response"].clone()
    }

    pub(crate) fn metrics(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        text
    }

    /// The value of a metric with its labels; nothing if it is not there.
    pub(crate) fn metric(&self, name: &str) -> Option<f64> {
        let text = self.metrics();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(|value| value.parse().unwrap())
    }

    /// How many loads were refused so far, for whatever reason.
    pub(crate) fn refusals(&self) -> f64 {
        let loads =
            |result: &str| self.metric(&format!("butler_policies_loads_total{{result=\"{result}\"}}"));
        loads("refused").unwrap_or_default() + loads("unreadable").unwrap_or_default()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.following.abort();
    }
}

/// Nothing is there.
struct Nobody;

impl Look for Nobody {
    async fn look(&self, _: &FactKey, _: &Caller<'_>) -> Fact {
        Fact::Absent
    }

    async fn list(&self, _: &Presumption) -> Option<Vec<(FactKey, Fact)>> {
        Some(Vec::new())
    }
}

/// A policy with a binding of the same name.
pub(crate) struct Written<'a> {
    pub(crate) name: &'a str,
    pub(crate) operations: &'a str,
    pub(crate) resources: &'a str,
    pub(crate) validation: &'a str,
    pub(crate) actions: &'a str,
}

impl Default for Written<'_> {
    fn default() -> Self {
        Self {
            name: "few-workers",
            operations: "CREATE, UPDATE",
            resources: "tenantclusters",
            validation: "{expression: object.spec.workers.replicas <= 5, message: at most five workers}",
            actions: "Deny",
        }
    }
}

impl Written<'_> {
    pub(crate) fn text(&self) -> String {
        let Self { name, operations, resources, validation, actions } = self;
        format!(
            r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [butler.butlerlabs.dev], apiVersions: [v1alpha1], operations: [{operations}], resources: [{resources}]}}
  validations:
  - {validation}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}, validationActions: [{actions}]}}
"#
        )
    }
}

/// A mutating policy with a binding, both of that name, that sets a label.
pub(crate) fn labelling(name: &str, label: &str, value: &str) -> String {
    format!(
        r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [butler.butlerlabs.dev], apiVersions: [v1alpha1], operations: [CREATE], resources: [tenantclusters]}}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{{metadata: Object.metadata{{labels: {{"{label}": "{value}"}}}}}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}}}
"#
    )
}

pub(crate) fn cluster(workers: u32) -> Value {
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {"name": "orders", "namespace": "payments", "labels": {"app": "orders"}},
        "spec": {"kubernetesVersion": "v1.31.4", "workers": {"replicas": workers}},
    })
}

/// A review of a TenantCluster, or of that part of it.
pub(crate) fn review(operation: &str, part: &str, object: &Value, old: &Value) -> Value {
    let kind = if part == "scale" {
        json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
    } else {
        json!({"group": "butler.butlerlabs.dev", "version": "v1alpha1", "kind": "TenantCluster"})
    };
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": {"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": "tenantclusters"},
        "subResource": part, "requestSubResource": part,
        "name": "orders", "namespace": "payments", "operation": operation, "dryRun": false,
        "userInfo": {"username": "ana@example.org", "groups": ["system:authenticated"]},
        "object": object, "oldObject": old, "options": null,
    }})
}

pub(crate) fn creation(workers: u32) -> Value {
    review("CREATE", "", &cluster(workers), &Value::Null)
}

pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
