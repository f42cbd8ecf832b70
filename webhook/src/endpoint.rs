//! What is served where: one table for the router and for the registration, so that neither can forget the other.

use butler_policies::review::Kind;

/// A path of the server: one stage of admission for one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The stage.
    pub stage: Stage,
    /// The kind whose objects are sent there.
    pub kind: Kind,
    /// Where it is served.
    pub path: &'static str,
    /// The name of its webhook, also in metrics and logs.
    pub webhook: &'static str,
    /// Whether deletions are sent too, because something may depend on the object.
    pub judges_deletion: bool,
}

/// A stage of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// What was left out is filled in.
    Mutating,
    /// The whole is judged.
    Validating,
}

macro_rules! mutating {
    ($kind:ident, $name:literal) => {
        Endpoint {
            stage: Stage::Mutating,
            kind: Kind::$kind,
            path: concat!("/mutate-butler-butlerlabs-dev-v1alpha1-", $name),
            webhook: concat!("m", $name, ".kb.io"),
            judges_deletion: false,
        }
    };
}

macro_rules! validating {
    ($kind:ident, $name:literal, judges_deletion: $judges_deletion:literal) => {
        Endpoint {
            stage: Stage::Validating,
            kind: Kind::$kind,
            path: concat!("/validate-butler-butlerlabs-dev-v1alpha1-", $name),
            webhook: concat!("v", $name, ".kb.io"),
            judges_deletion: $judges_deletion,
        }
    };
}

/// Every endpoint. Names and paths are upstream's where upstream has the webhook, and follow its pattern otherwise.
pub const ENDPOINTS: &[Endpoint] = &[
    mutating!(TenantCluster, "tenantcluster"),
    mutating!(TenantAddon, "tenantaddon"),
    mutating!(Team, "team"),
    validating!(TenantCluster, "tenantcluster", judges_deletion: false),
    validating!(TenantAddon, "tenantaddon", judges_deletion: true),
    validating!(Team, "team", judges_deletion: true),
    validating!(ButlerConfig, "butlerconfig", judges_deletion: false),
    validating!(ProviderConfig, "providerconfig", judges_deletion: true),
    validating!(NetworkPool, "networkpool", judges_deletion: true),
    validating!(AddonDefinition, "addondefinition", judges_deletion: true),
    validating!(ClusterCreationPolicy, "clustercreationpolicy", judges_deletion: false),
];

impl Endpoint {
    /// The endpoint at a path.
    pub fn at(path: &str) -> Option<Self> {
        ENDPOINTS.iter().copied().find(|endpoint| endpoint.path == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_found_at_its_path_and_nowhere_else() {
        for endpoint in ENDPOINTS {
            assert_eq!(Endpoint::at(endpoint.path), Some(*endpoint));
            assert_eq!(Endpoint::at(&format!("{}/", endpoint.path)), None);
        }
        assert_eq!(Endpoint::at("/mutate-butler-butlerlabs-dev-v1alpha1-networkpool"), None);
    }

    #[test]
    fn paths_and_names_are_those_of_the_kind() {
        for endpoint in ENDPOINTS {
            let kind = endpoint.kind.as_str().to_lowercase();
            assert!(endpoint.path.ends_with(&format!("-{kind}")), "{}", endpoint.path);
            assert_eq!(endpoint.webhook.get(1..), Some(&*format!("{kind}.kb.io")));
        }
    }

    #[test]
    fn deletions_are_sent_for_exactly_the_protected_kinds() {
        for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.stage == Stage::Validating) {
            let is_protected =
                butler_policies::rules::PROTECTIONS.iter().any(|protection| protection.kind == endpoint.kind);
            assert_eq!(endpoint.judges_deletion, is_protected, "{}", endpoint.webhook);
        }
    }
}
