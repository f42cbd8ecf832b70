//! Putting objects on the API server: manifests, CRDs, namespaces.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams, TypeMeta};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use tokio::time::sleep;

use super::{ControlPlane, ControlPlaneError};

/// The field manager of everything the bench applies.
pub const FIELD_MANAGER: &str = "butler-bench";

/// A new CRD is served within a few hundred milliseconds.
const SERVED_PATIENCE: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(20);

/// Which kinds are served and how, remembered so that a manifest of many objects asks once for each kind.
#[derive(Debug, Default)]
pub(super) struct Kinds(Mutex<HashMap<TypeMeta, (ApiResource, Scope)>>);

impl ControlPlane {
    /// Applies a manifest of one or more YAML documents by server-side apply with strict validation, and
    /// gives the objects back as stored. CRDs are waited for before anything after them is applied.
    ///
    /// # Errors
    /// When the manifest cannot be read, a kind is not served, or the API server refuses an object.
    pub async fn apply(&self, manifest: &str) -> Result<Vec<DynamicObject>, ControlPlaneError> {
        self.apply_in("default", manifest).await
    }

    /// Like [`apply`](Self::apply), with another namespace for the objects that name none.
    ///
    /// # Errors
    /// When the manifest cannot be read, a kind is not served, or the API server refuses an object.
    pub async fn apply_in(
        &self,
        namespace: &str,
        manifest: &str,
    ) -> Result<Vec<DynamicObject>, ControlPlaneError> {
        let objects: Vec<DynamicObject> = serde_saphyr::from_multiple(manifest)
            .map_err(|error| ControlPlaneError::Manifest { reason: error.to_string() })?;
        let client = self.client().await?;
        let mut stored = Vec::with_capacity(objects.len());
        let mut new_crds = Vec::new();
        for object in objects {
            let name = object.name_any();
            let types = object.types.clone().unwrap_or_default();
            let is_crd = types.kind == "CustomResourceDefinition";
            if !is_crd {
                self.wait_until_served(&client, &std::mem::take(&mut new_crds)).await?;
            }
            let (resource, scope) = self.kind(&client, &types).await?;
            let api: Api<DynamicObject> = match scope {
                Scope::Cluster => Api::all_with(client.clone(), &resource),
                Scope::Namespaced => {
                    let namespace = object.namespace().unwrap_or_else(|| namespace.to_owned());
                    Api::namespaced_with(client.clone(), &namespace, &resource)
                }
            };
            let params = PatchParams::apply(FIELD_MANAGER).force().validation_strict();
            let applied = api.patch(&name, &params, &Patch::Apply(&object)).await;
            stored
                .push(applied.map_err(ControlPlaneError::request(format!("apply {} `{name}`", types.kind)))?);
            if is_crd {
                new_crds.push(name);
            }
        }
        self.wait_until_served(&client, &new_crds).await?;
        Ok(stored)
    }

    /// Applies CRDs and waits until they are served.
    ///
    /// # Errors
    /// When the API server refuses one or does not serve it in time.
    pub async fn install_crds(&self, crds: &[CustomResourceDefinition]) -> Result<(), ControlPlaneError> {
        let client = self.client().await?;
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        let params = PatchParams::apply(FIELD_MANAGER).force().validation_strict();
        let mut names = Vec::with_capacity(crds.len());
        for crd in crds {
            let name = crd.name_any();
            api.patch(&name, &params, &Patch::Apply(crd))
                .await
                .map_err(ControlPlaneError::request(format!("apply CustomResourceDefinition `{name}`")))?;
            names.push(name);
        }
        self.wait_until_served(&client, &names).await
    }

    /// Makes a namespace that nobody else uses. It goes with the control plane, or when the caller deletes
    /// it.
    ///
    /// # Errors
    /// When the API server refuses it.
    pub async fn namespace(&self) -> Result<String, ControlPlaneError> {
        static MADE: AtomicU32 = AtomicU32::new(1);
        // Random too, since a kept data directory has the namespaces of earlier runs.
        let random = RandomState::new().build_hasher().finish() & 0xffff_ffff;
        let name = format!("bench-{}-{random:08x}", MADE.fetch_add(1, Ordering::Relaxed));
        let namespace = Namespace {
            metadata: kube::api::ObjectMeta { name: Some(name.clone()), ..Default::default() },
            ..Default::default()
        };
        let api: Api<Namespace> = Api::all(self.client().await?);
        api.create(&PostParams::default(), &namespace)
            .await
            .map_err(ControlPlaneError::request(format!("create Namespace `{name}`")))?;
        Ok(name)
    }

    async fn kind(
        &self,
        client: &kube::Client,
        types: &TypeMeta,
    ) -> Result<(ApiResource, Scope), ControlPlaneError> {
        let known = self.kinds.0.lock().unwrap_or_else(PoisonError::into_inner).get(types).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let asked = GroupVersionKind::try_from(types)
            .map_err(|error| ControlPlaneError::Manifest { reason: error.to_string() })?;
        let (resource, capabilities) = pinned_kind(client, &asked).await.map_err(
            ControlPlaneError::request(format!("find the kind `{}` in `{}`", types.kind, types.api_version)),
        )?;
        let found = (resource, capabilities.scope);
        self.kinds.0.lock().unwrap_or_else(PoisonError::into_inner).insert(types.clone(), found.clone());
        Ok(found)
    }

    /// Waits until CRDs are established and their objects can be listed; the second comes a moment after the
    /// first.
    async fn wait_until_served(
        &self,
        client: &kube::Client,
        names: &[String],
    ) -> Result<(), ControlPlaneError> {
        let api: Api<CustomResourceDefinition> = Api::all(client.clone());
        let started = Instant::now();
        for name in names {
            loop {
                let crd =
                    api.get(name).await.map_err(ControlPlaneError::request(format!("read CRD `{name}`")))?;
                if established(&crd) && listed(client, &crd).await {
                    break;
                }
                if started.elapsed() > SERVED_PATIENCE {
                    return Err(ControlPlaneError::TooSlow {
                        what: format!("serving the CRD `{name}`"),
                        patience: SERVED_PATIENCE,
                        logs: self.logs(),
                    });
                }
                sleep(GLANCE).await;
            }
        }
        Ok(())
    }
}

fn established(crd: &CustomResourceDefinition) -> bool {
    let conditions = crd.status.iter().filter_map(|status| status.conditions.as_ref()).flatten();
    conditions.into_iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
}

async fn listed(client: &kube::Client, crd: &CustomResourceDefinition) -> bool {
    let Some(version) = crd.spec.versions.iter().find(|version| version.served) else { return true };
    let path = format!("/apis/{}/{}/{}?limit=1", crd.spec.group, version.name, crd.spec.names.plural);
    let Ok(request) = http::Request::get(path).body(Vec::new()) else { return true };
    match client.request_text(request).await {
        // Until the new path is known, and while its storage is being set up. Anything else, such as a
        // conversion webhook that does not run yet, is an answer from the path itself.
        Err(kube::Error::Api(status)) => !matches!(status.code, 404 | 429 | 503),
        _ => true,
    }
}
