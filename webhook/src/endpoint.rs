//! What is served where: one table for the router and for the registration, so that neither can forget the other.

use butler_policies::review::Kind;

/// A path of the server: one stage of admission for one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The stage.
    pub stage: Stage,
    /// The kind whose objects are sent there.
    pub kind: Kind,
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

impl Stage {
    /// As a metric label and in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mutating => "mutating",
            Self::Validating => "validating",
        }
    }

    fn path_prefix(self) -> &'static str {
        match self {
            Self::Mutating => "/mutate-butler-butlerlabs-dev-v1alpha1-",
            Self::Validating => "/validate-butler-butlerlabs-dev-v1alpha1-",
        }
    }
}

/// Every endpoint. Names and paths are upstream's where upstream has the webhook, and follow its pattern otherwise.
pub const ENDPOINTS: &[Endpoint] = &[
    mutating(Kind::TenantCluster),
    mutating(Kind::TenantAddon),
    mutating(Kind::Team),
    validating(Kind::TenantCluster),
    validating_with_deletion(Kind::TenantAddon),
    validating_with_deletion(Kind::Team),
    validating(Kind::ButlerConfig),
    validating_with_deletion(Kind::ProviderConfig),
    validating_with_deletion(Kind::NetworkPool),
    validating_with_deletion(Kind::AddonDefinition),
    validating(Kind::ClusterCreationPolicy),
];

const fn mutating(kind: Kind) -> Endpoint {
    Endpoint { stage: Stage::Mutating, kind, judges_deletion: false }
}

const fn validating(kind: Kind) -> Endpoint {
    Endpoint { stage: Stage::Validating, kind, judges_deletion: false }
}

const fn validating_with_deletion(kind: Kind) -> Endpoint {
    Endpoint { stage: Stage::Validating, kind, judges_deletion: true }
}

impl Endpoint {
    /// The endpoint at a path.
    pub fn at(path: &str) -> Option<Self> {
        ENDPOINTS.iter().copied().find(|endpoint| {
            path.strip_prefix(endpoint.stage.path_prefix())
                .is_some_and(|kind| is_lower_case_of(kind, endpoint.kind.as_str()))
        })
    }

    /// Its path.
    pub fn path(self) -> String {
        format!("{}{}", self.stage.path_prefix(), self.kind.as_str().to_ascii_lowercase())
    }

    /// The name of its webhook.
    pub fn webhook_name(self) -> String {
        let stage = match self.stage {
            Stage::Mutating => "m",
            Stage::Validating => "v",
        };
        format!("{stage}{}.kb.io", self.kind.as_str().to_ascii_lowercase())
    }
}

fn is_lower_case_of(text: &str, kind: &str) -> bool {
    text.len() == kind.len() && text.bytes().eq(kind.bytes().map(|byte| byte.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_found_at_its_path_and_nowhere_else() {
        for endpoint in ENDPOINTS {
            assert_eq!(Endpoint::at(&endpoint.path()), Some(*endpoint));
            assert_eq!(Endpoint::at(&endpoint.path().to_uppercase()), None);
            assert_eq!(Endpoint::at(&format!("{}/", endpoint.path())), None);
        }
        assert_eq!(Endpoint::at("/mutate-butler-butlerlabs-dev-v1alpha1-networkpool"), None);
    }

    #[test]
    fn names_and_paths_are_upstreams() {
        let cluster = validating(Kind::TenantCluster);
        assert_eq!(cluster.path(), "/validate-butler-butlerlabs-dev-v1alpha1-tenantcluster");
        assert_eq!(cluster.webhook_name(), "vtenantcluster.kb.io");
    }

    #[test]
    fn deletions_are_sent_for_exactly_the_protected_kinds() {
        for endpoint in ENDPOINTS.iter().filter(|endpoint| endpoint.stage == Stage::Validating) {
            let is_protected =
                butler_policies::rules::PROTECTIONS.iter().any(|protection| protection.kind == endpoint.kind);
            assert_eq!(endpoint.judges_deletion, is_protected, "{}", endpoint.webhook_name());
        }
    }
}
