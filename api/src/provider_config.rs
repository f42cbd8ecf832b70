//! ProviderConfig: a place where worker machines can run.

pub mod cloud;
pub mod network;
pub mod on_premises;
pub mod scope;
pub mod status;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::cloud::{Aws, Azure, Gcp};
pub use self::network::{NetworkMode, ProviderNetwork};
pub use self::on_premises::{Harvester, Local, Nutanix, Proxmox};
pub use self::scope::{ProviderLimits, ProviderScope, ScopeType};
pub use self::status::ProviderConfigStatus;
use crate::reference::{NsRef, SecretRef};
use crate::wire::is_default;

/// How to reach the infrastructure and who may use it. The block that is named like `provider` holds its
/// settings.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ProviderConfig",
    namespaced,
    doc = "A place where worker machines can run: an infrastructure, the credentials for it, the networks it offers \
           and the teams that may use it. ProviderConfigs usually live in `butler-system`.",
    status = "ProviderConfigStatus",
    shortname = "pc",
    shortname = "pcfg",
    category = "butler",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Provider", "type": "string", "jsonPath": ".spec.provider",
                      "description": "Kind of infrastructure."}"#,
    printcolumn = r#"{"name": "Scope", "type": "string", "jsonPath": ".spec.scope.type",
                      "description": "Who may use the provider."}"#,
    printcolumn = r#"{"name": "Ready", "type": "boolean", "jsonPath": ".status.ready",
                      "description": "Whether clusters can be placed on the provider."}"#,
    printcolumn = r#"{"name": "Validated", "type": "boolean", "jsonPath": ".status.validated",
                      "description": "Whether the credentials work."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "Network", "type": "string", "jsonPath": ".spec.network.mode",
                      "description": "Who hands out addresses.", "priority": 1}"#,
    printcolumn = r#"{"name": "Free IPs", "type": "integer", "jsonPath": ".status.capacity.availableIPs",
                      "description": "Addresses that are left in the pools.", "priority": 1}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = credentials_are_given()))]
pub struct ProviderConfigSpec {
    /// Kind of infrastructure.
    pub provider: ProviderKind,
    /// Secret with the credentials. Every provider but `local` needs it. The Secret holds `kubeconfig` for
    /// Harvester, `username` and `password` for Nutanix, the same or `token` for Proxmox, and
    /// `serviceAccountKey` for Google Cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_ref: Option<SecretRef>,
    /// Settings of Harvester.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harvester: Option<Harvester>,
    /// Settings of Nutanix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nutanix: Option<Nutanix>,
    /// Settings of Proxmox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxmox: Option<Proxmox>,
    /// Settings of Azure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<Azure>,
    /// Settings of Amazon Web Services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<Aws>,
    /// Settings of Google Cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<Gcp>,
    /// Settings of machines that are containers on the management cluster's own host, for trying things out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<Local>,
    /// Who may use the provider.
    #[serde(default, deserialize_with = "crate::wire::or_default")]
    pub scope: ProviderScope,
    /// Where machines and load balancers get their addresses from.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub network: ProviderNetwork,
    /// What each team may use of the provider. Left out, there is no limit.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub limits: ProviderLimits,
}

fn credentials_are_given() -> Value {
    json!([{
        "rule": "self.provider == 'local' || (has(self.credentialsRef) && self.credentialsRef.name != '')",
        "message": "only the provider `local` works without credentials",
        "fieldPath": ".credentialsRef",
        "reason": "FieldValueRequired"
    }])
}

impl ProviderConfig {
    /// The Secret with the credentials. One without a namespace lives beside the ProviderConfig.
    pub fn credentials(&self) -> Option<NsRef> {
        let secret = self.spec.credentials_ref.as_ref()?;
        let own = self.metadata.namespace.as_deref().unwrap_or(crate::reference::SYSTEM_NAMESPACE);
        Some(NsRef { name: secret.name.clone(), namespace: secret.namespace(own).to_owned() })
    }
}

/// The kinds of infrastructure that Butler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Harvester, virtual machines on your own hardware.
    Harvester,
    /// Nutanix, virtual machines on your own hardware.
    Nutanix,
    /// Proxmox, virtual machines on your own hardware.
    Proxmox,
    /// Microsoft Azure.
    Azure,
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Gcp,
    /// Containers on the management cluster's own host, for trying things out.
    Local,
}

impl ProviderKind {
    /// The name as written in a ProviderConfig.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Harvester => "harvester",
            Self::Nutanix => "nutanix",
            Self::Proxmox => "proxmox",
            Self::Azure => "azure",
            Self::Aws => "aws",
            Self::Gcp => "gcp",
            Self::Local => "local",
        }
    }

    /// The entries that a Secret with credentials has to have: all of one of these sets.
    pub fn credential_keys(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Harvester => &[&["kubeconfig"]],
            Self::Nutanix => &[&["username", "password"]],
            Self::Proxmox => &[&["username", "password"], &["token"]],
            Self::Azure => &[&["clientID", "clientSecret", "tenantID"]],
            Self::Aws => &[&["accessKeyID", "secretAccessKey"]],
            Self::Gcp => &[&["serviceAccountKey"]],
            Self::Local => &[],
        }
    }

    /// Whether it is a public cloud, which hands out addresses itself.
    pub fn is_cloud(self) -> bool {
        matches!(self, Self::Azure | Self::Aws | Self::Gcp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_live_beside_the_provider_unless_it_says_otherwise() {
        let spec = |credentials| {
            serde_json::from_value(json!({"provider": "harvester", "credentialsRef": credentials}))
                .expect("spec")
        };
        let mut provider = ProviderConfig::new("harvester-a", spec(json!({"name": "creds"})));
        provider.metadata.namespace = Some("edge".into());
        assert_eq!(provider.credentials().expect("credentials").namespace, "edge");
        provider.spec = spec(json!({"name": "creds", "namespace": "vault"}));
        assert_eq!(provider.credentials().expect("credentials").namespace, "vault");
        provider.spec.credentials_ref = None;
        assert_eq!(provider.credentials(), None);
    }

    #[test]
    fn kinds_are_spelled_as_on_the_wire() {
        use ProviderKind::*;
        for kind in [Harvester, Nutanix, Proxmox, Azure, Aws, Gcp, Local] {
            assert_eq!(serde_json::to_value(kind).expect("kind"), json!(kind.as_str()));
        }
    }
}
