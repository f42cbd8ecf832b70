//! One of the two control planes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::time::Duration;

use futures::StreamExt;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::answer::Answer;
use crate::corpus::{Folder, Operation, is_policy};
use crate::harness::{Gate, Setup};
use crate::objects::{definitions, eventually, read};
use crate::planned::{Planned, merged, name_of, selected};

/// As many requests at once as keep two processors busy.
const BESIDE_EACH_OTHER: usize = 8;
/// The API server looks for kinds of params and for objects of theirs a moment after it knows the policy.
const SYNCING: Duration = Duration::from_secs(60);
const MARKER: &str = "webhook/tests/same_verdict/marker.yaml";
const ADDONS: &str = "manifests/samples/platform/addon-definitions.yaml";
const PLATFORM: &str = "webhook/tests/same_verdict/platform.yaml";

/// A control plane with the gate in force.
pub(crate) struct Side {
    gate: Gate,
}

impl Side {
    pub(crate) async fn start(policies: bool) -> Self {
        let gate = Gate::start(Setup { recorded: true, policies, ..Setup::default() }).await;
        for platform in [PLATFORM, ADDONS] {
            gate.plane().apply(&read(platform)).await.unwrap();
        }
        Self { gate }
    }

    /// Makes everything that there is before the first request, while no policy is in force. Gives the ids of cases whose
    /// object the gate's own rules do not let in, so that nothing can be asked of it.
    pub(crate) async fn set_up(&self, folders: &[Folder], planned: &[Planned]) -> BTreeSet<String> {
        let namespaces = planned.iter().filter_map(Planned::namespace);
        let places: BTreeMap<&str, &Value> = namespaces.map(|it| (name_of(it), it)).collect();
        // A team takes the namespace of its name only if that is not there before.
        self.apply_all(places.keys().map(|name| team(name)).collect()).await;
        self.apply_all(places.values().copied().cloned().collect()).await;
        let params = folders.iter().flat_map(|folder| folder.params.iter());
        let params: Vec<Value> =
            params.chain(planned.iter().flat_map(|planned| &planned.params)).cloned().collect();
        let spaces = params.iter().filter_map(|param| param["metadata"]["namespace"].as_str());
        let spaces: BTreeSet<&str> = spaces.filter(|space| !places.contains_key(space)).collect();
        self.apply_all(spaces.into_iter().map(namespace).collect()).await;
        self.apply_all(params).await;
        let clusters: BTreeMap<String, Value> =
            planned.iter().filter_map(cluster_of).map(|cluster| (cluster.to_string(), cluster)).collect();
        self.apply_all(clusters.into_values().collect()).await;
        let store = |planned: &Planned| {
            let (id, stored) = (planned.id.clone(), planned.stored.clone().map(without_deletion));
            async move {
                let refused = self.apply(&stored?).await.err()?;
                let by_rules =
                    refused["message"].as_str().is_some_and(|it| it.starts_with("admission webhook"));
                assert!(by_rules, "{id}: {refused}");
                Some(id)
            }
        };
        let refused = futures::stream::iter(planned).map(store).buffer_unordered(BESIDE_EACH_OTHER);
        let refused: BTreeSet<String> = refused.filter_map(async |id| id).collect().await;
        for planned in planned {
            if planned.stored.as_ref().is_some_and(is_leaving) && !refused.contains(&planned.id) {
                let path = format!("{}/{}", collection(&planned.object), name_of(&planned.object));
                let (code, body) = self.send(Request::delete(path), &json!({})).await;
                assert_eq!(code, 200, "{body}");
            }
        }
        refused
    }

    async fn apply(&self, object: &Value) -> Result<(), Value> {
        let path = format!("{}/{}?fieldManager=same-verdict&force=true", collection(object), name_of(object));
        let request = Request::patch(path).header("Content-Type", "application/apply-patch+yaml");
        let (code, body) = self.send(request, object).await;
        if code < 300 { Ok(()) } else { Err(body) }
    }

    /// Puts objects where they belong, in any order.
    async fn apply_all(&self, objects: Vec<Value>) {
        let apply = |object: Value| async move {
            self.apply(&object).await.unwrap_or_else(|refused| panic!("{object}: {refused}"));
        };
        futures::stream::iter(objects)
            .map(apply)
            .buffer_unordered(BESIDE_EACH_OTHER)
            .collect::<Vec<_>>()
            .await;
    }

    /// Gives the policies to the API server, and waits until it enforces them.
    pub(crate) async fn enforce_by_api_server(&self, folders: &[Folder]) {
        let (policies, bindings): (Vec<Value>, Vec<Value>) =
            folders.iter().flat_map(kept_to_its_folder).partition(is_policy);
        self.apply_all(policies).await;
        self.apply_all(bindings).await;
        let marker: Vec<Value> = serde_saphyr::from_multiple(&read(MARKER)).unwrap();
        self.apply_all(marker).await;
        self.wait_for_marker().await;
    }

    /// Gives the policies to the gate, and waits until it enforces them.
    pub(crate) async fn enforce_by_gate(&self, folders: &[Folder]) {
        let directory = self.gate.policy_directory();
        for folder in folders {
            let objects: Vec<String> = kept_to_its_folder(folder)
                .into_iter()
                .chain(folder.params.iter().cloned())
                .map(|object| object.to_string())
                .collect();
            fs::write(directory.join(format!("{}.yaml", folder.name)), objects.join("\n---\n")).unwrap();
        }
        fs::write(directory.join("marker.yaml"), read(MARKER)).unwrap();
        self.wait_for_marker().await;
    }

    async fn wait_for_marker(&self) {
        self.apply_all(vec![team("marker")]).await;
        self.apply_all(vec![namespace("marker")]).await;
        let probe = cluster("marker", "probe");
        eventually("all policies are in force", async || {
            let path = format!("{}?dryRun=All", collection(&probe));
            let (_, body) = self.send(Request::post(path), &probe).await;
            body["message"].as_str().is_some_and(|message| message.contains("everything is in force"))
        })
        .await;
    }

    /// Asks everything, and gives the answers in the same order.
    pub(crate) async fn ask_all(&self, planned: &[Planned]) -> Vec<Answer> {
        let asked = futures::stream::iter(planned).map(|planned| self.ask(planned));
        let mut answers: Vec<Answer> = asked.buffered(BESIDE_EACH_OTHER).collect().await;
        let ids = planned.iter().map(|planned| planned.id.as_str());
        let mut noted = self.audit_annotations(ids.collect()).await;
        for (planned, answer) in planned.iter().zip(&mut answers) {
            answer.audit = noted.remove(&planned.id).unwrap();
        }
        answers
    }

    async fn ask(&self, planned: &Planned) -> Answer {
        let started = Instant::now();
        loop {
            let answer = self.ask_once(planned).await;
            let is_settled = !answer.message().contains("not yet synced to use for admission");
            if is_settled || started.elapsed() > SYNCING {
                return answer;
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    async fn ask_once(&self, planned: &Planned) -> Answer {
        let object = &planned.object;
        let (all, name) = (collection(object), name_of(object));
        let dry_run = if planned.dry_run { "?dryRun=All" } else { "" };
        let (method, path, body) = match planned.operation {
            Operation::Create => (Method::POST, all, object.clone()),
            Operation::Delete => (Method::DELETE, format!("{all}/{name}"), json!({})),
            Operation::Update => {
                let path = format!("{all}/{name}");
                let (_, stored) = self.send(Request::get(&path), &json!({})).await;
                let version = json!({"metadata": {"resourceVersion": stored["metadata"]["resourceVersion"]}});
                (Method::PUT, path, merged(without_deletion(object.clone()), &version))
            }
            Operation::Scale => {
                let body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
                    "metadata": {"name": name, "namespace": object["metadata"]["namespace"]},
                    "spec": {"replicas": planned.replicas}});
                (Method::PUT, format!("{all}/{name}/scale"), body)
            }
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{path}{dry_run}"))
            .header("Audit-ID", &planned.id)
            .header("Content-Type", "application/json");
        if let Some(person) = &planned.person {
            request = request.header("Impersonate-User", &person.username);
            for group in person.groups.iter().filter(|group| *group != "system:authenticated") {
                request = request.header("Impersonate-Group", group);
            }
        }
        let request = request.body(Body::from(body.to_string().into_bytes())).unwrap();
        let response = self.gate.client().send(request).await.unwrap();
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let warnings = head.headers.get_all("Warning").iter();
        let warnings = warnings.map(|it| String::from_utf8(it.as_bytes().to_vec()).unwrap());
        Answer {
            code: head.status.as_u16(),
            warnings: warnings.collect(),
            body: serde_json::from_slice(&body).unwrap(),
            audit: BTreeMap::new(),
        }
    }

    async fn send(&self, request: http::request::Builder, body: &Value) -> (u16, Value) {
        let is_typed = request.headers_ref().is_some_and(|headers| headers.contains_key("Content-Type"));
        let request = if is_typed { request } else { request.header("Content-Type", "application/json") };
        let request = request.body(Body::from(body.to_string().into_bytes())).unwrap();
        let response = self.gate.client().send(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// What the audit log has under these ids.
    async fn audit_annotations(&self, ids: Vec<&str>) -> HashMap<String, BTreeMap<String, String>> {
        let mut found = HashMap::new();
        eventually("the audit log has all requests", async || {
            let events = self.gate.audit_events();
            let annotations = |event: &Value| {
                let id = event["auditID"].as_str()?.to_owned();
                let noted = event["annotations"].as_object().into_iter().flatten();
                let noted = noted.map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()));
                Some((id, noted.collect()))
            };
            found = events.iter().filter_map(annotations).collect();
            ids.iter().all(|id| found.contains_key(*id))
        })
        .await;
        found
    }
}

/// The policies and bindings of a folder, which then judge nothing but what the folder asks for.
fn kept_to_its_folder(folder: &Folder) -> Vec<Value> {
    let is_namespaced = |object: &Value| object["metadata"]["namespace"].is_string();
    let objects = folder.file.cases.iter().filter_map(|case| case.object.as_ref()).chain(&folder.file.object);
    let selector = if objects.clone().all(is_namespaced) { "namespaceSelector" } else { "objectSelector" };
    let selector = json!({"spec": {"matchConstraints": {selector: {"matchLabels": selected(&folder.name)}}}});
    let keep =
        |object: &Value| if is_policy(object) { merged(object.clone(), &selector) } else { object.clone() };
    folder.rules.iter().map(keep).collect()
}

/// Where objects of a kind are, in the namespace of this one.
fn collection(object: &Value) -> String {
    let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let base = if api_version == "v1" { "/api/v1".to_owned() } else { format!("/apis/{api_version}") };
    let definition = definitions().iter().find(|definition| definition.spec.names.kind == kind);
    let plural = match (definition, kind.strip_suffix("Policy")) {
        (Some(definition), _) => definition.spec.names.plural.clone(),
        (None, Some(kind)) => format!("{}policies", kind.to_lowercase()),
        (None, None) => format!("{}s", kind.to_lowercase()),
    };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{base}/namespaces/{namespace}/{plural}"),
        None => format!("{base}/{plural}"),
    }
}

fn is_leaving(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn without_deletion(object: Value) -> Value {
    merged(object, &json!({"metadata": {"deletionTimestamp": null}}))
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// The team that a namespace belongs to. Everybody is in it, so that rules have nothing against who asks.
fn team(name: &str) -> Value {
    json!({"apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "metadata": {"name": name},
        "spec": {"access": {"groups": [{"name": "system:authenticated", "role": "admin"}]}}})
}

fn cluster(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"kubernetesVersion": "v1.31.4", "teamRef": {"name": namespace},
            "providerConfigRef": {"name": "harvester-prod"}, "workers": {"replicas": 3}}})
}

/// The cluster that an addon is for.
fn cluster_of(planned: &Planned) -> Option<Value> {
    let name = planned.object["spec"]["clusterRef"]["name"].as_str()?;
    (planned.object["kind"] == "TenantAddon").then(|| cluster(name_of(planned.namespace().unwrap()), name))
}
