//! Puts the platform's objects on the API server, changes them for a case and changes them back.

use std::time::Duration;

use butler_bench::ControlPlane;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::case::{directory, documents, files, merged, of_kind, place, without_status};

const MANAGER: &str = "butler-suite";
/// Keeps an object that is being deleted.
const HELD: &str = "suite.example.org/held";
const GLANCE: Duration = Duration::from_millis(20);

/// The kinds that cases are made of.
const KINDS: &[(&str, &str, bool)] = &[
    ("Namespace", "namespaces", false),
    ("Secret", "secrets", true),
    ("ClusterRole", "clusterroles", false),
    ("ClusterRoleBinding", "clusterrolebindings", false),
    ("ButlerConfig", "butlerconfigs", false),
    ("User", "users", false),
    ("Team", "teams", false),
    ("ProviderConfig", "providerconfigs", true),
    ("NetworkPool", "networkpools", true),
    ("IPAllocation", "ipallocations", true),
    ("AddonDefinition", "addondefinitions", false),
    ("ClusterCreationPolicy", "clustercreationpolicies", false),
    ("TenantCluster", "tenantclusters", true),
    ("TenantAddon", "tenantaddons", true),
];

/// The API of an object's kind, where the object is.
pub(super) fn api(client: &kube::Client, object: &Value) -> Api<DynamicObject> {
    let (kind, namespace, _) = place(object);
    let (_, plural, namespaced) = KINDS.iter().find(|(known, _, _)| *known == kind).unwrap_or_else(|| {
        panic!("no kind `{kind}` in {object}");
    });
    let (group, version) = match kind.as_str() {
        "Namespace" | "Secret" => ("", "v1"),
        "ClusterRole" | "ClusterRoleBinding" => ("rbac.authorization.k8s.io", "v1"),
        _ => (butler_api::GROUP, butler_api::VERSION),
    };
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version,
        kind,
        plural: (*plural).to_owned(),
    };
    if *namespaced {
        Api::namespaced_with(client.clone(), &namespace, &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    }
}

/// The common platform, as the administrator sees it.
pub(super) struct Platform {
    pub(super) client: kube::Client,
    objects: Vec<Value>,
    minimal: Vec<Value>,
}

impl Platform {
    /// Sets it up on a control plane with Butler's kinds.
    pub(super) async fn set_up(plane: &ControlPlane, minimal: &[Value]) -> Self {
        let client = plane.client().await.unwrap();
        let objects: Vec<Value> =
            files(&directory().join("platform")).iter().flat_map(|path| documents(path)).collect();
        let platform = Self { client, objects, minimal: minimal.to_vec() };
        for object in &platform.objects {
            platform.put(object).await;
        }
        platform
    }

    /// Changes it for a case. Returns what has to be put back, and what has to go.
    pub(super) async fn change(&self, tweaks: &[Value]) -> Changed {
        let mut changed = Changed::default();
        for tweak in tweaks {
            let own = self.objects.iter().find(|object| place(object) == place(tweak)).cloned();
            if tweak["gone"] == true {
                self.remove(tweak).await;
                changed.put_back.extend(own);
                continue;
            }
            let like = own.as_ref().or_else(|| of_kind(&self.minimal, tweak["kind"].as_str().unwrap()));
            let mut object = like.map_or_else(|| tweak.clone(), |like| merged(like.clone(), tweak));
            let is_leaving = object["metadata"]["deletionTimestamp"].is_string();
            if is_leaving {
                object["metadata"].as_object_mut().unwrap().remove("deletionTimestamp");
                object["metadata"]["finalizers"] = json!([HELD]);
            }
            self.put(&object).await;
            if is_leaving {
                let (_, _, name) = place(&object);
                api(&self.client, &object).delete(&name, &DeleteParams::default()).await.unwrap();
            }
            match own {
                Some(own) => changed.put_back.push(own),
                None => changed.remove.push(object),
            }
        }
        changed
    }

    /// Makes it as it was.
    pub(super) async fn restore(&self, changed: &Changed) {
        for object in changed.remove.iter().rev() {
            self.remove(object).await;
        }
        for object in changed.put_back.iter().rev() {
            self.put(object).await;
        }
    }

    /// Applies an object and its status.
    pub(super) async fn put(&self, object: &Value) {
        let (kind, _, name) = place(object);
        let api = api(&self.client, object);
        let params = PatchParams::apply(MANAGER).force();
        let put = api.patch(&name, &params, &Patch::Apply(without_status(object))).await;
        let put = put.unwrap_or_else(|error| panic!("{kind} `{name}`: {error}"));
        let (before, after) = (put.data.get("status"), object.get("status"));
        if before != after && kind != "Namespace" {
            let status = Patch::Merge(json!({"status": after}));
            // A merge would keep what the old status had besides.
            let nothing = Patch::Merge(json!({"status": null}));
            api.patch_status(&name, &PatchParams::default(), &nothing).await.unwrap();
            let written = api.patch_status(&name, &PatchParams::default(), &status).await;
            written.unwrap_or_else(|error| panic!("status of {kind} `{name}`: {error}"));
        }
    }

    /// Stores an object as somebody.
    pub(super) async fn store(&self, client: &kube::Client, object: &Value) {
        let (kind, _, name) = place(object);
        let typed: DynamicObject = serde_json::from_value(without_status(object)).unwrap();
        let stored = api(client, object).create(&PostParams::default(), &typed).await;
        stored.unwrap_or_else(|error| panic!("old {kind} `{name}`: {error}"));
        if let Some(status) = object.get("status") {
            let status = Patch::Merge(json!({"status": status}));
            api(&self.client, object).patch_status(&name, &PatchParams::default(), &status).await.unwrap();
        }
    }

    /// Removes an object, whatever holds it, and waits until it is gone.
    pub(super) async fn remove(&self, object: &Value) {
        let (kind, _, name) = place(object);
        let api = api(&self.client, object);
        let held = api.get_opt(&name).await.unwrap();
        if held.is_some_and(|held| held.metadata.finalizers.is_some()) {
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            api.patch(&name, &PatchParams::default(), &free).await.unwrap();
        }
        match api.delete(&name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{kind} `{name}` stays: {error}"),
        }
        while kind != "Namespace" && api.get_opt(&name).await.unwrap().is_some() {
            sleep(GLANCE).await;
        }
    }
}

/// What a case changed.
#[derive(Default)]
pub(super) struct Changed {
    put_back: Vec<Value>,
    remove: Vec<Value>,
}
