//! What there is on the platform. Asks nobody.

use std::sync::Arc;

use butler_api::{ButlerConfig, Team, TenantCluster};
use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;

use crate::frame::Key;
use crate::known::Known;

/// What was looked at.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The namespace of clusters without a team.
    pub namespace: Option<Arc<PartialObjectMeta<Namespace>>>,
    /// All teams.
    pub teams: Vec<Arc<Team>>,
    /// All clusters.
    pub clusters: Vec<Arc<TenantCluster>>,
}

pub(super) fn observe(known: &Known, config: &ButlerConfig) -> Observed {
    Observed {
        namespace: known.namespaces.get(&Key::cluster_wide(config.spec.default_namespace())),
        teams: known.teams.all(),
        clusters: known.clusters.all(),
    }
}
