//! The reconciler of a developer's platform. It runs in this process, under the rights that the manifests give it.

use butler_bench::control_plane::ControlPlane;
use butler_program::ProgramOptions;
use butler_reconciler::Options;

use super::gate::{GROUPS, loopback};
use crate::failure::Failure;

const RIGHTS: [&str; 2] = [
    include_str!("../../../manifests/reconciler/rbac.yaml"),
    include_str!("../../../manifests/reconciler/team-roles.yaml"),
];
/// The user that the ServiceAccount of the manifests is.
const ACCOUNT: &str = "system:serviceaccount:butler-system:butler-reconciler";

/// What has to be on the API server before the reconciler runs, and how it is to run.
pub(super) async fn prepare(control_plane: &ControlPlane) -> Result<Options, Failure> {
    for rights in RIGHTS {
        control_plane.apply(rights).await?;
    }
    Ok(Options {
        program: ProgramOptions {
            metrics_listen: loopback()?,
            kubeconfig: Some(control_plane.user(ACCOUNT, &GROUPS)?.kubeconfig().to_owned()),
        },
        namespace: "butler-system".to_owned(),
        lease: "butler-reconciler".to_owned(),
        identity: "butlerctl-dev".to_owned(),
        // Nobody else is there; what an earlier run on this directory held runs out soon.
        lease_seconds: 2,
        workers: 4,
        resync_seconds: 600,
    })
}
