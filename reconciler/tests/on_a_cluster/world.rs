//! A control plane with Butler's kinds, and the reconciler on it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use butler_api::Team;
use butler_api::team::TeamPhase;
use butler_bench::control_plane::free_port;
use butler_bench::guard::{Held, Streams};
use butler_bench::patience::PATIENCE;
use butler_bench::proxy::{Asked, Fate};
use butler_bench::{ControlPlane, Options, Proxy, User, eventually};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The user that the ServiceAccount of the manifests is.
pub(crate) const ACCOUNT: &str = "system:serviceaccount:butler-system:butler-reconciler";
const GROUPS: [&str; 2] = ["system:serviceaccounts", "system:serviceaccounts:butler-system"];

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap()
}

/// Making the definitions takes a while in a debug build, so they are made once.
fn definitions() -> &'static [CustomResourceDefinition] {
    static ALL: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(butler_api::crd::all);
    &ALL
}

/// A control plane with Butler's kinds, the reconciler's rights, and as many replicas as are started. Everything ends when
/// it is dropped.
pub(crate) struct World {
    // Before the control plane, which they talk to.
    pub(crate) replicas: Vec<Replica>,
    pub(crate) plane: ControlPlane,
    pub(crate) client: Client,
}

impl World {
    /// One with a replica.
    pub(crate) async fn start() -> Self {
        let mut world = Self::without_replicas(Options::default()).await;
        world.add_replica(&[]).await;
        world
    }

    /// One in which everything is recorded that anybody but the control plane itself does.
    pub(crate) async fn audited() -> Self {
        let policy = json!({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "rules": [{ "level": "Metadata", "userGroups": GROUPS }, { "level": "None" }],
        });
        Self::without_replicas(Options::default().audit_policy(policy.to_string())).await
    }

    pub(crate) async fn without_replicas(options: Options) -> Self {
        let plane = ControlPlane::start(options).await.unwrap();
        plane.install_crds(definitions()).await.unwrap();
        for manifest in ["webhook/namespace", "reconciler/rbac", "reconciler/team-roles"] {
            plane.apply(&read(&format!("manifests/{manifest}.yaml"))).await.unwrap();
        }
        let client = plane.client().await.unwrap();
        Self { replicas: Vec::new(), plane, client }
    }

    /// Somebody with the rights of the manifests.
    pub(crate) fn account(&self) -> User {
        self.plane.user(ACCOUNT, &GROUPS).unwrap()
    }

    pub(crate) async fn add_replica(&mut self, more: &[&str]) {
        let account = self.account();
        self.add_replica_with(account.kubeconfig(), more).await;
    }

    /// One whose requests meet what is decided about them. The proxy lives as long as what is returned.
    pub(crate) async fn add_replica_behind(
        &mut self,
        user: &User,
        decide: impl Fn(&Asked) -> Fate + Send + Sync + 'static,
    ) -> Proxy {
        let kubeconfig =
            self.plane.data_directory().join(format!("proxied-{}.kubeconfig", self.replicas.len()));
        let proxy = Proxy::start(user, kubeconfig, decide).await.unwrap();
        self.add_replica_with(proxy.kubeconfig(), &[]).await;
        proxy
    }

    /// One that reaches the API server by another way.
    pub(crate) async fn add_replica_with(&mut self, kubeconfig: &Path, more: &[&str]) {
        let replica = self.replica(kubeconfig, more).await;
        self.replicas.push(replica);
    }

    /// One that is not waited for.
    pub(crate) fn start_replica(&self, kubeconfig: &Path, more: &[&str]) -> Replica {
        let number = fs::read_dir(self.plane.logs()).unwrap().count();
        let log = self.plane.logs().join(format!("butler-reconciler-{number}.log"));
        Replica::start(kubeconfig, free_port().unwrap(), log, more)
    }

    async fn replica(&self, kubeconfig: &Path, more: &[&str]) -> Replica {
        loop {
            let mut replica = self.start_replica(kubeconfig, more);
            if replica.is_ready_at_last().await {
                return replica;
            }
            // Somebody was faster on the port; anything else is for a person to look at.
            assert!(replica.log().contains("in use"), "the reconciler has ended:\n{}", replica.log());
        }
    }

    pub(crate) fn all<K: Resource<DynamicType = ()>>(&self) -> Api<K> {
        Api::all(self.client.clone())
    }

    pub(crate) fn within<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Applies a manifest as a user does.
    pub(crate) async fn apply(&self, manifest: &Value) {
        self.plane.apply(&manifest.to_string()).await.unwrap();
    }

    /// Everything that the replicas asked of the API server, in order, if that is recorded.
    pub(crate) fn asked(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.plane.audit_log()).unwrap_or_default();
        // The last line may be half written.
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// What they were refused.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let asked = self.asked();
        let refused = asked.iter().filter(|event| event["responseStatus"]["code"] == 403);
        refused.map(|event| format!("{} {}", event["verb"], event["requestURI"])).collect()
    }

    /// What they changed besides the lease.
    pub(crate) fn writes(&self) -> Vec<Value> {
        let is_write = |event: &Value| {
            !matches!(event["verb"].as_str().unwrap_or_default(), "get" | "list" | "watch")
                && event["objectRef"]["resource"] != "leases"
        };
        self.asked().into_iter().filter(is_write).collect()
    }
}

/// A Team without members.
pub(crate) fn team(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "metadata": { "name": name }, "spec": spec })
}

pub(crate) fn cluster(namespace: &str, name: &str, more: Value) -> Value {
    let mut cluster = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "kubernetesVersion": "v1.31.4", "workers": { "replicas": 1,
            "machineTemplate": { "cpu": 4, "memory": "16Gi", "diskSize": "100Gi", "os": { "type": "talos", "version": "v1.9.3" } } },
            "providerConfigRef": { "name": "harvester-prod" } },
    });
    merge(&mut cluster, more);
    cluster
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

/// Each condition as `Type Status Reason`.
pub(crate) fn shown(conditions: &[Condition]) -> Vec<String> {
    let mut lines: Vec<String> =
        conditions.iter().map(|it| format!("{} {} {}", it.type_, it.status, it.reason)).collect();
    lines.sort();
    lines
}

/// The message of a condition.
pub(crate) fn message(conditions: &[Condition], name: &str) -> String {
    conditions.iter().find(|it| it.type_ == name).map(|it| it.message.clone()).unwrap_or_default()
}

/// Whether a team has all that it should have, as it now stands.
pub(crate) fn is_ready(team: &Team) -> bool {
    team.status.as_ref().is_some_and(|status| {
        let mut conditions = shown(&status.conditions);
        conditions.retain(|it| !it.starts_with("QuotaExceeded "));
        conditions == ["NamespaceReady True Ready", "RBACReady True Ready", "Ready True Ready"]
            && status.phase == Some(TeamPhase::Ready)
            && status.namespace == team.metadata.name
            && status.observed_generation == team.metadata.generation
    })
}

/// How many teams are ready.
pub(crate) async fn count_ready(teams: &Api<Team>) -> usize {
    teams.list(&ListParams::default()).await.unwrap().items.iter().filter(|team| is_ready(team)).count()
}

/// Waits until that many teams are ready. As long as there is progress, it is worth waiting.
pub(crate) async fn until_ready(teams: &Api<Team>, wanted: usize) {
    let mut reached = 0;
    while reached < wanted {
        let what = format!("more than {reached} of {wanted} teams are ready");
        eventually(&what, async || count_ready(teams).await > reached).await;
        reached = count_ready(teams).await;
    }
}

/// Waits until an object is as it should be, and gives it.
pub(crate) async fn until<K>(api: &Api<K>, name: &str, what: &str, is_so: impl Fn(&K) -> bool) -> K
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let started = Instant::now();
    loop {
        let found = api.get_opt(name).await.unwrap();
        match found {
            Some(object) if is_so(&object) => return object,
            found => assert!(started.elapsed() < PATIENCE, "in vain: {name}: {what}; it is {found:#?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until there is no such object.
pub(crate) async fn until_gone<K>(api: &Api<K>, name: &str)
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    eventually(&format!("{name} is gone"), async || api.get_opt(name).await.unwrap().is_none()).await;
}

pub(crate) async fn delete<K>(api: &Api<K>, name: &str)
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    api.delete(name, &DeleteParams::default()).await.unwrap();
}

/// Changes an object as a person with kubectl does.
pub(crate) async fn patch<K>(api: &Api<K>, name: &str, change: Value) -> K
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let params = PatchParams { field_manager: Some("kubectl-edit".to_owned()), ..PatchParams::default() };
    api.patch(name, &params, &Patch::Merge(change)).await.unwrap()
}

/// Objects by name, without what differs between two runs.
pub(crate) fn by_name<K: Resource + Serialize>(objects: &[K]) -> BTreeMap<String, Value> {
    let bare = |object: &K| {
        let mut value = serde_json::to_value(object).unwrap();
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"] {
                metadata.remove(field);
            }
            if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
                for owner in owners {
                    owner["uid"] = json!("");
                }
            }
        }
        value
    };
    let name = |object: &K| match object.meta().namespace.as_ref() {
        Some(namespace) => format!("{namespace}/{}", object.name_any()),
        None => object.name_any(),
    };
    objects.iter().map(|object| (name(object), bare(object))).collect()
}

/// A running reconciler. It ends, at once and without being asked, when it is dropped.
pub(crate) struct Replica {
    program: Held,
    port: u16,
    log: PathBuf,
}

impl Replica {
    fn start(kubeconfig: &Path, port: u16, log: PathBuf, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_butler-reconciler"));
        command.arg(format!("--kubeconfig={}", kubeconfig.display()));
        command.arg(format!("--metrics-listen=127.0.0.1:{port}"));
        command.args(more);
        let program = Held::start(&command, Streams::to_log(&log).unwrap()).unwrap();
        Self { program, port, log }
    }

    async fn is_ready_at_last(&mut self) -> bool {
        let started = Instant::now();
        while !self.has_ended() {
            if self.get("/readyz").await.is_some_and(|(status, _)| status == 200) {
                return true;
            }
            assert!(started.elapsed() < PATIENCE, "the reconciler is not ready:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.program.ended().unwrap().is_some()
    }

    pub(crate) fn stop(&mut self) {
        self.program.stop(PATIENCE);
    }

    /// What can be signalled from anywhere.
    pub(crate) fn group(&self) -> Group {
        Group(self.program.group())
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// The sum of all samples of a metric.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.get("/metrics").await.unwrap();
        let samples = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    pub(crate) async fn is_leading(&self) -> bool {
        self.metric("butler_reconciler_leader").await > 0.0
    }

    pub(crate) async fn get(&self, path: &str) -> Option<(u16, String)> {
        butler_bench::plain::get(self.port, path).await
    }
}

/// The processes of one replica.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group(u32);

impl Group {
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
    }

    pub(crate) fn freeze(self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn thaw(self) {
        self.signal(Signal::CONT);
    }

    fn signal(self, signal: Signal) {
        let group = Pid::from_raw(i32::try_from(self.0).unwrap()).unwrap();
        // It may have ended by itself.
        let _ = kill_process_group(group, signal);
    }
}
