//! The hosted control plane of a TenantCluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::butler_config::ButlerConfigSpec;
use crate::control_plane_resources::ControlPlaneResources;
use crate::exposure::ServiceType;
use crate::reference::LocalRef;
use crate::wire::is_default;

/// A control plane that runs as pods in the management cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlane {
    /// How many copies of the control plane run, from 1 to 3. Use 2 or more to keep the API server up while a
    /// node of the management cluster is replaced. Left out, it is 1.
    // Not a default of the schema: an update that leaves it out must keep what the cluster has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3))]
    pub replicas: Option<i32>,
    /// Steward DataStore that keeps the cluster's state. Left out, it is the platform's default store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_store_ref: Option<LocalRef>,
    /// How this cluster's API server is reached. Left out, it is the platform's mode
    /// (`spec.controlPlaneExposure.mode` of the ButlerConfig), and LoadBalancer without one. Ingress and
    /// Gateway use the host name and the controller that the ButlerConfig sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_type: Option<ServiceType>,
    /// More names and addresses that the API server's certificate is valid for, for example
    /// `api.orders.example.org`. At most 256.
    #[serde(
        rename = "certSANs",
        default,
        deserialize_with = "crate::wire::or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(max = crate::schema::MOST_NAMES))]
    pub cert_sans: Vec<String>,
    /// Whether nodes wait for a cloud controller to initialise them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Self::DEFAULT_EXTERNAL_CLOUD_PROVIDER))]
    pub external_cloud_provider: Option<bool>,
    /// Requests and limits of the control plane's components. A component that is set here replaces the
    /// platform's default for it completely; one that is left out keeps it.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub resources: ControlPlaneResources,
}

impl ControlPlane {
    /// Copies of the control plane when the user does not say.
    pub const DEFAULT_REPLICAS: i32 = 1;
    /// Whether nodes wait for a cloud controller when the user does not say.
    pub const DEFAULT_EXTERNAL_CLOUD_PROVIDER: bool = true;

    /// How many copies run.
    pub fn replicas(&self) -> i32 {
        self.replicas.unwrap_or(Self::DEFAULT_REPLICAS)
    }

    /// Whether nodes wait for a cloud controller.
    pub fn external_cloud_provider(&self) -> bool {
        self.external_cloud_provider.unwrap_or(Self::DEFAULT_EXTERNAL_CLOUD_PROVIDER)
    }

    /// How the API server is reached.
    pub fn service_type(&self, config: Option<&ButlerConfigSpec>) -> ServiceType {
        ServiceType::effective(self.service_type, config.map(|config| &config.control_plane_exposure))
    }

    /// Requests and limits per component, the platform's where the cluster has none.
    pub fn resources(&self, config: Option<&ButlerConfigSpec>) -> ControlPlaneResources {
        config.map_or_else(
            || self.resources.clone(),
            |config| self.resources.or(&config.default_control_plane_resources),
        )
    }
}
