//! A platform, somebody with the rights of the gate, and facts that are kept up to date.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use butler_api::reference::NsRef;
use butler_bench::ControlPlane;
use butler_policies::facts::Facts;
use butler_webhook::facts::{Metrics, Pace, Snapshots, Synced, watch};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

/// How long anything may take on a busy machine before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// As in use, only faster.
pub(crate) const PACE: Pace = Pace {
    lost_after: Duration::from_secs(15),
    watch: Duration::from_secs(2),
    secrets: Duration::from_secs(1),
    failed_secrets: Duration::from_secs(1),
};

/// What the documentation of the facts asks for, and nothing else.
const RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: facts }
rules:
  - apiGroups: [butler.butlerlabs.dev]
    resources:
      - addondefinitions
      - butlerconfigs
      - clustercreationpolicies
      - ipallocations
      - networkpools
      - providerconfigs
      - teams
      - tenantaddons
      - tenantclusters
      - users
    verbs: [get, list, watch]
  - { apiGroups: [''], resources: [namespaces], verbs: [get, list, watch] }
  - { apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: facts }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: facts }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: gate }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: facts-credentials }
rules: [{ apiGroups: [''], resources: [secrets], verbs: [get] }]
";

/// The shared control plane with Butler's definitions and the rights of the gate.
pub(crate) async fn platform() -> &'static ControlPlane {
    static READY: OnceCell<()> = OnceCell::const_new();
    let plane = ControlPlane::shared().await.unwrap();
    READY
        .get_or_init(|| async {
            plane.install_crds(definitions()).await.unwrap();
            plane.apply(RIGHTS).await.unwrap();
        })
        .await;
    plane
}

/// Lets the gate read Secrets of a namespace.
pub(crate) async fn allow_credentials(plane: &ControlPlane, namespace: &str) {
    let binding = "
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: facts }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: facts-credentials }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: gate }]
";
    plane.apply_in(namespace, binding).await.unwrap();
}

/// A control plane of its own, for a test that stops it or wants it empty.
pub(crate) async fn own_plane() -> ControlPlane {
    let plane = ControlPlane::start(butler_bench::Options::default().without_controllers()).await.unwrap();
    plane.apply(RIGHTS).await.unwrap();
    plane
}

/// Butler's definitions, but for Teams and Users anything may be written, as an older definition might have let it.
pub(crate) fn definitions() -> &'static [CustomResourceDefinition] {
    static ALL: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(|| {
        let mut all = butler_api::crd::all();
        for definition in &mut all {
            if !matches!(definition.spec.names.kind.as_str(), "Team" | "User") {
                continue;
            }
            for version in &mut definition.spec.versions {
                version.schema.as_mut().unwrap().open_api_v3_schema = Some(JSONSchemaProps {
                    type_: Some("object".to_owned()),
                    x_kubernetes_preserve_unknown_fields: Some(true),
                    ..JSONSchemaProps::default()
                });
            }
        }
        all
    });
    &ALL
}

/// A client with the rights of the gate.
pub(crate) async fn gate(plane: &ControlPlane) -> Client {
    plane.user("gate", &[]).unwrap().client().await.unwrap()
}

/// Facts that are kept up to date until this is dropped.
pub(crate) struct Running {
    pub(crate) synced: Synced,
    snapshots: Arc<Snapshots>,
    metrics: Metrics,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) async fn start(plane: &ControlPlane) -> Self {
        let (snapshots, metrics) = (Arc::new(Snapshots::new(Facts::default())), Metrics::default());
        let (synced, watches) = watch(gate(plane).await, snapshots.clone(), metrics.clone(), PACE);
        let task = tokio::spawn(async move { match watches.await {} });
        Self { synced, snapshots, metrics, task }
    }

    pub(crate) async fn synced(plane: &ControlPlane) -> Self {
        let mut running = Self::start(plane).await;
        let waited = tokio::time::timeout(PATIENCE, running.synced.wait()).await;
        assert!(waited.is_ok(), "never synced: {:?}", running.synced.missing());
        running
    }

    pub(crate) fn facts(&self) -> Arc<Facts> {
        self.snapshots.current()
    }

    /// Waits until the facts are so.
    pub(crate) async fn until(&self, what: &str, mut is_so: impl FnMut(&Facts) -> bool) {
        eventually(what, async || is_so(&self.facts())).await;
    }

    /// The sum of the metrics that begin like this, if there are any.
    pub(crate) fn metric(&self, beginning: &str) -> Option<f64> {
        let mut registry = Registry::default();
        self.metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let lines = text.lines().filter(|line| line.starts_with(beginning));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).reduce(|a, b| a + b)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_so().await {
        assert!(started.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(crate) fn at(namespace: &str, name: &str) -> NsRef {
    NsRef { name: name.to_owned(), namespace: namespace.to_owned() }
}

/// One object of every kind, named after a namespace, in which those are that live in one.
pub(crate) fn one_of_each(namespace: &str) -> String {
    format!(
        "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ButlerConfig
metadata: {{ name: butler }}
spec: {{ multiTenancy: {{ mode: Enforced }} }}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: {{ name: {namespace} }}
spec: {{ displayName: One }}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantCluster
metadata: {{ name: orders, namespace: {namespace} }}
spec: {{ kubernetesVersion: v1.31.4, teamRef: {{ name: {namespace} }}, workers: {{ replicas: 1 }} }}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantAddon
metadata: {{ name: argocd, namespace: {namespace} }}
spec: {{ clusterRef: {{ name: orders }}, addon: {namespace}, version: 7.7.5 }}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: AddonDefinition
metadata: {{ name: {namespace} }}
spec:
  displayName: Argo CD
  description: GitOps
  category: gitops
  chart: {{ repository: 'https://charts.example.org', name: argo-cd, defaultVersion: 7.7.5 }}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ProviderConfig
metadata: {{ name: harvester, namespace: {namespace} }}
spec:
  provider: harvester
  credentialsRef: {{ name: credentials }}
  harvester: {{ networkName: default/vlan40, imageName: default/talos }}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: NetworkPool
metadata: {{ name: vlan50, namespace: {namespace} }}
spec: {{ cidr: 10.50.0.0/22 }}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: IPAllocation
metadata: {{ name: orders-nodes, namespace: {namespace} }}
spec:
  poolRef: {{ name: vlan50 }}
  tenantClusterRef: {{ name: orders, namespace: {namespace} }}
  type: nodes
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ClusterCreationPolicy
metadata: {{ name: {namespace} }}
spec: {{ scope: {{ platformWide: {{}} }}, options: {{ image: {{ mode: pin, values: [default/talos] }} }} }}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: User
metadata: {{ name: {namespace} }}
spec: {{ email: Ana@{namespace}.example.org }}
"
    )
}
