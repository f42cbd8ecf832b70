//! Helm knows a release by its name and namespace; two who install the same would fight over it.
//!
//! A release may belong to another TenantAddon, to the cluster's own `spec.addons`, or to an addon that the platform depends on.
//! The last is nobody's to take, also where the cluster does not ask for the addon yet: whoever held the name would hold the
//! platform's place in the cluster.

use std::collections::BTreeSet;

use butler_api::excerpt::excerpt;
use butler_api::reference::NsRef;
use butler_api::{AddonDefinition, TenantAddon, TenantCluster};

use super::super::addons::asked;
use super::super::{Case, name_of};
use super::cluster_of;
use crate::facts::{FactKey, FactKind, Lookup};
use crate::finding::{Fault, Finding, Findings};

/// Somebody else is the same release.
const SAME_RELEASE: &str = "SameRelease";
/// The cluster itself installs the addon.
const SAME_ADDON: &str = "SameAddon";
/// The release is one of the platform's.
const PLATFORM_RELEASE: &str = "PlatformRelease";

pub(super) fn check(
    case: &Case<'_, TenantAddon>,
    definition: Option<&AddonDefinition>,
    cluster: Option<&TenantCluster>,
    findings: &mut Findings,
) {
    let own = case.object;
    let release = (own.release_name(definition), own.release_namespace(definition));
    let path = if own.spec.helm.is_some() { "spec.helm.releaseName" } else { "spec.addon" };
    check_tenant_addons(case, release, path, findings);
    let of_cluster = cluster.is_some_and(|cluster| check_cluster(case, cluster, release, path, findings));
    // Of a release that the cluster installs, enough is said.
    if !of_cluster {
        check_platform(case, release, path, findings);
    }
}

fn check_tenant_addons(
    case: &Case<'_, TenantAddon>,
    release: (&str, &str),
    path: &'static str,
    findings: &mut Findings,
) {
    let own = case.object;
    let (mut same, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for other in case.facts.addons_of_cluster(&cluster_of(own)) {
        if other.metadata.name == own.metadata.name {
            continue;
        }
        // An own chart takes nothing from the catalogue.
        let named = other.spec.addon().filter(|_| other.spec.helm.is_none());
        let definition = match named.map(|name| (name, case.facts.definition(name))) {
            Some((name, Lookup::Unknown)) => {
                unknown.insert(name);
                continue;
            }
            Some((_, Lookup::Found(definition))) => Some(definition),
            Some((_, Lookup::Absent)) | None => None,
        };
        if (other.release_name(definition), other.release_namespace(definition)) == release {
            same.insert(name_of(&other.metadata));
        }
    }
    for name in unknown {
        findings.unknown(path, FactKey::Definition(name.to_owned()));
    }
    if let Some(other) = same.first() {
        let message = format!(
            "the TenantAddon `{other}` is already the release `{}` in namespace `{}` of this cluster; change that one, or \
             delete it first",
            excerpt(release.0),
            excerpt(release.1)
        );
        let at = NsRef { name: (*other).to_owned(), namespace: cluster_of(own).namespace };
        findings
            .add(Finding::deny(Fault::Duplicate, SAME_RELEASE, path, message).resting_on(FactKey::Addon(at)));
    }
}

/// What the cluster's own `spec.addons` installs. Says whether it found something.
fn check_cluster(
    case: &Case<'_, TenantAddon>,
    cluster: &TenantCluster,
    release: (&str, &str),
    path: &'static str,
    findings: &mut Findings,
) -> bool {
    let own = case.object;
    for addon in asked(&cluster.spec.addons) {
        let definition = match case.facts.definition(addon.name) {
            Lookup::Found(definition) => Some(definition),
            Lookup::Absent => None,
            Lookup::Unknown => {
                findings.unknown(path, FactKey::Definition(addon.name.to_owned()));
                continue;
            }
        };
        let taken =
            definition.map_or((addon.name, addon.name), |it| (it.release_name(), it.release_namespace()));
        let (reason, message) = if own.spec.addon() == Some(addon.name) {
            let message = format!(
                "the cluster installs `{}` itself; set it in `spec.addons.{}` of the TenantCluster instead",
                addon.name, addon.block
            );
            (SAME_ADDON, message)
        } else if taken == release {
            let message = format!(
                "`spec.addons.{}` of the TenantCluster is already the release `{}` in namespace `{}`; change that, or choose \
                 another name",
                addon.block,
                excerpt(release.0),
                excerpt(release.1)
            );
            (SAME_RELEASE, message)
        } else {
            continue;
        };
        findings.add(
            Finding::deny(Fault::Duplicate, reason, path, message)
                .resting_on(FactKey::Cluster(cluster_of(own)))
                .resting_on(FactKey::Definition(addon.name.to_owned())),
        );
        return true;
    }
    false
}

/// What the platform depends on, in any cluster.
fn check_platform(
    case: &Case<'_, TenantAddon>,
    release: (&str, &str),
    path: &'static str,
    findings: &mut Findings,
) {
    if !case.facts.knows_all(FactKind::Definition) && case.object.spec.helm.is_some() {
        findings.unknown_kind(path, FactKind::Definition);
    }
    let platform = case.facts.definitions().filter(|definition| definition.spec.platform());
    let others =
        platform.filter(|definition| case.object.spec.addon() != Some(name_of(&definition.metadata)));
    let taken = others.filter(|it| (it.release_name(), it.release_namespace()) == release);
    if let Some(name) = taken.map(|definition| name_of(&definition.metadata)).min() {
        let message = format!(
            "the release `{}` in namespace `{}` is kept for the platform's addon `{name}`; choose another name or namespace",
            excerpt(release.0),
            excerpt(release.1)
        );
        findings.add(
            Finding::deny(Fault::Forbidden, PLATFORM_RELEASE, path, message)
                .resting_on(FactKey::Definition(name.to_owned())),
        );
    }
}
