//! A ProviderConfig has what its provider needs, and is not taken from under its clusters.
//!
//! Fields: the block named like `spec.provider` and its required settings; `spec.credentialsRef` (outside `butler-system`, a Secret
//! of the ProviderConfig's own namespace); `spec.scope.teamRef` for scope `team`;
//! `spec.network` (`ipam` needs existing pools and is not for public clouds); `spec.provider` does not change. In use, it
//! cannot be deleted, whether clusters name it or got it by default.

use std::collections::BTreeSet;

use butler_api::ProviderConfig;
use butler_api::address::parse_address;
use butler_api::excerpt::excerpt;
use butler_api::provider_config::{NetworkMode, ProviderKind, ScopeType};
use butler_api::quota::Limits;
use butler_api::reference::{LocalRef, NsRef, SYSTEM_NAMESPACE};
use butler_api::wire::given;

use super::{Case, listed, name_of, place_of, places};
use crate::facts::{FactKey, FactKind, Facts, Lookup};
use crate::finding::{Fault, Finding, Findings};
use crate::quota::lowered::Lowered;
use crate::review::Review;

/// A setting that the provider needs is missing.
const SETTING_REQUIRED: &str = "SettingRequired";
/// The address of the provider is none.
const ENDPOINT: &str = "Endpoint";
/// The settings of another provider are there.
const OTHER_SETTINGS: &str = "OtherSettings";
/// The credentials are those of somebody else.
const OTHER_CREDENTIALS: &str = "OtherCredentials";
/// The team does not exist or is not named.
const TEAM: &str = "Team";
/// The network makes no sense for the provider.
const NETWORK: &str = "Network";
/// The field cannot change.
const IMMUTABLE: &str = "Immutable";
/// Clusters use it.
const IN_USE: &str = "InUse";

pub(super) fn check(case: &Case<'_, ProviderConfig>, findings: &mut Findings) {
    check_settings(case.object, findings);
    check_credentials(case.object, findings);
    check_scope(case, findings);
    check_network(case, findings);
    if let Some(old) = case.old() {
        check_rescoped(case, old, findings);
        check_lowered(case, old, findings);
    }
    if let Some(old) = case.old().filter(|old| old.spec.provider != case.object.spec.provider) {
        let message = format!(
            "cannot change from `{}` to `{}`, because machines were built with it; create another ProviderConfig",
            old.spec.provider.as_str(),
            case.object.spec.provider.as_str()
        );
        findings.forbidden(IMMUTABLE, "spec.provider", message);
    }
}

fn check_settings(provider: &ProviderConfig, findings: &mut Findings) {
    let spec = &provider.spec;
    let kind = spec.provider;
    let blocks = [
        (ProviderKind::Harvester, spec.harvester.is_some()),
        (ProviderKind::Nutanix, spec.nutanix.is_some()),
        (ProviderKind::Proxmox, spec.proxmox.is_some()),
        (ProviderKind::Azure, spec.azure.is_some()),
        (ProviderKind::Aws, spec.aws.is_some()),
        (ProviderKind::Gcp, spec.gcp.is_some()),
        (ProviderKind::Local, spec.local.is_some()),
    ];
    for (block, is_given) in blocks {
        let name = block.as_str();
        if block == kind && !is_given && kind != ProviderKind::Local {
            let message = format!("a provider of type `{name}` needs its settings; add the block");
            findings.add(Finding::deny(Fault::Required, SETTING_REQUIRED, format!("spec.{name}"), message));
        } else if block != kind && is_given {
            let message =
                format!("is not read, because the provider is `{}`; remove the block", kind.as_str());
            findings.invalid(OTHER_SETTINGS, format!("spec.{name}"), message);
        }
    }
    let mut settings: Vec<(&str, &str)> = Vec::new();
    match kind {
        ProviderKind::Harvester => {
            settings
                .extend(spec.harvester.iter().map(|it| ("harvester.networkName", it.network_name.as_str())));
        }
        ProviderKind::Nutanix => settings.extend(spec.nutanix.iter().flat_map(|it| {
            [
                ("nutanix.endpoint", it.endpoint.as_str()),
                ("nutanix.clusterUUID", it.cluster_uuid.as_str()),
                ("nutanix.subnetUUID", it.subnet_uuid.as_str()),
            ]
        })),
        ProviderKind::Proxmox => settings.extend(spec.proxmox.iter().flat_map(|it| {
            let node = it.nodes.first().map_or("", String::as_str);
            [
                ("proxmox.endpoint", it.endpoint.as_str()),
                ("proxmox.nodes", node),
                ("proxmox.storage", it.storage.as_str()),
            ]
        })),
        ProviderKind::Azure => settings.extend(spec.azure.iter().flat_map(|it| {
            [
                ("azure.subscriptionID", it.subscription_id.as_str()),
                ("azure.resourceGroup", it.resource_group.as_str()),
            ]
        })),
        ProviderKind::Aws => settings.extend(spec.aws.iter().map(|it| ("aws.region", it.region.as_str()))),
        ProviderKind::Gcp => {
            settings.extend(spec.gcp.iter().flat_map(|it| {
                [("gcp.projectID", it.project_id.as_str()), ("gcp.region", it.region.as_str())]
            }))
        }
        ProviderKind::Local => {}
    }
    for (path, _) in settings.into_iter().filter(|(_, value)| value.is_empty()) {
        let message = "is empty; write it, because the provider cannot be used without it";
        findings.add(Finding::deny(Fault::Required, SETTING_REQUIRED, format!("spec.{path}"), message));
    }
    let endpoints = [
        ("harvester", spec.harvester.as_ref().and_then(|it| given(&it.endpoint))),
        ("nutanix", spec.nutanix.as_ref().map(|it| it.endpoint.as_str())),
        ("proxmox", spec.proxmox.as_ref().map(|it| it.endpoint.as_str())),
    ];
    for (block, endpoint) in endpoints {
        let Some(endpoint) = endpoint.filter(|endpoint| !endpoint.is_empty()) else { continue };
        let host = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"));
        if host.is_none_or(|host| host.is_empty() || host.contains(char::is_whitespace)) {
            let message = format!(
                "`{}` is no address; write one that begins with `https://` or `http://`",
                excerpt(endpoint)
            );
            findings.invalid(ENDPOINT, format!("spec.{block}.endpoint"), message);
        }
    }
    if kind != ProviderKind::Local
        && spec.credentials_ref.as_ref().is_none_or(|secret| secret.name.is_empty())
    {
        let message = "only the provider `local` works without credentials; name the Secret that has them";
        findings.add(Finding::deny(Fault::Required, SETTING_REQUIRED, "spec.credentialsRef", message));
    }
}

/// Butler reads Secrets of every namespace. Whoever may write a ProviderConfig in a namespace of their own must not get the
/// platform's credentials by naming them.
fn check_credentials(provider: &ProviderConfig, findings: &mut Findings) {
    let own = provider.metadata.namespace.as_deref().unwrap_or(SYSTEM_NAMESPACE);
    let Some(secret) = provider.credentials().filter(|secret| secret.namespace != own) else { return };
    if own != SYSTEM_NAMESPACE {
        let message = format!(
            "`{}` is not the namespace of this ProviderConfig, and only those in `{SYSTEM_NAMESPACE}` use Secrets of other \
             namespaces; name a Secret in `{own}`",
            excerpt(&secret.namespace)
        );
        findings.forbidden(OTHER_CREDENTIALS, "spec.credentialsRef.namespace", message);
    }
}

fn check_scope(case: &Case<'_, ProviderConfig>, findings: &mut Findings) {
    const PATH: &str = "spec.scope.teamRef";
    let scope = &case.object.spec.scope;
    match (scope.scope_type(), scope.team_ref.as_ref()) {
        (ScopeType::Team, None) => {
            let message =
                "scope `team` keeps the provider for one team, but none is named; name it, or use `platform`";
            findings.add(Finding::deny(Fault::Required, TEAM, PATH, message));
        }
        (ScopeType::Platform, Some(team)) => {
            let message = format!(
                "`{}` is not read, because scope `platform` is for every team; use `team`, or remove it",
                excerpt(&team.name)
            );
            findings.invalid(TEAM, PATH, message);
        }
        (ScopeType::Team, Some(team)) => match case.facts.team(&team.name) {
            Lookup::Found(_) => {}
            Lookup::Absent => {
                let message =
                    format!("there is no Team `{}`; create it first, or name another", excerpt(&team.name));
                findings.add(
                    Finding::deny(Fault::NotFound, TEAM, PATH, message)
                        .resting_on(FactKey::Team(team.name.clone())),
                );
            }
            Lookup::Unknown => findings.unknown(PATH, FactKey::Team(team.name.clone())),
        },
        (ScopeType::Platform, None) => {}
    }
}

fn check_network(case: &Case<'_, ProviderConfig>, findings: &mut Findings) {
    let (network, kind) = (&case.object.spec.network, case.object.spec.provider);
    if network.mode() == NetworkMode::Ipam {
        if kind.is_cloud() {
            let message = format!(
                "`ipam` is not possible on `{}`, which hands out addresses itself; use `cloud`",
                kind.as_str()
            );
            findings.invalid(NETWORK, "spec.network.mode", message);
        } else if network.pool_refs.is_empty() {
            let message = "mode `ipam` allocates from NetworkPools, but none is named; name at least one, or use `cloud`";
            findings.add(Finding::deny(Fault::Required, NETWORK, "spec.network.poolRefs", message));
        }
    }
    for (place, pool) in network.pool_refs.iter().enumerate() {
        let at = NsRef { name: pool.name.clone(), namespace: SYSTEM_NAMESPACE.to_owned() };
        let path = format!("spec.network.poolRefs[{place}].name");
        match case.facts.pool(&at) {
            Lookup::Found(_) => {}
            Lookup::Absent => {
                let message = format!(
                    "there is no NetworkPool `{}` in namespace `{SYSTEM_NAMESPACE}`; create it first, or name another",
                    excerpt(&pool.name)
                );
                findings.add(
                    Finding::deny(Fault::NotFound, NETWORK, path, message).resting_on(FactKey::Pool(at)),
                );
            }
            Lookup::Unknown => findings.unknown(path, FactKey::Pool(at)),
        }
    }
    let gateway = network
        .gateway
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| ("spec.network.gateway".to_owned(), text));
    let servers = network.dns_servers.iter().enumerate();
    let servers = servers.map(|(place, text)| (format!("spec.network.dnsServers[{place}]"), text));
    for (path, text) in gateway.chain(servers) {
        if let Err(error) = parse_address(text) {
            findings.invalid(NETWORK, path, error.to_string());
        }
    }
}

/// Keeps a ProviderConfig from being deleted while clusters run on it.
pub(super) fn protect(review: &Review<'_>, facts: &Facts, findings: &mut Findings) {
    let at = NsRef { name: review.name.to_string(), namespace: review.namespace.to_string() };
    let mut clusters: Vec<NsRef> =
        facts.clusters_of_provider(&at).map(|cluster| place_of(&cluster.metadata)).collect();
    clusters.sort();
    if !clusters.is_empty() {
        let message = format!("clusters run on it ({}); delete them first", places(&clusters));
        let finding = Finding::deny(Fault::Forbidden, IN_USE, "metadata.name", message);
        findings.add(clusters.into_iter().map(FactKey::Cluster).fold(finding, Finding::resting_on));
    }
    let is_it =
        |default: &Option<LocalRef>| default.as_ref().is_some_and(|it| it.in_system_namespace() == at);
    if facts.config_spec().is_some_and(|config| is_it(&config.default_provider_config_ref)) {
        let message = "it is the platform's default; name another in `spec.defaultProviderConfigRef` of the ButlerConfig first";
        let finding = Finding::deny(Fault::Forbidden, IN_USE, "metadata.name", message);
        findings.add(finding.resting_on(FactKey::Config));
    }
    let mut teams: Vec<&str> = facts
        .teams()
        .filter(|team| is_it(&team.spec.provider_config_ref))
        .map(|team| name_of(&team.metadata))
        .collect();
    teams.sort_unstable();
    if !teams.is_empty() {
        let message = format!(
            "it is the default of Teams ({}); name another in their `spec.providerConfigRef` first",
            listed(teams.iter().copied())
        );
        let finding = Finding::deny(Fault::Forbidden, IN_USE, "metadata.name", message);
        let keys = teams.into_iter().map(|name| FactKey::Team(name.to_owned()));
        findings.add(keys.fold(finding, Finding::resting_on));
    }
}

/// A provider that is kept for a team from now on would be taken from under the clusters of others.
fn check_rescoped(case: &Case<'_, ProviderConfig>, old: &ProviderConfig, findings: &mut Findings) {
    const PATH: &str = "spec.scope";
    let (own, old) = (&case.object.spec.scope, &old.spec.scope);
    if own == old {
        return;
    }
    if !case.facts.knows_all(FactKind::Cluster) {
        return findings.unknown_kind(PATH, FactKind::Cluster);
    }
    let metadata = &case.object.metadata;
    let at = place_of(metadata);
    let shut_out = case.facts.clusters_of_provider(&at).filter(|cluster| {
        let team = cluster.spec.team_ref.as_ref().map(|team| team.name.as_str());
        old.admits(team) && !own.admits(team)
    });
    let mut clusters: Vec<NsRef> = shut_out.map(|cluster| place_of(&cluster.metadata)).collect();
    clusters.sort();
    if !clusters.is_empty() {
        let message = format!(
            "clusters that it would no longer be open to run on it ({}); delete them first, or leave it open to their teams",
            places(&clusters)
        );
        let finding = Finding::deny(Fault::Forbidden, IN_USE, PATH, message);
        findings.add(clusters.into_iter().map(FactKey::Cluster).fold(finding, Finding::resting_on));
    }
}

/// A limit that is lowered binds every team with clusters here.
fn check_lowered(case: &Case<'_, ProviderConfig>, old: &ProviderConfig, findings: &mut Findings) {
    let (old, new) = (&old.spec, &case.object.spec);
    if old.limits == new.limits {
        return;
    }
    let at = place_of(&case.object.metadata);
    let shown = format!("{}/{}", at.namespace, at.name);
    let clusters = case.facts.clusters_of_provider(&at);
    let teams: BTreeSet<&str> =
        clusters.filter_map(|cluster| Some(cluster.spec.team_ref.as_ref()?.name.as_str())).collect();
    let mut lowered = Lowered::default();
    for name in teams {
        let Some(team) = case.facts.team(name).found() else { continue };
        lowered.look(name, case.facts, Some(name), |holding| {
            let is_here = holding.provider.as_deref() == Some(shown.as_str());
            [old, new].map(|provider| {
                let limits = Limits { name, team: &team.spec, config: case.config() };
                limits.for_cluster(holding, is_here.then_some(provider)).unwrap_or_default()
            })
        });
    }
    lowered.warn(findings);
}

#[cfg(test)]
mod tests;
