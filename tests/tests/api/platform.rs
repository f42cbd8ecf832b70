//! The control plane that all tests here share, with Butler's definitions on it.

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

/// The shared control plane. Namespaced objects go into a namespace per test, cluster-wide ones need a name per test.
pub(crate) async fn platform() -> &'static ControlPlane {
    static READY: OnceCell<()> = OnceCell::const_new();
    let plane = ControlPlane::shared().await.unwrap();
    READY
        .get_or_init(|| async {
            let definitions = butler_api::crd::all();
            plane.install_crds(&definitions).await.unwrap();
            // kubectl keeps what discovery says for hours, and discovery learns of new kinds a moment after they are
            // served: a test must not be the first to ask.
            eventually(async || {
                let arguments = ["api-resources", "--api-group=butler.butlerlabs.dev", "-o", "name"];
                let shown = plane.kubectl(&arguments).await.unwrap().success().unwrap();
                shown.lines().count() == definitions.len()
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

/// The definition of a kind.
pub(crate) fn definition(kind: &str) -> CustomResourceDefinition {
    let mut all = butler_api::crd::all().into_iter();
    all.find(|definition| definition.spec.names.kind == kind).unwrap_or_else(|| panic!("no kind `{kind}`"))
}

/// The objects of one kind, those of `namespace` if the kind is namespaced.
pub(crate) async fn objects_of(plane: &ControlPlane, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let definition = definition(kind);
    let gvk = GroupVersionKind::gvk(butler_api::GROUP, butler_api::VERSION, kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &definition.spec.names.plural);
    let client = plane.client().await.unwrap();
    match definition.spec.scope.as_str() {
        "Cluster" => Api::all_with(client, &resource),
        _ => Api::namespaced_with(client, namespace, &resource),
    }
}

/// What the API server would store, or why it would not. Nothing is kept.
pub(crate) async fn dry_run(plane: &ControlPlane, namespace: &str, object: &Value) -> Result<Value, Status> {
    let objects = objects_of(plane, text(object, "/kind"), namespace).await;
    let path = format!("{}?dryRun=All&fieldValidation=Strict", objects.resource_url());
    let request = http::Request::post(path).header("Content-Type", "application/json");
    answer(plane, request.body(object.to_string().into_bytes()).unwrap()).await
}

/// What the API server would make of a new status, or why it would not. Nothing is kept.
pub(crate) async fn dry_run_status(
    plane: &ControlPlane,
    namespace: &str,
    object: &Value,
) -> Result<Value, Status> {
    let objects = objects_of(plane, text(object, "/kind"), namespace).await;
    let name = text(object, "/metadata/name");
    let path = format!("{}/{name}/status?dryRun=All&fieldValidation=Strict", objects.resource_url());
    let request = http::Request::patch(path).header("Content-Type", "application/merge-patch+json");
    answer(plane, request.body(object.to_string().into_bytes()).unwrap()).await
}

async fn answer(plane: &ControlPlane, request: http::Request<Vec<u8>>) -> Result<Value, Status> {
    match plane.client().await.unwrap().request(request).await {
        Ok(stored) => Ok(stored),
        Err(kube::Error::Api(status)) => Err(*status),
        Err(error) => panic!("{error}"),
    }
}
