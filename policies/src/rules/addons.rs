//! The addons of a cluster are ones that exist and that its team may have.
//!
//! Fields: `spec.addons.*`. A version must be offered by the addon's AddonDefinition, where the catalogue has one; the team's
//! `deniedAddons` and `allowedAddons` apply, except to the pod network, without which no cluster works. Two spellings of one
//! setting must not disagree; older spellings are accepted with a warning. Mode GitOps needs a repository to hand the addons
//! to.

use butler_api::addon_definition::AddonChart;
use butler_api::excerpt::excerpt;
use butler_api::tenant_cluster::ManagementMode;
use butler_api::tenant_cluster::addons::{Addons, GitopsProvider, IngressProvider, StorageProvider};
use butler_api::{AddonDefinition, TenantCluster};

use super::{Case, listed, name_of};
use crate::facts::{FactKey, Lookup};
use crate::finding::{Fault, Finding, Findings};

/// The catalogue does not offer that version.
const VERSION_NOT_OFFERED: &str = "VersionNotOffered";
/// The team may not have the addon.
const NOT_ALLOWED: &str = "NotAllowed";
/// Two spellings of one setting disagree.
const CONTRADICTION: &str = "Contradiction";
/// There is a newer spelling.
const OLDER_SPELLING: &str = "OlderSpelling";
/// The address of the repository is none, or not safe.
const REPOSITORY: &str = "Repository";
/// Mode GitOps without a repository.
const NO_REPOSITORY: &str = "NoRepository";

/// How many blocks there are.
const BLOCKS: usize = 7;

/// An addon that a cluster asks for.
pub(crate) struct Asked<'a> {
    /// The block in the spec.
    pub(crate) block: &'static str,
    /// The name in the catalogue.
    pub(crate) name: &'static str,
    /// The version, if the cluster names one.
    pub(crate) version: Option<&'a str>,
}

/// The addons that a cluster asks for, by their names in the catalogue. A block that is switched off asks for nothing.
pub(crate) fn asked(addons: &Addons) -> Vec<Asked<'_>> {
    let Addons { cni, load_balancer, cert_manager, storage, ingress, monitoring, gitops } = addons;
    let mut asked = Vec::with_capacity(BLOCKS);
    let mut add = |block, name, version| asked.push(Asked { block, name, version });
    if let Some(cni) = cni {
        add("cni", "cilium", cni.version());
    }
    if let Some(load_balancer) = load_balancer {
        add("loadBalancer", "metallb", load_balancer.version());
    }
    if let Some(cert_manager) = cert_manager.as_ref().filter(|it| it.enabled()) {
        add("certManager", "cert-manager", cert_manager.version());
    }
    if let Some(storage) = storage {
        let name = match storage.provider() {
            StorageProvider::Longhorn => "longhorn",
            StorageProvider::Linstor => "linstor",
        };
        add("storage", name, storage.version());
    }
    if let Some(ingress) = ingress.as_ref().filter(|it| it.enabled()) {
        let name = match ingress.provider() {
            IngressProvider::Traefik => "traefik",
            IngressProvider::Nginx => "ingress-nginx",
        };
        add("ingress", name, ingress.version());
    }
    if let Some(monitoring) = monitoring {
        add("monitoring", "prometheus", monitoring.version());
    }
    if let Some(gitops) = gitops {
        let name = match gitops.provider() {
            GitopsProvider::Fluxcd => "flux",
            GitopsProvider::Argocd => "argocd",
        };
        add("gitops", name, gitops.version());
    }
    asked
}

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let spec = &case.object.spec;
    for addon in asked(&spec.addons) {
        check_version(case, &addon, findings);
        if addon.block != "cni" {
            check_allowed(case, &addon, findings);
        }
    }
    for contradiction in spec.contradictions() {
        let message = format!(
            "says something else than its older name `{}`; remove the older one",
            contradiction.older
        );
        findings.invalid(CONTRADICTION, contradiction.newer, message);
    }
    let older = spec.addons.load_balancer.as_ref().and_then(|addon| addon.address_pool());
    let is_new = case.old().is_none_or(|old| old.spec.addons.load_balancer != spec.addons.load_balancer);
    if older.is_some() && is_new {
        let message =
            "an older name; write `spec.networking.loadBalancerPool` with `start` and `end` instead";
        findings.warn(OLDER_SPELLING, "spec.addons.loadBalancer.addressPool", message);
    }
    let repository = spec.addons.gitops.as_ref().and_then(|gitops| gitops.repository.as_ref());
    if let Some(url) = repository.map(|repository| &repository.url).filter(|url| !is_git_address(url)) {
        let message = format!(
            "`{}` is no address that a repository is read from in safety; write one that begins with `https://` or `ssh://`",
            excerpt(url)
        );
        findings.invalid(REPOSITORY, "spec.addons.gitops.repository.url", message);
    }
    if spec.management_policy.mode() == ManagementMode::GitOps && repository.is_none() {
        let message = "`GitOps` hands the addons to a Git repository, but none is named; set \
                       `spec.addons.gitops.repository`, or use `Active`";
        findings.invalid(NO_REPOSITORY, "spec.managementPolicy.mode", message);
    }
}

/// Whoever can change what is read on the way owns the cluster, so it is read over HTTPS or SSH (`ssh://` or `user@host:path`).
fn is_git_address(url: &str) -> bool {
    if url.contains(char::is_whitespace) {
        return false;
    }
    if let Some(host) = url.strip_prefix("https://").or_else(|| url.strip_prefix("ssh://")) {
        return !host.is_empty() && !host.starts_with('/');
    }
    let place = url.split_once('@').filter(|(user, _)| !user.is_empty() && !user.contains([':', '/']));
    let place = place.and_then(|(_, place)| place.split_once(':'));
    place.is_some_and(|(host, path)| !host.is_empty() && !host.contains('/') && !path.is_empty())
}

fn check_version(case: &Case<'_, TenantCluster>, addon: &Asked<'_>, findings: &mut Findings) {
    let Some(version) = addon.version else { return };
    let path = || format!("spec.addons.{}.version", addon.block);
    let definition = match case.facts.definition(addon.name) {
        Lookup::Found(definition) => definition,
        // Butler ships addons that the catalogue need not have.
        Lookup::Absent => return,
        Lookup::Unknown => return findings.unknown(path(), FactKey::Definition(addon.name.to_owned())),
    };
    if let Some(finding) = not_offered(definition, path, version) {
        findings.add(finding);
    }
}

/// The finding for a version that the catalogue does not offer. Also asked for TenantAddons.
pub(super) fn not_offered(
    definition: &AddonDefinition,
    path: impl FnOnce() -> String,
    version: &str,
) -> Option<Finding> {
    let (name, chart) = (name_of(&definition.metadata), &definition.spec.chart);
    if chart.offers(version) {
        return None;
    }
    let message = format!(
        "the catalogue does not offer version `{}` of `{name}`; choose one of {}",
        excerpt(version),
        offered(chart)
    );
    Some(
        Finding::deny(Fault::NotSupported, VERSION_NOT_OFFERED, path(), message)
            .resting_on(FactKey::Definition(name.to_owned())),
    )
}

/// The versions of a chart that the catalogue offers.
pub(super) fn offered(chart: &AddonChart) -> String {
    listed(chart.available_versions.iter().chain([&chart.default_version]).map(String::as_str))
}

/// Whether the team of a cluster may have an addon.
fn check_allowed(case: &Case<'_, TenantCluster>, addon: &Asked<'_>, findings: &mut Findings) {
    let Some(team) = case.team() else { return };
    let path = || format!("spec.addons.{}", addon.block);
    if let Some(finding) = not_allowed(team, path, addon.name) {
        findings.add(finding);
    }
}

/// The finding for an addon that the team may not have. Also asked for TenantAddons. What is denied is denied even if it is also allowed.
pub(super) fn not_allowed(
    team: &butler_api::Team,
    path: impl FnOnce() -> String,
    addon: &str,
) -> Option<Finding> {
    let limits = team.spec.resource_limits.as_ref()?;
    let name = name_of(&team.metadata);
    let message = if limits.denied_addons.iter().any(|denied| denied == addon) {
        format!("the Team `{name}` may not install `{}`; remove it", excerpt(addon))
    } else if !limits.allowed_addons.is_empty()
        && !limits.allowed_addons.iter().any(|allowed| allowed == addon)
    {
        let allowed = listed(limits.allowed_addons.iter().map(String::as_str));
        format!("the Team `{name}` may not install `{}`; choose among {allowed}", excerpt(addon))
    } else {
        return None;
    };
    Some(
        Finding::deny(Fault::Forbidden, NOT_ALLOWED, path(), message)
            .resting_on(FactKey::Team(name.to_owned())),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::facts::Facts;
    use crate::fixtures::*;

    fn found(spec: Value, facts: &Facts) -> Vec<String> {
        on_create(check, &cluster(json!({"spec": spec})), facts)
    }

    #[test]
    fn a_version_is_one_that_the_catalogue_offers() {
        let cilium = definition(json!({
            "metadata": {"name": "cilium"},
            "spec": {"chart": {"defaultVersion": "1.17.0", "availableVersions": ["1.16.0"]}}
        }));
        let facts = facts_with(&[cilium]);
        let cni = |version: &str| json!({"addons": {"cni": {"version": version}}});
        assert_eq!(found(cni("1.16.0"), &facts), [""; 0]);
        assert_eq!(found(cni("1.17.0"), &facts), [""; 0]);
        assert_eq!(
            found(cni("0.9.0"), &facts),
            [
                "spec.addons.cni.version: the catalogue does not offer version `0.9.0` of `cilium`; choose one of `1.16.0`, \
              `1.17.0`"
            ]
        );
        let mut unknown = facts.clone();
        unknown.lose(crate::facts::FactKind::Definition);
        assert_eq!(
            found(cni("1.16.0"), &unknown),
            [
                "spec.addons.cni.version: the AddonDefinition `cilium` cannot be read at the moment; try again, and tell the \
              platform's administrators if it stays so"
            ]
        );
        let twice = definition(json!({
            "metadata": {"name": "cilium"},
            "spec": {"chart": {"defaultVersion": "1.17.0", "availableVersions": ["1.17.0", "1.16.0"]}}
        }));
        assert_eq!(
            found(cni("0.9.0"), &facts_with(&[twice])),
            [
                "spec.addons.cni.version: the catalogue does not offer version `0.9.0` of `cilium`; choose one of `1.17.0`, \
              `1.16.0`"
            ]
        );
    }

    #[test]
    fn a_repository_is_read_in_safety() {
        let at = |url: &str| found(json!({"addons": {"gitops": {"repository": {"url": url}}}}), &facts());
        for url in
            ["https://git.example.org/a", "ssh://git@git.example.org/a", "git@git.example.org:fleet/a.git"]
        {
            assert_eq!(at(url), [""; 0], "{url}");
        }
        for url in
            ["http://git.example.org/a", "file:///etc", "git@git.example.org", "", "/srv/git", "https://"]
        {
            assert_eq!(
                at(url),
                [format!(
                    "spec.addons.gitops.repository.url: `{url}` is no address that a repository is read from in safety; write one \
                     that begins with `https://` or `ssh://`"
                )]
            );
        }
    }

    #[test]
    fn a_team_may_allow_and_deny_addons() {
        let limits = |limits: Value| facts_with(&[team(json!({"spec": {"resourceLimits": limits}}))]);
        let storage = json!({"addons": {"cni": {}, "storage": {}}});
        assert_eq!(found(storage.clone(), &limits(json!({"allowedAddons": ["longhorn"]}))), [""; 0]);
        assert_eq!(
            found(storage.clone(), &limits(json!({"allowedAddons": ["velero"]}))),
            ["spec.addons.storage: the Team `payments` may not install `longhorn`; choose among `velero`"]
        );
        assert_eq!(
            found(
                storage,
                &limits(json!({"allowedAddons": ["longhorn"], "deniedAddons": ["longhorn", "cilium"]}))
            ),
            ["spec.addons.storage: the Team `payments` may not install `longhorn`; remove it"]
        );
        let off = json!({"addons": {"ingress": {"enabled": false}}});
        assert_eq!(found(off, &limits(json!({"deniedAddons": ["traefik"]}))), [""; 0]);
    }

    #[test]
    fn an_older_spelling_warns_and_must_not_disagree() {
        let warning = "warning: spec.addons.loadBalancer.addressPool: an older name; write \
                       `spec.networking.loadBalancerPool` with `start` and `end` instead";
        let older = |pool: Value| json!({"addons": {"loadBalancer": {"addressPool": "10.40.1.1-10.40.1.9"}}, "networking": {"loadBalancerPool": pool}});
        assert_eq!(found(older(Value::Null), &facts()), [warning]);
        assert_eq!(found(older(json!({"start": "10.40.1.1", "end": "10.40.1.9"})), &facts()), [warning]);
        assert_eq!(
            found(older(json!({"start": "10.40.1.1", "end": "10.40.1.8"})), &facts()),
            [
                "spec.networking.loadBalancerPool: says something else than its older name \
                 `spec.addons.loadBalancer.addressPool`; remove the older one",
                warning
            ]
        );
    }

    #[test]
    fn gitops_needs_a_repository() {
        let mode = json!({"managementPolicy": {"mode": "GitOps"}});
        assert_eq!(
            found(mode, &facts()),
            [
                "spec.managementPolicy.mode: `GitOps` hands the addons to a Git repository, but none is named; set \
              `spec.addons.gitops.repository`, or use `Active`"
            ]
        );
        let named = json!({
            "managementPolicy": {"mode": "GitOps"}, "addons": {"gitops": {"repository": {"url": "https://git.example.org/a"}}}
        });
        assert_eq!(found(named, &facts()), [""; 0]);
    }
}
