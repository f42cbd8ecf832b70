//! A TenantAddon installs one chart once, into a cluster that exists.
//!
//! Fields: `spec.addon` xor `spec.helm`; `spec.clusterRef` (exists, not on its way out, does not change); `spec.addon` (in the
//! catalogue, allowed to the team; one that the platform installs itself is for its administrators); `spec.version` (offered, and required
//! for an own chart); `spec.helm` (from where the ButlerConfig's `chartSources` allows, and no chart of an addon that the team may
//! not have); `spec.dependsOn` (TenantAddons
//! of the same cluster, without cycles); `spec.values` (valid against the definition's `valuesSchema`). No two TenantAddons of
//! a cluster may be the same Helm release, and none may be one that the cluster's own `spec.addons` or the platform installs:
//! they would undo each other for ever. One that others, or the platform, depend on cannot be deleted.

mod dependencies;
mod effort;
mod release;
mod team;
mod values;

pub(super) use self::dependencies::way_back;
pub(super) use self::values::compiled;
use butler_api::butler_config::ChartSources;
use butler_api::excerpt::excerpt;
use butler_api::names::dns_label;
use butler_api::reference::NsRef;
use butler_api::tenant_addon::HelmChart;
use butler_api::wire::given;
use butler_api::{TenantAddon, TenantCluster};

use super::addons::not_offered;
use super::{Case, Moment, listed, name_of};
use crate::facts::{FactKey, Facts, Lookup};
use crate::finding::{Fault, Finding, Findings};
use crate::review::Review;

/// Neither or both of `addon` and `helm`.
const ONE_SOURCE: &str = "OneSource";
/// The cluster does not exist, or is on its way out.
const CLUSTER_NOT_FOUND: &str = "ClusterNotFound";
/// The catalogue has no such addon.
const DEFINITION_NOT_FOUND: &str = "DefinitionNotFound";
/// An own chart has no version.
const VERSION_REQUIRED: &str = "VersionRequired";
/// The platform installs the addon itself.
const PLATFORM_ADDON: &str = "PlatformAddon";
/// The repository is none that charts may come from.
const CHART_SOURCE: &str = "ChartSource";
/// The name of the release, or of its namespace, is no name.
const RELEASE_NAME: &str = "ReleaseName";
/// The field cannot change.
const IMMUTABLE: &str = "Immutable";
/// Another TenantAddon depends on it.
const DEPENDED_ON: &str = "DependedOn";

pub(super) fn check(case: &Case<'_, TenantAddon>, findings: &mut Findings) {
    let spec = &case.object.spec;
    let cluster = check_cluster(case, findings);
    match (spec.addon(), &spec.helm) {
        (Some(_), Some(_)) => {
            let message =
                "gives a chart, but `spec.addon` names one from the catalogue; remove one of the two";
            findings.invalid(ONE_SOURCE, "spec.helm", message);
        }
        (None, None) => {
            let message = "nothing says what to install; name an addon of the catalogue, or give a chart in `spec.helm`";
            findings.add(Finding::deny(Fault::Required, ONE_SOURCE, "spec.addon", message));
        }
        (Some(name), None) => check_catalogue(case, name, cluster, findings),
        (None, Some(chart)) => {
            check_own_chart(case, chart, findings);
            team::check_chart(case, chart, cluster, findings);
            release::check(case, None, cluster, findings);
        }
    }
    dependencies::check(case, findings);
    if let Some(old) = case.old() {
        check_unchanged(&old.spec.cluster_ref.name, &spec.cluster_ref.name, "spec.clusterRef.name", findings);
        let source = |addon: &TenantAddon| addon.spec.addon().unwrap_or_default().to_owned();
        check_unchanged(&source(old), &source(case.object), "spec.addon", findings);
    }
}

/// Where the addon's cluster is: in the addon's own namespace.
fn cluster_of(addon: &TenantAddon) -> NsRef {
    NsRef {
        name: addon.spec.cluster_ref.name.clone(),
        namespace: addon.metadata.namespace.clone().unwrap_or_default(),
    }
}

fn check_cluster<'a>(case: &Case<'a, TenantAddon>, findings: &mut Findings) -> Option<&'a TenantCluster> {
    const PATH: &str = "spec.clusterRef.name";
    let at = cluster_of(case.object);
    match case.facts.cluster(&at) {
        Lookup::Found(cluster) if cluster.metadata.deletion_timestamp.is_some() => {
            let message = format!("the TenantCluster `{}` is being deleted; name another", excerpt(&at.name));
            findings.add(
                Finding::deny(Fault::Forbidden, CLUSTER_NOT_FOUND, PATH, message)
                    .resting_on(FactKey::Cluster(at)),
            );
            None
        }
        Lookup::Found(cluster) => Some(cluster),
        Lookup::Absent => {
            let message = format!(
                "there is no TenantCluster `{}` in namespace `{}`; create it first, or name one of this namespace",
                excerpt(&at.name),
                excerpt(&at.namespace)
            );
            findings.add(
                Finding::deny(Fault::NotFound, CLUSTER_NOT_FOUND, PATH, message)
                    .resting_on(FactKey::Cluster(at)),
            );
            None
        }
        Lookup::Unknown => {
            findings.unknown(PATH, FactKey::Cluster(at));
            None
        }
    }
}

fn check_catalogue(
    case: &Case<'_, TenantAddon>,
    name: &str,
    cluster: Option<&TenantCluster>,
    findings: &mut Findings,
) {
    let definition = match case.facts.definition(name) {
        Lookup::Found(definition) => definition,
        Lookup::Absent => {
            let mut known: Vec<&str> =
                case.facts.definitions().map(|known| name_of(&known.metadata)).collect();
            known.sort_unstable();
            let message =
                format!("the catalogue has no addon `{}`; choose one of {}", excerpt(name), listed(known));
            let finding = Finding::deny(Fault::NotFound, DEFINITION_NOT_FOUND, "spec.addon", message);
            return findings.add(finding.resting_on(FactKey::Definition(name.to_owned())));
        }
        Lookup::Unknown => return findings.unknown("spec.addon", FactKey::Definition(name.to_owned())),
    };
    let key = || FactKey::Definition(name.to_owned());
    if definition.spec.platform() && !case.caller_is_administrator() {
        let message = format!(
            "`{name}` is an addon that the platform installs itself; set it in `spec.addons` of the TenantCluster instead"
        );
        let finding =
            Finding::deny(Fault::Forbidden, PLATFORM_ADDON, "spec.addon", message).resting_on(key());
        findings.add(case.administrator_facts().into_iter().fold(finding, Finding::resting_on));
    }
    let version = given(&case.object.spec.version);
    if let Some(finding) =
        version.and_then(|version| not_offered(definition, || "spec.version".to_owned(), version))
    {
        findings.add(finding);
    }
    team::check_addon(case, name, cluster, findings);
    values::check(case, definition, findings);
    release::check(case, Some(definition), cluster, findings);
}

fn check_own_chart(case: &Case<'_, TenantAddon>, chart: &HelmChart, findings: &mut Findings) {
    const PATH: &str = "spec.helm.repository";
    if case.facts.config() == Lookup::Unknown {
        findings.unknown(PATH, FactKey::Config);
    }
    let sources = case.config().and_then(|config| config.chart_sources.as_ref());
    let shown = excerpt(&chart.repository);
    let message = match sources {
        None if !ChartSources::is_repository(&chart.repository) => Some(format!(
            "`{shown}` is no repository; write an address that begins with `https://` or `oci://`"
        )),
        Some(sources) if !sources.allows(&chart.repository) => {
            Some(if sources.allowed_repositories.is_empty() {
                format!(
                    "charts may not come from `{shown}`; this platform allows only addons of the catalogue"
                )
            } else {
                let allowed = listed(sources.allowed_repositories.iter().map(String::as_str));
                format!("charts may not come from `{shown}`; use one of {allowed}")
            })
        }
        None | Some(_) => None,
    };
    if let Some(message) = message {
        findings
            .add(Finding::deny(Fault::Forbidden, CHART_SOURCE, PATH, message).resting_on(FactKey::Config));
    }
    if chart.chart.is_empty() || chart.chart.contains("..") || chart.chart.contains(char::is_whitespace) {
        let message =
            format!("`{}` is no name of a chart; write it as the repository lists it", excerpt(&chart.chart));
        findings.invalid(CHART_SOURCE, "spec.helm.chart", message);
    }
    if given(&case.object.spec.version).is_none() {
        let message =
            "a chart of your own needs one; write it as the repository lists it, for example `1.2.3`";
        findings.add(Finding::deny(Fault::Required, VERSION_REQUIRED, "spec.version", message));
    }
    let names = [("spec.helm.releaseName", &chart.release_name), ("spec.helm.namespace", &chart.namespace)];
    for (path, name) in names {
        if let Some(Err(error)) = given(name).map(dns_label) {
            findings.invalid(RELEASE_NAME, path, error.to_string());
        }
    }
}

fn check_unchanged(old: &str, new: &str, path: &'static str, findings: &mut Findings) {
    if old != new {
        let shown = |value: &str| {
            if value.is_empty() { "nothing".to_owned() } else { format!("`{}`", excerpt(value)) }
        };
        let message = format!(
            "cannot change from {} to {}; delete this TenantAddon and create another",
            shown(old),
            shown(new)
        );
        findings.forbidden(IMMUTABLE, path, message);
    }
}

/// A TenantAddon that others depend on stays until they are gone, unless the whole cluster goes.
pub(super) fn protect(review: &Review<'_>, facts: &Facts, findings: &mut Findings) {
    let crate::review::Subject::TenantAddon(change) = &review.subject else { return };
    let crate::review::Change::Delete(addon) = &**change else { return };
    let at = cluster_of(addon);
    // A cluster that nobody can say anything of may well stay.
    let cluster_goes = match facts.cluster(&at) {
        Lookup::Found(cluster) => cluster.metadata.deletion_timestamp.is_some(),
        Lookup::Absent => true,
        Lookup::Unknown => false,
    };
    let mut dependents: Vec<&TenantAddon> = facts
        .addons_of_cluster(&at)
        .filter(|other| other.metadata.deletion_timestamp.is_none())
        .filter(|other| other.spec.depends_on.iter().any(|on| on.name == *review.name))
        .collect();
    dependents.sort_by_key(|other| name_of(&other.metadata));
    if cluster_goes {
        return;
    }
    let case = Case::new(addon, Moment::Standing, Some(&review.caller), facts);
    match addon.spec.addon().map(|name| (name, facts.definition(name))) {
        Some((name, Lookup::Found(definition)))
            if definition.spec.platform() && !case.caller_is_administrator() =>
        {
            let message = "the platform depends on this addon; only its administrators may remove it";
            let finding = Finding::deny(Fault::Forbidden, PLATFORM_ADDON, "metadata.name", message)
                .resting_on(FactKey::Cluster(at.clone()))
                .resting_on(FactKey::Definition(name.to_owned()));
            findings.add(case.administrator_facts().into_iter().fold(finding, Finding::resting_on));
        }
        Some((name, Lookup::Unknown)) if !case.caller_is_administrator() => {
            findings.unknown("metadata.name", FactKey::Definition(name.to_owned()));
        }
        _ => {}
    }
    if dependents.is_empty() {
        return;
    }
    let names = listed(dependents.iter().map(|other| name_of(&other.metadata)));
    let message =
        format!("it is needed by {names}; delete those first, or remove it from their `spec.dependsOn`");
    let finding = Finding::deny(Fault::Forbidden, DEPENDED_ON, "metadata.name", message)
        .resting_on(FactKey::Cluster(at.clone()));
    let keys = dependents.iter().map(|other| {
        FactKey::Addon(NsRef { name: name_of(&other.metadata).to_owned(), namespace: at.namespace.clone() })
    });
    findings.add(keys.fold(finding, Finding::resting_on));
}

#[cfg(test)]
mod tests;
