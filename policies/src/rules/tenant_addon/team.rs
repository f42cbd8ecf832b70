//! What the team of a cluster may install into it, be it by the name of an addon or by its chart.
//!
//! A chart of one's own that is the very one of an addon in the catalogue is that addon under another name. The same chart from
//! yet another repository cannot be told from any other: a platform that must not have it lists its `chartSources`.

use butler_api::tenant_addon::HelmChart;
use butler_api::{Team, TenantAddon, TenantCluster};

use super::super::addons::not_allowed;
use super::super::{Case, name_of};
use crate::facts::{FactKey, Lookup};
use crate::finding::{Finding, Findings};

/// An addon of the catalogue.
pub(super) fn check_addon(
    case: &Case<'_, TenantAddon>,
    name: &str,
    cluster: Option<&TenantCluster>,
    findings: &mut Findings,
) {
    const PATH: &str = "spec.addon";
    let Some(team) = team_of(case, cluster, PATH, findings) else { return };
    if let Some(finding) = not_allowed(team, || PATH.to_owned(), name) {
        findings.add(finding);
    }
}

/// A chart of one's own. That not every AddonDefinition can be read is said where its release is checked.
pub(super) fn check_chart(
    case: &Case<'_, TenantAddon>,
    chart: &HelmChart,
    cluster: Option<&TenantCluster>,
    findings: &mut Findings,
) {
    const PATH: &str = "spec.helm.chart";
    let Some(team) = team_of(case, cluster, PATH, findings) else { return };
    let Some(limits) = &team.spec.resource_limits else { return };
    if limits.denied_addons.is_empty() && limits.allowed_addons.is_empty() {
        return;
    }
    let same = case.facts.definitions().filter(|definition| definition.spec.chart.is_same(chart));
    let mut names: Vec<&str> = same.map(|definition| name_of(&definition.metadata)).collect();
    names.sort_unstable();
    let denied = names.iter().find(|name| limits.denied_addons.iter().any(|denied| denied == *name));
    // The catalogue may have a chart under several names, of which one that is allowed is enough.
    let none_is_allowed = || {
        names
            .iter()
            .all(|name| not_allowed(team, String::new, name).is_some())
            .then(|| names.first())
            .flatten()
    };
    let Some(name) = denied.or_else(none_is_allowed) else { return };
    if let Some(finding) = not_allowed(team, || PATH.to_owned(), name) {
        let message = format!("this is the chart of the addon `{name}`, and {}", finding.message);
        let finding = Finding { message, ..finding };
        findings.add(finding.resting_on(FactKey::Definition((*name).to_owned())));
    }
}

fn team_of<'a>(
    case: &Case<'a, TenantAddon>,
    cluster: Option<&TenantCluster>,
    path: &'static str,
    findings: &mut Findings,
) -> Option<&'a Team> {
    let team = cluster.and_then(|cluster| cluster.spec.team_ref.as_ref());
    let name = team.map(|team| &team.name).filter(|team| !team.is_empty())?;
    match case.facts.team(name) {
        Lookup::Found(team) => Some(team),
        Lookup::Absent => None,
        Lookup::Unknown => {
            findings.unknown(path, FactKey::Team(name.clone()));
            None
        }
    }
}
