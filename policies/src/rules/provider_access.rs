//! A cluster runs on a provider that exists, works and is open to its team.
//!
//! Field: `spec.providerConfigRef`. The ProviderConfig, named by the cluster or got from its team or the platform, must
//! exist, be ready, have its credentials Secret, be open to the team (`scope`), and be among the team's `allowedProviders`
//! if it lists any (a plain name is one in `butler-system`, others are written `namespace/name`). Upstream skips all of this for a cluster that names no provider; here the default is checked as well.

use butler_api::reference::{NsRef, SYSTEM_NAMESPACE};
use butler_api::{ProviderConfig, TenantCluster};

use super::{Case, listed, name_of};
use crate::facts::{FactKey, Lookup};
use crate::finding::{Fault, Finding, Findings};

const PATH: &str = "spec.providerConfigRef";

/// The cluster names no provider and neither its team nor the platform has a default.
const PROVIDER_REQUIRED: &str = "ProviderRequired";
/// The ProviderConfig does not exist.
const PROVIDER_NOT_FOUND: &str = "ProviderNotFound";
/// The ProviderConfig is being deleted.
const PROVIDER_TERMINATING: &str = "ProviderTerminating";
/// The ProviderConfig reports that nothing can be placed on it.
const PROVIDER_NOT_READY: &str = "ProviderNotReady";
/// The ProviderConfig is kept for another team.
const OTHER_TEAM: &str = "OtherTeam";
/// The team may not use the ProviderConfig.
const NOT_ALLOWED: &str = "NotAllowed";
/// The credentials Secret does not exist.
const CREDENTIALS_MISSING: &str = "CredentialsMissing";

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let Some(at) = case.provider_ref() else {
        // A default may be in what nobody can read, which the rule `tenancy-mode` says.
        let team = case.team_name().map(|team| case.facts.team(team));
        if case.facts.config() == Lookup::Unknown || team == Some(Lookup::Unknown) {
            return;
        }
        let message = "neither the team nor the platform has a default; name a ProviderConfig, for example \
                       `providerConfigRef: {name: harvester}`";
        let finding =
            Finding::deny(Fault::Required, PROVIDER_REQUIRED, PATH, message).resting_on(FactKey::Config);
        return findings.add(
            case.team_name()
                .into_iter()
                .fold(finding, |finding, team| finding.resting_on(FactKey::Team(team.to_owned()))),
        );
    };
    match case.facts.provider(at) {
        Lookup::Found(provider) => check_provider(case, at, provider, findings),
        Lookup::Absent => {
            let message = format!(
                "there is no ProviderConfig `{}` in namespace `{}`; name one that exists",
                butler_api::excerpt::excerpt(&at.name),
                butler_api::excerpt::excerpt(&at.namespace)
            );
            findings.add(
                Finding::deny(Fault::NotFound, PROVIDER_NOT_FOUND, PATH, message)
                    .resting_on(FactKey::Provider(at.clone())),
            );
        }
        Lookup::Unknown => findings.unknown(PATH, FactKey::Provider(at.clone())),
    }
}

fn check_provider(
    case: &Case<'_, TenantCluster>,
    at: &NsRef,
    provider: &ProviderConfig,
    findings: &mut Findings,
) {
    let name = &at.name;
    let key = || FactKey::Provider(at.clone());
    if provider.metadata.deletion_timestamp.is_some() {
        let message = format!("the ProviderConfig `{name}` is being deleted; name another");
        findings.add(Finding::deny(Fault::Forbidden, PROVIDER_TERMINATING, PATH, message).resting_on(key()));
    }
    // Nobody has looked yet when there is no status; the cluster then waits for its provider.
    if provider.status.as_ref().and_then(|status| status.ready) == Some(false) {
        let why = provider.status.iter().flat_map(|status| &status.conditions);
        let why = why.filter(|condition| condition.status == "False" && !condition.message.is_empty());
        let why: String = why.map(|condition| format!(" ({})", condition.message)).take(1).collect();
        let message = format!(
            "the ProviderConfig `{name}` is not ready{why}; name another, or ask the platform's administrators to repair it"
        );
        findings.add(Finding::deny(Fault::Invalid, PROVIDER_NOT_READY, PATH, message).resting_on(key()));
    }
    if !provider.spec.scope.admits(case.team_name()) {
        let message =
            format!("the ProviderConfig `{name}` is kept for another team; name one that is open to yours");
        findings.add(Finding::deny(Fault::Forbidden, OTHER_TEAM, PATH, message).resting_on(key()));
    }
    let limits = case.team().and_then(|team| team.spec.resource_limits.as_ref());
    if let Some(limits) = limits.filter(|limits| !limits.allowed_providers.is_empty())
        && !limits.allowed_providers.iter().any(|allowed| is_named(allowed, at))
    {
        let team = case.team_name().unwrap_or_default();
        // A ProviderConfig of another namespace may bear the very name that is allowed.
        let place =
            if at.namespace == SYSTEM_NAMESPACE { String::new() } else { format!("{}/", at.namespace) };
        let message = format!(
            "the Team `{team}` may not use the ProviderConfig `{place}{name}`; choose one of {}",
            listed(limits.allowed_providers.iter().map(String::as_str))
        );
        findings.add(
            Finding::deny(Fault::Forbidden, NOT_ALLOWED, PATH, message)
                .resting_on(FactKey::Team(team.to_owned())),
        );
    }
    check_credentials(case, provider, findings);
}

/// Whether an entry of `allowedProviders` means that ProviderConfig: a plain name is one of the platform's own, any other is
/// written as `namespace/name`.
fn is_named(allowed: &str, at: &NsRef) -> bool {
    let (namespace, name) = allowed.split_once('/').unwrap_or((SYSTEM_NAMESPACE, allowed));
    (namespace, name) == (at.namespace.as_str(), at.name.as_str())
}

fn check_credentials(case: &Case<'_, TenantCluster>, provider: &ProviderConfig, findings: &mut Findings) {
    let Some(secret) = provider.credentials() else { return };
    match case.facts.secret(&secret) {
        Lookup::Found(()) => {}
        Lookup::Absent => {
            let message = format!(
                "the ProviderConfig `{}` has no credentials: there is no Secret `{}` in namespace `{}`; ask the platform's \
                 administrators to create it",
                name_of(&provider.metadata),
                secret.name,
                secret.namespace
            );
            findings.add(
                Finding::deny(Fault::Invalid, CREDENTIALS_MISSING, PATH, message)
                    .resting_on(FactKey::Secret(secret)),
            );
        }
        Lookup::Unknown => findings.unknown(PATH, FactKey::Secret(secret)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    fn found(objects: &[Value]) -> Vec<String> {
        on_create(check, &cluster(json!({})), &facts_with(objects))
    }

    #[test]
    fn a_provider_that_works_and_is_open_passes() {
        assert_eq!(found(&[]), [""; 0]);
        assert_eq!(found(&[provider(json!({"status": null}))]), [""; 0]);
        assert_eq!(
            found(&[provider(json!({"spec": {"scope": {"type": "team", "teamRef": {"name": "payments"}}}}))]),
            [""; 0]
        );
    }

    #[test]
    fn a_provider_must_exist_also_when_it_comes_by_default() {
        let named = cluster(json!({"spec": {"providerConfigRef": {"name": "gone"}}}));
        let gone = [
            "spec.providerConfigRef: there is no ProviderConfig `gone` in namespace `butler-system`; name one that \
                     exists",
        ];
        assert_eq!(on_create(check, &named, &facts()), gone);
        let silent = cluster(json!({"spec": {"providerConfigRef": null}}));
        let default = facts_with(&[config(json!({"spec": {"defaultProviderConfigRef": {"name": "gone"}}}))]);
        assert_eq!(on_create(check, &silent, &default), gone);
        assert_eq!(
            on_create(check, &silent, &facts()),
            [
                "spec.providerConfigRef: neither the team nor the platform has a default; name a ProviderConfig, for example \
              `providerConfigRef: {name: harvester}`"
            ]
        );
    }

    #[test]
    fn a_provider_of_the_same_name_elsewhere_is_another() {
        let elsewhere = provider(json!({
            "metadata": {"namespace": "payments"}, "spec": {"credentialsRef": {"namespace": "butler-system"}}
        }));
        let allowed = |name: &str| team(json!({"spec": {"resourceLimits": {"allowedProviders": [name]}}}));
        let own =
            cluster(json!({"spec": {"providerConfigRef": {"name": "harvester-a", "namespace": "payments"}}}));
        let found = |name| on_create(check, &own, &facts_with(&[elsewhere.clone(), allowed(name)]));
        assert_eq!(
            found("harvester-a"),
            [
                "spec.providerConfigRef: the Team `payments` may not use the ProviderConfig `payments/harvester-a`; choose one of \
              `harvester-a`"
            ]
        );
        assert_eq!(found("payments/harvester-a"), [""; 0]);
        let platforms = [elsewhere.clone(), allowed("butler-system/harvester-a")];
        assert_eq!(on_create(check, &cluster(json!({})), &facts_with(&platforms)), [""; 0]);
    }

    #[test]
    fn what_nobody_can_read_is_not_said_to_be_missing() {
        let silent = cluster(json!({"spec": {"providerConfigRef": null}}));
        for kind in [crate::facts::FactKind::Config, crate::facts::FactKind::Team] {
            let mut facts = facts();
            facts.lose(kind);
            assert_eq!(on_create(check, &silent, &facts), [""; 0]);
            let denials: Vec<String> = crate::judge::standing(&silent, &facts).iter().map(line).collect();
            assert!(
                denials.iter().any(|denial| denial.contains("cannot be read at the moment")),
                "{denials:?}"
            );
        }
    }

    #[test]
    fn each_way_not_to_be_usable() {
        let table: [(Value, &str); 5] = [
            (
                provider(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})),
                "the ProviderConfig `harvester-a` is being deleted; name another",
            ),
            (
                provider(json!({"status": {"ready": false}})),
                "the ProviderConfig `harvester-a` is not ready; name another, or ask the platform's administrators to repair \
                 it",
            ),
            (
                provider(json!({"spec": {"scope": {"type": "team", "teamRef": {"name": "shipping"}}}})),
                "the ProviderConfig `harvester-a` is kept for another team; name one that is open to yours",
            ),
            (
                team(json!({"spec": {"resourceLimits": {"allowedProviders": ["nutanix-a"]}}})),
                "the Team `payments` may not use the ProviderConfig `harvester-a`; choose one of `nutanix-a`",
            ),
            (
                provider(json!({"spec": {"credentialsRef": {"name": "lost"}}})),
                "the ProviderConfig `harvester-a` has no credentials: there is no Secret `lost` in namespace \
                 `butler-system`; ask the platform's administrators to create it",
            ),
        ];
        for (object, expected) in table {
            assert_eq!(found(&[object]), [format!("spec.providerConfigRef: {expected}")]);
        }
    }
}
