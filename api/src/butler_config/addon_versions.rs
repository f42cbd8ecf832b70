//! Chart versions of the addons that every cluster gets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::wire::given;

/// Chart versions of the addons that every cluster gets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonVersions {
    /// Version of Cilium, the pod network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cilium: Option<String>,
    /// Version of MetalLB, the load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metallb: Option<String>,
    /// Version of cert-manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_manager: Option<String>,
    /// Version of Longhorn, the storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longhorn: Option<String>,
    /// Version of Traefik, the ingress controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traefik: Option<String>,
    /// Version of Flux, the GitOps tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fluxcd: Option<String>,
}

impl AddonVersions {
    /// The platform's version of an addon, by the name of the addon in the catalogue.
    pub fn of(&self, addon: &str) -> Option<&str> {
        given(match addon {
            "cilium" => &self.cilium,
            "metallb" => &self.metallb,
            "cert-manager" => &self.cert_manager,
            "longhorn" => &self.longhorn,
            "traefik" => &self.traefik,
            "flux" | "fluxcd" => &self.fluxcd,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_by_the_name_of_the_addon() {
        let versions = AddonVersions {
            cert_manager: Some("v1.16.2".into()),
            metallb: Some(String::new()),
            ..Default::default()
        };
        assert_eq!(versions.of("cert-manager"), Some("v1.16.2"));
        assert_eq!(versions.of("metallb"), None);
        assert_eq!(versions.of("velero"), None);
    }
}
