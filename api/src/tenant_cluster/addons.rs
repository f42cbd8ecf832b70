//! The addons that make a TenantCluster usable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address_span::AddressSpan;
use crate::helm_values::HelmValues;
use crate::reference::LocalRef;
use crate::wire::given;

/// Addons that Butler installs itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Addons {
    /// Pod network. Every cluster has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cni: Option<Cni>,
    /// Addresses for Services of type LoadBalancer, for providers that have no load balancer of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    /// Issues and renews TLS certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_manager: Option<CertManager>,
    /// Persistent volumes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// HTTP routing into the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<Ingress>,
    /// Metrics and alerts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
    /// Hands the cluster's contents to a Git repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitops: Option<Gitops>,
}

/// The pod network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cni {
    /// Which pod network.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = CniProvider::Cilium))]
    pub provider: Option<CniProvider>,
    /// Chart version, for example `1.17.0`. Left out, it is the platform's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Values for the chart, laid over Butler's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HelmValues>,
}

impl Cni {
    /// The chart version that was asked for.
    pub fn version(&self) -> Option<&str> {
        given(&self.version)
    }
}

/// The pod networks Butler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CniProvider {
    /// Cilium.
    Cilium,
}

/// The load balancer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancer {
    /// Which load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = LoadBalancerProvider::Metallb))]
    pub provider: Option<LoadBalancerProvider>,
    /// Chart version, for example `0.14.9`. Left out, it is the platform's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Addresses to hand out, as `first-last`, for example `10.40.1.0-10.40.1.50`. This is the older name of
    /// `networking.loadBalancerPool`, which is preferred; giving both with different addresses is refused.
    #[schemars(regex(pattern = ADDRESS_POOL))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_pool: Option<String>,
    /// Values for the chart, laid over Butler's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HelmValues>,
}

impl LoadBalancer {
    /// The chart version that was asked for.
    pub fn version(&self) -> Option<&str> {
        given(&self.version)
    }

    /// The addresses given under the older name.
    pub fn address_pool(&self) -> Option<AddressSpan> {
        given(&self.address_pool).map(AddressSpan::parse)
    }
}

/// The shape of two addresses joined by a hyphen. Whether they are addresses, and in order, is for admission
/// to say: a rule here would make the API server add a puzzling line to every other complaint about a
/// cluster.
const ADDRESS_POOL: &str = "^[0-9A-Fa-f.:]+ *- *[0-9A-Fa-f.:]+$";

/// The load balancers Butler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoadBalancerProvider {
    /// MetalLB.
    Metallb,
}

/// The certificate manager.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CertManager {
    /// Whether to install cert-manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Chart version, for example `v1.16.2`. Left out, it is the platform's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Values for the chart, laid over Butler's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HelmValues>,
}

impl CertManager {
    /// Whether to install it.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// The chart version that was asked for.
    pub fn version(&self) -> Option<&str> {
        given(&self.version)
    }
}

/// Persistent volumes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storage {
    /// Which storage. Left out, it is Longhorn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<StorageProvider>,
    /// Chart version, for example `1.7.2`. Left out, it is the platform's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Values for the chart, laid over Butler's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HelmValues>,
}

impl Storage {
    /// Which storage to install.
    pub fn provider(&self) -> StorageProvider {
        self.provider.unwrap_or(StorageProvider::Longhorn)
    }

    /// The chart version that was asked for.
    pub fn version(&self) -> Option<&str> {
        given(&self.version)
    }
}

/// The storage Butler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StorageProvider {
    /// Longhorn.
    Longhorn,
    /// LINSTOR.
    Linstor,
}

/// HTTP routing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ingress {
    /// Whether to install an ingress controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Which ingress controller. Left out, it is Traefik.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<IngressProvider>,
    /// Chart version, for example `34.3.0`. Left out, it is the platform's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Values for the chart, laid over Butler's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HelmValues>,
}

impl Ingress {
    /// Whether to install one.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// Which controller to install.
    pub fn provider(&self) -> IngressProvider {
        self.provider.unwrap_or(IngressProvider::Traefik)
    }

    /// The chart version that was asked for.
    pub fn version(&self) -> Option<&str> {
        given(&self.version)
    }
}

/// The ingress controllers Butler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IngressProvider {
    /// Traefik.
    Traefik,
    /// NGINX.
    Nginx,
}

/// Metrics and alerts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Monitoring {
    /// Which monitoring stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = MonitoringProvider::Prometheus))]
    pub provider: Option<MonitoringProvider>,
    /// Chart version. Left out, it is the default of the addon's AddonDefinition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Values for the chart, laid over those of the AddonDefinition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<HelmValues>,
}

impl Monitoring {
    /// The chart version that was asked for.
    pub fn version(&self) -> Option<&str> {
        given(&self.version)
    }
}

/// The monitoring stacks Butler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MonitoringProvider {
    /// Prometheus.
    Prometheus,
}

/// GitOps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gitops {
    /// Which GitOps tool. Left out, it is Flux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<GitopsProvider>,
    /// Chart version, for example `2.14.1`. Left out, it is the platform's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Repository that describes the cluster's contents. Left out, the tool is installed but not pointed
    /// anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<GitRepository>,
}

impl Gitops {
    /// Which tool to install.
    pub fn provider(&self) -> GitopsProvider {
        self.provider.unwrap_or(GitopsProvider::Fluxcd)
    }

    /// The chart version that was asked for.
    pub fn version(&self) -> Option<&str> {
        given(&self.version)
    }
}

/// The GitOps tools Butler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GitopsProvider {
    /// Flux.
    Fluxcd,
    /// Argo CD.
    Argocd,
}

/// A Git repository that describes a cluster's contents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitRepository {
    /// Address of the repository, for example `https://git.example.org/fleet.git`.
    pub url: String,
    /// Branch to follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Self::DEFAULT_BRANCH))]
    pub branch: Option<String>,
    /// Directory of the repository that belongs to this cluster. Left out, it is the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Secret with the credentials for the repository, in the namespace of the cluster. Left out, it is read
    /// without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalRef>,
}

impl GitRepository {
    /// The branch when the user does not say.
    pub const DEFAULT_BRANCH: &str = "main";

    /// The branch to follow.
    pub fn branch(&self) -> &str {
        given(&self.branch).unwrap_or(Self::DEFAULT_BRANCH)
    }
}
