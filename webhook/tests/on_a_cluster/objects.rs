//! Butler's objects as the API server has them, whatever their kind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use butler_bench::ControlPlane;
pub(crate) use butler_bench::eventually;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;

/// A file or folder of this repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The text of a file of this repository.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(repository(path)).unwrap()
}

/// Every document of a file of this repository.
pub(crate) fn documents(path: &str) -> Vec<DynamicObject> {
    serde_saphyr::from_multiple(&read(path)).unwrap()
}

/// Butler's definitions. Making them takes a while in a debug build, so they are made once.
pub(crate) fn definitions() -> &'static [CustomResourceDefinition] {
    static ALL: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(butler_api::crd::all);
    &ALL
}

/// Installs Butler's definitions, and waits until kubectl knows them: it keeps what discovery says for hours, and
/// discovery learns of new kinds a moment after they are served.
pub(crate) async fn install_definitions(plane: &ControlPlane) {
    plane.install_crds(definitions()).await.unwrap();
    eventually("kubectl knows Butler's kinds", async || {
        let arguments = ["api-resources", "--api-group=butler.butlerlabs.dev", "-o", "name"];
        let shown = plane.kubectl(&arguments).await.unwrap().success().unwrap();
        shown.lines().count() == definitions().len()
    })
    .await;
}

/// The objects of one of Butler's kinds, those of `namespace` if the kind is namespaced.
pub(crate) fn objects_of(client: &Client, kind: &str, namespace: &str) -> Api<DynamicObject> {
    let definition = definitions().iter().find(|definition| definition.spec.names.kind == kind).unwrap();
    let gvk = GroupVersionKind::gvk(butler_api::GROUP, butler_api::VERSION, kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &definition.spec.names.plural);
    match definition.spec.scope.as_str() {
        "Cluster" => Api::all_with(client.clone(), &resource),
        _ => Api::namespaced_with(client.clone(), namespace, &resource),
    }
}
