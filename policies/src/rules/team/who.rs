//! Who may change what in a Team.

use std::collections::{BTreeSet, HashMap};

use butler_api::butler_config::TeamLimits;
use butler_api::team::{Environment, ResourceLimits, TeamAccess};
use butler_api::{Team, TeamSpec};

use super::super::environment::is_team_administrator;
use super::super::{Case, listed};
use crate::finding::{Fault, Finding, Findings};

/// Only administrators of the platform may set the team's limits.
const PLATFORM_ADMINISTRATORS: &str = "PlatformAdministrators";
/// Only administrators of the team may change that.
const TEAM_ADMINISTRATORS: &str = "TeamAdministrators";

pub(super) fn check(case: &Case<'_, Team>, findings: &mut Findings) {
    let Some(caller) = case.caller else { return };
    let (own, old) = (&case.object.spec, case.old().map(|old| &old.spec));
    // The rest of this file is about changes; an object as it stands was not changed by anybody.
    if old.is_none() && !case.is_create() {
        return;
    }
    let before = old.and_then(|old| old.resource_limits.clone());
    let changes_limits = match (&own.resource_limits, old) {
        (Some(limits), None) => !is_what_everybody_gets(limits, case),
        (limits, Some(_)) => *limits != before,
        (None, None) => false,
    };
    if changes_limits && !case.caller_is_administrator() {
        let message =
            "only administrators of the platform may set what a team may use; leave it as it is, or ask them";
        deny(case, PLATFORM_ADMINISTRATORS, "spec.resourceLimits", message, findings);
    }
    let is_administrator = match case.old() {
        Some(old) => is_team_administrator(old, caller) || case.caller_is_administrator(),
        None => case.caller_is_administrator(),
    };
    if is_administrator {
        return;
    }
    let (before, kept) = (old.map(by_name).unwrap_or_default(), by_name(own));
    for (place, environment) in own.environments.iter().enumerate() {
        let before = before.get(environment.name.as_str()).and_then(|it| it.limits.clone());
        if environment.limits.clone().unwrap_or_default() != before.unwrap_or_default() {
            let message = "only administrators of the team may set what an environment may use; leave it as it is, or ask one";
            deny(case, TEAM_ADMINISTRATORS, format!("spec.environments[{place}].limits"), message, findings);
        }
    }
    if let Some(old) = old {
        let access = |spec: &TeamSpec| {
            let environments =
                spec.environments.iter().map(|it| (it.name.clone(), with_roles(it.access.clone())));
            (
                with_roles(spec.access.clone()),
                environments.filter(|(_, access)| *access != Default::default()).collect::<Vec<_>>(),
            )
        };
        if access(old) != access(own) {
            let message = "only administrators of the team may change who is in it; ask one of them";
            deny(case, TEAM_ADMINISTRATORS, "spec.access", message, findings);
        }
        check_settings(case, old, findings);
        let limited = old.environments.iter().filter(|it| it.limits.is_some());
        for removed in limited.filter(|it| !kept.contains_key(it.name.as_str())) {
            let message = format!(
                "only administrators of the team may remove `{}` with its limits; ask one",
                removed.name
            );
            deny(case, TEAM_ADMINISTRATORS, "spec.environments", message, findings);
        }
    }
}

/// The first one of a name counts, as everywhere.
fn by_name(spec: &TeamSpec) -> HashMap<&str, &Environment> {
    spec.environments.iter().rev().map(|it| (it.name.as_str(), it)).collect()
}

/// What clusters of the team get is for the administrators of the team as well. What is about limits and access is said elsewhere.
fn check_settings(case: &Case<'_, Team>, old: &TeamSpec, findings: &mut Findings) {
    let own = &case.object.spec;
    if own.provider_config_ref != old.provider_config_ref {
        let message = "only administrators of the team may change where its clusters run; ask one of them";
        deny(case, TEAM_ADMINISTRATORS, "spec.providerConfigRef", message, findings);
    }
    if own.cluster_defaults != old.cluster_defaults {
        let message = "only administrators of the team may change what its clusters get; ask one of them";
        deny(case, TEAM_ADMINISTRATORS, "spec.clusterDefaults", message, findings);
    }
    let names: BTreeSet<&str> =
        own.environments.iter().chain(&old.environments).map(|it| it.name.as_str()).collect();
    let (now, before) = (by_name(own), by_name(old));
    let changed = names.into_iter().filter(|name| {
        let (own, old) = (now.get(name).copied(), before.get(name).copied());
        let limits = |it: Option<&Environment>| it.and_then(|it| it.limits.clone()).unwrap_or_default();
        let access =
            |it: Option<&Environment>| it.map(|it| with_roles(it.access.clone())).unwrap_or_default();
        own != old && limits(own) == limits(old) && access(own) == access(old) && !only_spelled(own, old)
    });
    let changed: Vec<&str> = changed.collect();
    if !changed.is_empty() {
        let message = format!(
            "only administrators of the team may change its environments (here {}); ask one of them",
            listed(changed)
        );
        deny(case, TEAM_ADMINISTRATORS, "spec.environments", message, findings);
    }
}

/// Whether an environment differs in nothing but how its limits and its access are written down.
fn only_spelled(own: Option<&Environment>, old: Option<&Environment>) -> bool {
    let rest = |it: &Environment| (it.description.clone(), it.cluster_defaults.clone());
    matches!((own, old), (Some(own), Some(old)) if rest(own) == rest(old))
}

/// Whether a new team asks for nothing but what the platform gives to every team. Defaults write it into each new Team, whoever
/// makes it.
fn is_what_everybody_gets(limits: &ResourceLimits, case: &Case<'_, Team>) -> bool {
    let platform = case.config().and_then(|config| config.default_team_limits.clone()).unwrap_or_default();
    let TeamLimits {
        max_clusters,
        max_workers_per_cluster,
        max_total_cpu,
        max_total_memory,
        max_total_storage,
    } = platform;
    let expected = ResourceLimits {
        max_clusters,
        max_nodes_per_cluster: max_workers_per_cluster,
        max_cpu_cores: max_total_cpu,
        max_memory: max_total_memory,
        max_storage: max_total_storage,
        ..ResourceLimits::default()
    };
    *limits == expected
}

fn deny(
    case: &Case<'_, Team>,
    reason: &'static str,
    path: impl Into<std::borrow::Cow<'static, str>>,
    message: impl Into<String>,
    findings: &mut Findings,
) {
    let finding = Finding::deny(Fault::Forbidden, reason, path, message);
    findings.add(case.administrator_facts().into_iter().fold(finding, Finding::resting_on));
}

/// Everybody with the role in effect: writing down the one that is meant when none is written changes nothing.
fn with_roles(mut access: TeamAccess) -> TeamAccess {
    access.users.iter_mut().for_each(|user| user.role = Some(user.role()));
    access.groups.iter_mut().for_each(|group| group.role = Some(group.role()));
    access
}
