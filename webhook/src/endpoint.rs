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
}

/// A stage of admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// What was left out is filled in, by policies and by defaults.
    Mutating,
    /// The whole is judged, and that it goes away too.
    Validating,
}

macro_rules! mutating {
    ($kind:ident, $name:literal) => {
        Endpoint {
            stage: Stage::Mutating,
            kind: Kind::$kind,
            path: concat!("/mutate-butler-butlerlabs-dev-v1alpha1-", $name),
            webhook: concat!("m", $name, ".kb.io"),
        }
    };
}

macro_rules! validating {
    ($kind:ident, $name:literal) => {
        Endpoint {
            stage: Stage::Validating,
            kind: Kind::$kind,
            path: concat!("/validate-butler-butlerlabs-dev-v1alpha1-", $name),
            webhook: concat!("v", $name, ".kb.io"),
        }
    };
}

/// Every endpoint. Names and paths are upstream's where upstream has the webhook, and follow its pattern otherwise.
pub const ENDPOINTS: &[Endpoint] = &[
    mutating!(TenantCluster, "tenantcluster"),
    mutating!(TenantAddon, "tenantaddon"),
    mutating!(Team, "team"),
    mutating!(ButlerConfig, "butlerconfig"),
    mutating!(ProviderConfig, "providerconfig"),
    mutating!(NetworkPool, "networkpool"),
    mutating!(AddonDefinition, "addondefinition"),
    mutating!(ClusterCreationPolicy, "clustercreationpolicy"),
    validating!(TenantCluster, "tenantcluster"),
    validating!(TenantAddon, "tenantaddon"),
    validating!(Team, "team"),
    validating!(ButlerConfig, "butlerconfig"),
    validating!(ProviderConfig, "providerconfig"),
    validating!(NetworkPool, "networkpool"),
    validating!(AddonDefinition, "addondefinition"),
    validating!(ClusterCreationPolicy, "clustercreationpolicy"),
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
        assert_eq!(Endpoint::at("/mutate-butler-butlerlabs-dev-v1alpha1-user"), None);
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
    fn policies_of_both_kinds_can_be_about_every_kind() {
        for stage in [Stage::Mutating, Stage::Validating] {
            let endpoints = ENDPOINTS.iter().filter(|endpoint| endpoint.stage == stage);
            assert_eq!(endpoints.map(|endpoint| endpoint.kind).collect::<Vec<_>>(), Kind::ALL);
        }
    }
}
