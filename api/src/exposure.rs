//! How a tenant's API server is reached from outside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::given;

/// Platform-wide way in which tenant API servers are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneExposure {
    /// Mode for clusters that do not choose one with `controlPlane.serviceType`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = ExposureMode::DEFAULT))]
    pub mode: Option<ExposureMode>,
    /// Domain under which Ingress and Gateway modes give every cluster a host name, for example
    /// `*.k8s.example.org`. Those two modes need it; LoadBalancer does not use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Ingress class of the shared ingress controller, for mode Ingress. Left out, the management cluster's
    /// default class is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress_class_name: Option<String>,
    /// Kind of ingress controller, for mode Ingress. It decides how TLS is passed through to the API server.
    /// Left out, it is taken as `generic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_type: Option<IngressControllerType>,
    /// Shared Gateway for mode Gateway, as `namespace/name`. That mode needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway_ref: Option<String>,
}

impl ControlPlaneExposure {
    /// The platform-wide mode.
    pub fn mode(&self) -> ExposureMode {
        self.mode.unwrap_or(ExposureMode::DEFAULT)
    }

    /// The domain for host names.
    pub fn hostname(&self) -> Option<&str> {
        given(&self.hostname)
    }

    /// The ingress class.
    pub fn ingress_class_name(&self) -> Option<&str> {
        given(&self.ingress_class_name)
    }

    /// The kind of ingress controller.
    pub fn controller_type(&self) -> IngressControllerType {
        self.controller_type.unwrap_or(IngressControllerType::Generic)
    }

    /// Namespace and name of the shared Gateway; absent also when the text has no slash.
    pub fn gateway(&self) -> Option<(&str, &str)> {
        given(&self.gateway_ref)?.split_once('/')
    }
}

/// A platform-wide exposure mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ExposureMode {
    /// Every cluster gets a Service with its own address.
    LoadBalancer,
    /// A shared ingress controller tells clusters apart by host name.
    Ingress,
    /// A shared Gateway with one route per cluster.
    Gateway,
}

impl ExposureMode {
    /// The mode when nobody chose one.
    pub const DEFAULT: Self = Self::LoadBalancer;

    /// Whether tenants reach their API server through a shared proxy, and so need a TCP proxy inside the
    /// cluster.
    pub fn needs_tcp_proxy(self) -> bool {
        matches!(self, Self::Ingress | Self::Gateway)
    }
}

/// The ingress controllers that Butler knows how to configure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IngressControllerType {
    /// HAProxy.
    Haproxy,
    /// NGINX.
    Nginx,
    /// Traefik.
    Traefik,
    /// Any other that passes TLS through by host name.
    Generic,
}

/// How one cluster exposes its API server: a platform-wide mode, or a Service type that only a single cluster
/// can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ServiceType {
    /// A Service with its own address.
    LoadBalancer,
    /// A port on every node of the management cluster.
    NodePort,
    /// Reachable from inside the management cluster only.
    ClusterIP,
    /// The platform's shared ingress controller, by host name.
    Ingress,
    /// The platform's shared Gateway.
    Gateway,
}

impl ServiceType {
    /// What a cluster uses: its own choice, else the platform's mode, else LoadBalancer.
    pub fn effective(own: Option<Self>, platform: Option<&ControlPlaneExposure>) -> Self {
        own.unwrap_or_else(|| platform.map_or(ExposureMode::DEFAULT, ControlPlaneExposure::mode).into())
    }

    /// The platform-wide mode that this type stands for; none for the types that only a single cluster can
    /// choose.
    pub fn mode(self) -> Option<ExposureMode> {
        match self {
            Self::LoadBalancer => Some(ExposureMode::LoadBalancer),
            Self::Ingress => Some(ExposureMode::Ingress),
            Self::Gateway => Some(ExposureMode::Gateway),
            Self::NodePort | Self::ClusterIP => None,
        }
    }
}

impl From<ExposureMode> for ServiceType {
    fn from(mode: ExposureMode) -> Self {
        match mode {
            ExposureMode::LoadBalancer => Self::LoadBalancer,
            ExposureMode::Ingress => Self::Ingress,
            ExposureMode::Gateway => Self::Gateway,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clusters_choice_beats_the_platforms_which_beats_load_balancer() {
        let platform = ControlPlaneExposure { mode: Some(ExposureMode::Ingress), ..Default::default() };
        let effective = ServiceType::effective;
        assert_eq!(effective(Some(ServiceType::NodePort), Some(&platform)), ServiceType::NodePort);
        assert_eq!(effective(None, Some(&platform)), ServiceType::Ingress);
        assert_eq!(effective(None, Some(&ControlPlaneExposure::default())), ServiceType::LoadBalancer);
        assert_eq!(effective(None, None), ServiceType::LoadBalancer);
    }

    #[test]
    fn a_gateway_is_named_by_namespace_and_name() {
        let exposure =
            |text: &str| ControlPlaneExposure { gateway_ref: Some(text.into()), ..Default::default() };
        assert_eq!(exposure("edge/shared").gateway(), Some(("edge", "shared")));
        assert_eq!(exposure("shared").gateway(), None);
        assert_eq!(exposure("").gateway(), None);
    }
}
