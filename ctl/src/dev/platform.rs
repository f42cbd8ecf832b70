//! What a newcomer finds on the control plane: Butler's kinds, and a small platform that uses them.

use std::fs;

use butler_bench::control_plane::ControlPlane;

use crate::failure::Failure;

/// Namespaces first: the others live in them. The provider before the settings that make it the default.
const SAMPLES: [&str; 6] = [
    include_str!("../../../manifests/samples/platform/namespaces.yaml"),
    include_str!("../../../manifests/samples/platform/administrators.yaml"),
    include_str!("../../../manifests/samples/platform/provider-config.yaml"),
    include_str!("../../../manifests/samples/platform/butler-config.yaml"),
    include_str!("../../../manifests/samples/platform/teams.yaml"),
    include_str!("../../../manifests/samples/platform/addon-definitions.yaml"),
];

/// Says in a kept data directory that the samples were applied: what a user has changed or deleted since stays so.
const APPLIED: &str = "sample-platform-applied";

/// Installs the kinds as this binary knows them.
pub(super) async fn install_kinds(control_plane: &ControlPlane) -> Result<(), Failure> {
    Ok(control_plane.install_crds(&butler_api::crd::all()).await?)
}

/// Installs the sample platform on a fresh control plane. The webhook judges it like anything else.
pub(super) async fn install_samples(control_plane: &ControlPlane) -> Result<(), Failure> {
    let applied = control_plane.data_directory().join(APPLIED);
    if applied.exists() {
        return Ok(());
    }
    for sample in SAMPLES {
        control_plane.apply(sample).await?;
    }
    fs::write(&applied, "")?;
    Ok(())
}
