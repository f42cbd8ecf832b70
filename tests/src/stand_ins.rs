//! CRDs of ours for programs that the bench cannot have: Steward, its Cluster API provider, and
//! infrastructure providers.
//!
//! They are files under `tests/crds/`, and nothing acts on them: whoever tests with them plays the missing
//! program.

use crate::control_plane::{ControlPlane, ControlPlaneError};

/// Each file's name and text.
pub const CRDS: [(&str, &str); 7] = [
    ("steward", include_str!("../crds/steward.yaml")),
    ("steward-control-plane", include_str!("../crds/steward-control-plane.yaml")),
    ("docker", include_str!("../crds/docker.yaml")),
    ("harvester", include_str!("../crds/harvester.yaml")),
    ("kubevirt", include_str!("../crds/kubevirt.yaml")),
    ("nutanix", include_str!("../crds/nutanix.yaml")),
    ("proxmox", include_str!("../crds/proxmox.yaml")),
];

/// Applies all of them and waits until they are served.
///
/// # Errors
/// When the API server refuses one, which would be a mistake in our file.
pub async fn install(plane: &ControlPlane) -> Result<(), ControlPlaneError> {
    // As one manifest, because CRDs are waited for at the end of each.
    let manifest = CRDS.map(|(_, text)| text).join("\n---\n");
    plane.apply(&manifest).await.map(drop)
}
