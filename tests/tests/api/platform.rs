//! The control plane that all tests here share, with Butler's definitions on it.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use butler_bench::ControlPlane;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::{GroupVersionKind, Status};
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::sleep;

use crate::corpus::text;

const PATIENCE: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(100);

/// Decide as if it were meant, and refuse fields that nobody knows, as kubectl asks for.
const DRY_AND_STRICT: &str = "dryRun=All&fieldValidation=Strict";

/// The shared control plane. Namespaced objects go into a namespace per test, cluster-wide ones need a name per test.
pub(crate) async fn platform() -> &'static ControlPlane {
    static READY: OnceCell<()> = OnceCell::const_new();
    let plane = ControlPlane::shared().await.unwrap();
    READY
        .get_or_init(|| async {
            plane.install_crds(definitions()).await.unwrap();
            // kubectl keeps what discovery says for hours, and discovery learns of new kinds a moment after they are
            // served: a test must not be the first to ask.
            eventually(async || {
                let arguments = ["api-resources", "--api-group=butler.butlerlabs.dev", "-o", "name"];
                let shown = plane.kubectl(&arguments).await.unwrap().success().unwrap();
                shown.lines().count() == definitions().len()
            })
            .await;
        })
        .await;
    plane
}

/// Waits until something is so.
pub(crate) async fn eventually(mut is_so: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_so().await {
        assert!(started.elapsed() < PATIENCE, "did not happen within {PATIENCE:?}");
        sleep(GLANCE).await;
    }
}

/// Butler's definitions. Making them takes a while in a debug build, so they are made once.
pub(crate) fn definitions() -> &'static [CustomResourceDefinition] {
    static ALL: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(butler_api::crd::all);
    &ALL
}

/// The objects of one kind, those of `namespace` if the kind is namespaced.
pub(crate) async fn objects_of(plane: &ControlPlane, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let mut all = definitions().iter();
    let definition = all.find(|definition| definition.spec.names.kind == kind);
    let definition = definition.unwrap_or_else(|| panic!("no kind `{kind}`"));
    let gvk = GroupVersionKind::gvk(butler_api::GROUP, butler_api::VERSION, kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &definition.spec.names.plural);
    let client = plane.client().await.unwrap();
    match definition.spec.scope.as_str() {
        "Cluster" => Api::all_with(client, &resource),
        _ => Api::namespaced_with(client, namespace, &resource),
    }
}

/// What the API server would make of a new object, or why it refuses it. Nothing is kept.
pub(crate) async fn dry_run(plane: &ControlPlane, namespace: &str, object: &Value) -> Result<Value, Status> {
    let objects = objects_of(plane, text(object, "/kind"), namespace).await;
    let path = format!("{}?{DRY_AND_STRICT}", objects.resource_url());
    send(plane, http::Request::post(path), "application/json", object).await
}

/// The same for the status of an object that exists.
pub(crate) async fn dry_run_status(
    plane: &ControlPlane,
    namespace: &str,
    object: &Value,
) -> Result<Value, Status> {
    let objects = objects_of(plane, text(object, "/kind"), namespace).await;
    let name = text(object, "/metadata/name");
    let path = format!("{}/{name}/status?{DRY_AND_STRICT}", objects.resource_url());
    send(plane, http::Request::patch(path), "application/merge-patch+json", object).await
}

/// The same for an object that was read before; `part` is empty or `/status`.
pub(crate) async fn dry_run_update(
    plane: &ControlPlane,
    namespace: &str,
    object: &Value,
    part: &str,
) -> Result<Value, Status> {
    let objects = objects_of(plane, text(object, "/kind"), namespace).await;
    let name = text(object, "/metadata/name");
    let path = format!("{}/{name}{part}?{DRY_AND_STRICT}", objects.resource_url());
    send(plane, http::Request::put(path), "application/json", object).await
}

async fn send(
    plane: &ControlPlane,
    request: http::request::Builder,
    content_type: &str,
    object: &Value,
) -> Result<Value, Status> {
    let request = request.header("Content-Type", content_type).body(object.to_string().into_bytes()).unwrap();
    match plane.client().await.unwrap().request(request).await {
        Ok(stored) => Ok(stored),
        Err(kube::Error::Api(status)) => Err(*status),
        Err(error) => panic!("{error}"),
    }
}
