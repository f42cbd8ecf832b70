//! A Team takes nothing that is not its own, and nobody gives themselves more than they have.
//!
//! Fields: `metadata.name` (becomes a namespace: not a reserved one, not one that exists and is not this team's),
//! `spec.resourceLimits` (set by administrators of the platform; what the platform gives every team is free),
//! `spec.environments[].limits` (changed by administrators of the team *as it was*, so that one change cannot promote
//! somebody and use the promotion), `spec.access` (same), `spec.environments[].access` (within the team's access),
//! `spec.clusterDefaults`, `spec.providerConfigRef` and the rest of `spec.environments` (same), `spec.environments` (none removed while clusters are in it), amounts that can be read, spellings that agree. A Team with
//! clusters cannot be deleted.

mod lowered;
mod who;

use std::collections::{HashMap, HashSet};

use butler_api::Team;
use butler_api::butler_config::SupportedRange;
use butler_api::excerpt::excerpt;
use butler_api::labels;
use butler_api::names::{dns_label, is_reserved_namespace};
use butler_api::reference::NsRef;
use butler_api::team::{ClusterDefaults, ResourceLimits};
use butler_api::version::KubernetesVersion;

use super::{Case, Moment, check_amounts, listed, name_of};
use crate::facts::{FactKey, Facts, Lookup};
use crate::finding::{Fault, Finding, Findings};
use crate::review::Review;

/// The namespace of that name is not for teams.
const RESERVED_NAME: &str = "ReservedName";
/// The namespace of that name exists and is not this team's.
const NAMESPACE_TAKEN: &str = "NamespaceTaken";
/// The name cannot be a namespace.
const UNUSABLE_NAME: &str = "UnusableName";
/// Somebody in an environment is not in the team.
const NOT_IN_TEAM: &str = "NotInTeam";
/// A limit or a default makes no sense.
const LIMIT: &str = "Limit";
/// Two spellings of one setting disagree.
const CONTRADICTION: &str = "Contradiction";
/// There is a newer spelling.
const OLDER_SPELLING: &str = "OlderSpelling";
/// The hosted control plane does not run that minor.
const NOT_HOSTED: &str = "NotHosted";
/// The catalogue has no such addon.
const ADDON_NOT_FOUND: &str = "AddonNotFound";
/// The default provider does not exist.
const PROVIDER_NOT_FOUND: &str = "ProviderNotFound";
/// Clusters use what is removed.
const IN_USE: &str = "InUse";

pub(super) fn check(case: &Case<'_, Team>, findings: &mut Findings) {
    check_name(case, findings);
    who::check(case, findings);
    check_environments(case, findings);
    check_limits(case, findings);
    lowered::check(case, findings);
    check_provider(case, findings);
    let hosted = case.hosted();
    check_defaults("spec.clusterDefaults", &case.object.spec.cluster_defaults, hosted, case.facts, findings);
    for (place, environment) in case.object.spec.environments.iter().enumerate() {
        let path = format!("spec.environments[{place}].clusterDefaults");
        check_defaults(&path, &environment.cluster_defaults, hosted, case.facts, findings);
    }
}

fn check_name(case: &Case<'_, Team>, findings: &mut Findings) {
    let (name, Moment::Create) = (name_of(&case.object.metadata), &case.moment) else { return };
    if name.is_empty() {
        return;
    }
    if let Err(error) = dns_label(name) {
        return findings.invalid(UNUSABLE_NAME, "metadata.name", error.to_string());
    }
    let default = case
        .config()
        .map_or(butler_api::ButlerConfigSpec::DEFAULT_NAMESPACE, |config| config.default_namespace());
    if is_reserved_namespace(name, default) {
        let message = format!(
            "`{name}` is a namespace of the platform, and a team gets the namespace of its name; choose another"
        );
        return findings.forbidden(RESERVED_NAME, "metadata.name", message);
    }
    match case.facts.namespace(name) {
        Lookup::Found(namespace) if namespace.team.as_deref() != Some(name) => {
            let message = format!(
                "the namespace `{name}` exists and is not this team's, and a team gets the namespace of its name; choose another, \
                 or let the platform's administrators give it the labels `{}: {}` and `{}: {name}`",
                labels::MANAGED_BY,
                labels::MANAGED_BY_BUTLER,
                labels::TEAM
            );
            findings.add(
                Finding::deny(Fault::Forbidden, NAMESPACE_TAKEN, "metadata.name", message)
                    .resting_on(FactKey::Namespace(name.to_owned())),
            );
        }
        Lookup::Found(_) | Lookup::Absent => {}
        Lookup::Unknown => findings.unknown("metadata.name", FactKey::Namespace(name.to_owned())),
    }
}

fn check_environments(case: &Case<'_, Team>, findings: &mut Findings) {
    let spec = &case.object.spec;
    let roster = spec.access.roster();
    for (place, environment) in spec.environments.iter().enumerate() {
        for (index, user) in environment.access.users.iter().enumerate() {
            if roster.user(&user.name).is_none() {
                let path = format!("spec.environments[{place}].access.users[{index}].name");
                let message = format!(
                    "`{}` is not in the team; add them to `spec.access.users` first",
                    excerpt(&user.name)
                );
                findings.invalid(NOT_IN_TEAM, path, message);
            }
        }
        for (index, group) in environment.access.groups.iter().enumerate() {
            if roster.groups(group).next().is_none() {
                let path = format!("spec.environments[{place}].access.groups[{index}].name");
                let message = format!(
                    "`{}` is not in the team; add it to `spec.access.groups` first",
                    excerpt(&group.subject())
                );
                findings.invalid(NOT_IN_TEAM, path, message);
            }
        }
    }
    let Some(old) = case.old() else { return };
    let kept: HashSet<&str> = spec.environments.iter().map(|it| it.name.as_str()).collect();
    let removed =
        old.spec.environments.iter().filter(|environment| !kept.contains(environment.name.as_str()));
    let mut clusters: HashMap<&str, Vec<&str>> = HashMap::new();
    for cluster in case.facts.clusters_of_team(name_of(&case.object.metadata)) {
        if let Some(environment) = cluster.environment() {
            clusters.entry(environment).or_default().push(name_of(&cluster.metadata));
        }
    }
    for environment in removed {
        if let Some(mut names) = clusters.remove(environment.name.as_str()) {
            names.sort_unstable();
            let message = format!(
                "the environment `{}` cannot go while clusters are in it ({}); delete or migrate them first",
                environment.name,
                listed(names)
            );
            findings.forbidden(IN_USE, "spec.environments", message);
        }
    }
}

fn check_limits(case: &Case<'_, Team>, findings: &mut Findings) {
    for contradiction in case.object.spec.contradictions() {
        let message = format!(
            "says something else than its older name `{}`; remove the older one",
            contradiction.older
        );
        findings.invalid(CONTRADICTION, contradiction.newer, message);
    }
    let Some(limits) = &case.object.spec.resource_limits else { return };
    let is_new = case.old().is_none_or(|old| old.spec.resource_limits.as_ref() != Some(limits));
    for (older, newer, quantity) in [
        ("maxTotalCPU", "maxCPUCores", &limits.max_total_cpu),
        ("maxTotalMemory", "maxMemory", &limits.max_total_memory),
        ("maxTotalStorage", "maxStorage", &limits.max_total_storage),
    ] {
        if quantity.is_some() && is_new {
            let message = format!("an older name; write `{newer}` instead");
            findings.warn(OLDER_SPELLING, format!("spec.resourceLimits.{older}"), message);
        }
    }
    check_limit_amounts(limits, findings);
    if let (Some(one), Some(all)) = (limits.max_nodes_per_cluster, limits.max_total_nodes)
        && one > all
    {
        let message = format!(
            "`{one}` is above `maxTotalNodes`, which is `{all}`, so it can never be reached; lower it"
        );
        findings.warn(LIMIT, "spec.resourceLimits.maxNodesPerCluster", message);
    }
    for (place, version) in limits.allowed_kubernetes_versions.iter().enumerate() {
        if let Err(error) = version.parse::<KubernetesVersion>() {
            let path = format!("spec.resourceLimits.allowedKubernetesVersions[{place}]");
            findings.invalid(LIMIT, path, error.to_string());
        }
    }
}

fn check_limit_amounts(limits: &ResourceLimits, findings: &mut Findings) {
    let amounts = [
        ("maxCPUCores", &limits.max_cpu_cores),
        ("maxTotalCPU", &limits.max_total_cpu),
        ("maxMemory", &limits.max_memory),
        ("maxTotalMemory", &limits.max_total_memory),
        ("maxStorage", &limits.max_storage),
        ("maxTotalStorage", &limits.max_total_storage),
        ("defaultCPUPerNode", &limits.default_cpu_per_node),
        ("defaultMemoryPerNode", &limits.default_memory_per_node),
    ];
    check_amounts(LIMIT, "spec.resourceLimits", &amounts, findings);
}

/// Defaults that no cluster could be made with. Also asked for the ButlerConfig's.
pub(super) fn check_defaults(
    path: &str,
    defaults: &ClusterDefaults,
    hosted: SupportedRange,
    facts: &Facts,
    findings: &mut Findings,
) {
    let version_path = format!("{path}.kubernetesVersion");
    match defaults.kubernetes_version().map(str::parse::<KubernetesVersion>) {
        Some(Err(error)) => findings.invalid(LIMIT, version_path, error.to_string()),
        Some(Ok(version)) if !hosted.contains(version) => {
            let message =
                format!("`{version}` is not run by the hosted control plane; choose one of {hosted}");
            let finding = Finding::deny(Fault::NotSupported, NOT_HOSTED, version_path, message);
            findings.add(finding.resting_on(FactKey::Config));
        }
        Some(Ok(_)) | None => {}
    }
    for (place, addon) in defaults.default_addons.iter().enumerate() {
        if facts.definition(addon) == Lookup::Absent {
            let message =
                format!("the catalogue has no addon `{}` yet; clusters wait for it", excerpt(addon));
            findings.warn(ADDON_NOT_FOUND, format!("{path}.defaultAddons[{place}]"), message);
        }
    }
}

/// A platform is set up in some order, so a provider that is still to come is no mistake.
fn check_provider(case: &Case<'_, Team>, findings: &mut Findings) {
    if let Some(provider) = &case.object.spec.provider_config_ref
        && case.facts.provider(&provider.in_system_namespace()) == Lookup::Absent
    {
        let message =
            format!("there is no ProviderConfig `{}` yet; clusters wait for it", excerpt(&provider.name));
        findings.warn(PROVIDER_NOT_FOUND, "spec.providerConfigRef.name", message);
    }
}

/// Keeps a Team from being deleted while it has clusters.
pub(super) fn protect(review: &Review<'_>, facts: &Facts, findings: &mut Findings) {
    let mut clusters: Vec<(&str, &str)> = facts
        .clusters_of_team(&review.name)
        .map(|cluster| {
            (name_of(&cluster.metadata), cluster.metadata.namespace.as_deref().unwrap_or_default())
        })
        .collect();
    clusters.sort_unstable();
    if clusters.is_empty() {
        return;
    }
    let names = listed(clusters.iter().map(|(name, _)| *name));
    let message = format!("the team still has clusters ({names}); delete them first");
    let finding = Finding::deny(Fault::Forbidden, IN_USE, "metadata.name", message);
    let keys = clusters.into_iter().map(|(name, namespace)| {
        FactKey::Cluster(NsRef { name: name.to_owned(), namespace: namespace.to_owned() })
    });
    findings.add(keys.fold(finding, Finding::resting_on));
}

#[cfg(test)]
mod tests;
