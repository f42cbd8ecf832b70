//! Puts the platform's objects on the API server, changes them for a case and changes them back.

use std::time::Duration;

use butler_bench::ControlPlane;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::case::{directory, documents, files, merged, of_kind, place, without_status};

/// Keeps an object that is being deleted.
const HELD: &str = "suite.example.org/held";
/// What a ledger says that waits to hear of earlier changes.
const UNDER_WAY: &str = "too many changes of this cluster are under way; try again in a minute";
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
            platform.put(object).await.unwrap();
        }
        platform
    }

    /// Changes it for a case, and notes what has to be put back and what has to go.
    pub(super) async fn change(&self, tweaks: &[Value], changed: &mut Changed) -> Result<(), String> {
        for tweak in tweaks {
            let own = self.objects.iter().find(|object| place(object) == place(tweak)).cloned();
            if tweak["gone"] == true {
                changed.put_back.extend(own);
                self.remove(tweak).await?;
                continue;
            }
            let like = own.as_ref().or_else(|| of_kind(&self.minimal, tweak["kind"].as_str().unwrap()));
            let mut object = like.map_or_else(|| tweak.clone(), |like| merged(like.clone(), tweak));
            let is_leaving = object["metadata"]["deletionTimestamp"].is_string();
            if is_leaving {
                object["metadata"].as_object_mut().unwrap().remove("deletionTimestamp");
                object["metadata"]["finalizers"] = json!([HELD]);
            }
            match own {
                Some(own) => changed.put_back.push(own),
                None => changed.remove.push(object.clone()),
            }
            self.put(&object).await?;
            if is_leaving {
                let (_, _, name) = place(&object);
                let left = api(&self.client, &object).delete(&name, &DeleteParams::default()).await;
                left.map_err(|error| failed("delete", &object, &error))?;
            }
        }
        Ok(())
    }

    /// Makes it as it was. What depends on the object of the case goes before it, and what it depends on changes back
    /// after it. What cannot go before, because a changed object needs it, goes at the end.
    pub(super) async fn restore(&self, changed: &Changed, made: Option<&Value>) -> Result<(), String> {
        let mut needed = Vec::new();
        for object in changed.remove.iter().rev().chain(made) {
            if self.remove(object).await.is_err() {
                needed.push(object);
            }
        }
        for object in changed.put_back.iter().rev() {
            self.put(object).await?;
        }
        for object in needed {
            self.remove(object).await?;
        }
        Ok(())
    }

    /// Makes an object and its status be exactly so. Applying would leave empty lists behind.
    async fn put(&self, object: &Value) -> Result<(), String> {
        let (kind, _, name) = place(object);
        let api = api(&self.client, object);
        let mut typed: DynamicObject = serde_json::from_value(without_status(object)).unwrap();
        let put = loop {
            let there = api.get_opt(&name).await.map_err(|error| failed("read", object, &error))?;
            let put = match there {
                None => api.create(&PostParams::default(), &typed).await,
                Some(there) => {
                    typed.metadata.resource_version = there.metadata.resource_version;
                    api.replace(&name, &PostParams::default(), &typed).await
                }
            };
            // The gate writes what a team uses into its status, now and then in between.
            if !matches!(&put, Err(kube::Error::Api(status)) if status.code == 409) {
                break put;
            }
        };
        let put = put.map_err(|error| failed("put", object, &error))?;
        let (before, after) = (put.data.get("status"), object.get("status"));
        if before != after && kind != "Namespace" {
            // A merge alone would keep what the old status had besides.
            for status in [None, after] {
                let patch = Patch::Merge(json!({"status": status}));
                let written = api.patch_status(&name, &PatchParams::default(), &patch).await;
                written.map_err(|error| failed("write the status of", object, &error))?;
            }
        }
        Ok(())
    }

    /// Stores an object as somebody.
    pub(super) async fn store(&self, client: &kube::Client, object: &Value) -> Result<(), String> {
        let (_, _, name) = place(object);
        let typed: DynamicObject = serde_json::from_value(without_status(object)).unwrap();
        let place = api(client, object);
        // The cases make and remove one cluster again and again, faster than its ledger hears of it.
        let mut patience = 120;
        let stored = loop {
            let stored = place.create(&PostParams::default(), &typed).await;
            patience -= 1;
            match &stored {
                Err(kube::Error::Api(status)) if patience > 0 && status.message.contains(UNDER_WAY) => {
                    sleep(Duration::from_secs(1)).await;
                }
                _ => break stored,
            }
        };
        stored.map_err(|error| failed("store the old", object, &error))?;
        if let Some(status) = object.get("status") {
            let patch = Patch::Merge(json!({"status": status}));
            let written =
                api(&self.client, object).patch_status(&name, &PatchParams::default(), &patch).await;
            written.map_err(|error| failed("write the status of", object, &error))?;
        }
        Ok(())
    }

    /// Removes an object, whatever holds it, and waits until it is gone.
    async fn remove(&self, object: &Value) -> Result<(), String> {
        let (kind, _, name) = place(object);
        let api = api(&self.client, object);
        let there = api.get_opt(&name).await.map_err(|error| failed("read", object, &error))?;
        if there.is_some_and(|there| there.metadata.finalizers.is_some()) {
            let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            let freed = api.patch(&name, &PatchParams::default(), &free).await;
            freed.map_err(|error| failed("free", object, &error))?;
        }
        match api.delete(&name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(failed("delete", object, &error)),
            Ok(_) => {}
        }
        // A namespace takes its time, and nobody waits for its name.
        while kind != "Namespace" && api.get_opt(&name).await.is_ok_and(|there| there.is_some()) {
            sleep(GLANCE).await;
        }
        Ok(())
    }
}

fn failed(what: &str, object: &Value, error: &kube::Error) -> String {
    let (kind, _, name) = place(object);
    format!("cannot {what} {kind} `{name}`: {error}")
}

/// What a case changed.
#[derive(Default)]
pub(super) struct Changed {
    put_back: Vec<Value>,
    remove: Vec<Value>,
}
