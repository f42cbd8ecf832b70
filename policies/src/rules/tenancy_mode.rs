//! A cluster belongs where the platform's tenancy mode says.
//!
//! Fields: `spec.teamRef`, `metadata.namespace`. In mode Enforced a team is required; in Optional it may be named; in
//! Disabled there are no teams. A named team must exist and not be on its way out, and the cluster must be in the team's
//! namespace; a cluster without a team must be in the platform's default namespace. Otherwise limits and access of one team
//! could be had by writing another team's name.

use butler_api::butler_config::MultiTenancyMode;
use butler_api::excerpt::excerpt;
use butler_api::team::TeamPhase;
use butler_api::{ButlerConfigSpec, Team, TenantCluster};

use super::{Case, name_of};
use crate::facts::{FactKey, Lookup};
use crate::finding::{Fault, Finding, Findings};

/// The platform requires a team and the cluster names none.
const TEAM_REQUIRED: &str = "TeamRequired";
/// The platform has no teams and the cluster names one.
const TEAMS_DISABLED: &str = "TeamsDisabled";
/// The team does not exist.
const TEAM_NOT_FOUND: &str = "TeamNotFound";
/// The team is being deleted.
const TEAM_TERMINATING: &str = "TeamTerminating";
/// The cluster is in a namespace that is not its team's, or not the default one.
const WRONG_NAMESPACE: &str = "WrongNamespace";

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let mode = match case.facts.config() {
        Lookup::Found(config) => config.spec.multi_tenancy.mode(),
        Lookup::Absent => MultiTenancyMode::DEFAULT,
        Lookup::Unknown => return findings.unknown("spec.teamRef", FactKey::Config),
    };
    match (mode, case.team_name()) {
        (MultiTenancyMode::Enforced, None) => {
            let message =
                "this platform requires a team; name yours, for example `teamRef: {name: payments}`";
            findings.add(
                Finding::deny(Fault::Required, TEAM_REQUIRED, "spec.teamRef", message)
                    .resting_on(FactKey::Team(case.namespace().to_owned()))
                    .resting_on(FactKey::Config),
            );
        }
        (MultiTenancyMode::Enforced | MultiTenancyMode::Optional, Some(name)) => {
            match case.facts.team(name) {
                Lookup::Found(team) => check_team(case, team, findings),
                Lookup::Absent => {
                    let message =
                        format!("there is no Team `{}`; create it first, or name another", excerpt(name));
                    findings.add(
                        Finding::deny(Fault::NotFound, TEAM_NOT_FOUND, "spec.teamRef.name", message)
                            .resting_on(FactKey::Team(name.to_owned())),
                    );
                }
                Lookup::Unknown => findings.unknown("spec.teamRef.name", FactKey::Team(name.to_owned())),
            }
        }
        (MultiTenancyMode::Disabled, Some(name)) => {
            let message = format!(
                "this platform has no teams, so the cluster cannot belong to `{}`; remove the field",
                excerpt(name)
            );
            findings.add(
                Finding::deny(Fault::Forbidden, TEAMS_DISABLED, "spec.teamRef", message)
                    .resting_on(FactKey::Config),
            );
        }
        (MultiTenancyMode::Optional | MultiTenancyMode::Disabled, None) => {
            check_default_namespace(case, findings)
        }
    }
}

fn check_team(case: &Case<'_, TenantCluster>, team: &Team, findings: &mut Findings) {
    let name = name_of(&team.metadata);
    let terminating = team.metadata.deletion_timestamp.is_some()
        || team.status.as_ref().is_some_and(|status| status.phase == Some(TeamPhase::Terminating));
    if terminating {
        let message = format!("the Team `{name}` is being deleted; name another");
        findings.add(
            Finding::deny(Fault::Forbidden, TEAM_TERMINATING, "spec.teamRef.name", message)
                .resting_on(FactKey::Team(name.to_owned())),
        );
    }
    if team.namespace() != case.namespace() {
        let message = format!(
            "the cluster is in namespace `{}`, but clusters of the Team `{name}` belong into `{}`; create it there, or \
             name the team of this namespace",
            excerpt(case.namespace()),
            team.namespace()
        );
        findings.add(
            Finding::deny(Fault::Invalid, WRONG_NAMESPACE, "metadata.namespace", message)
                .resting_on(FactKey::Team(name.to_owned())),
        );
    }
}

fn check_default_namespace(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let default =
        case.config().map_or(ButlerConfigSpec::DEFAULT_NAMESPACE, ButlerConfigSpec::default_namespace);
    if case.namespace() != default {
        let message = format!(
            "the cluster is in namespace `{}`, but clusters without a team belong into `{default}`; create it there, or \
             name a team where the platform has teams",
            excerpt(case.namespace())
        );
        findings.add(
            Finding::deny(Fault::Invalid, WRONG_NAMESPACE, "metadata.namespace", message)
                .resting_on(FactKey::Team(case.namespace().to_owned()))
                .resting_on(FactKey::Config),
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::facts::{FactKind, Facts};
    use crate::fixtures::*;

    fn facts_in(mode: &str) -> Facts {
        facts_with(&[config(json!({"spec": {"multiTenancy": {"mode": mode}}}))])
    }

    fn found(mode: &str, tweak: Value) -> Vec<String> {
        on_create(check, &cluster(tweak), &facts_in(mode))
    }

    #[test]
    fn a_cluster_of_a_team_in_its_namespace_passes() {
        assert_eq!(found("Enforced", json!({})), [""; 0]);
        assert_eq!(found("Optional", json!({})), [""; 0]);
    }

    #[test]
    fn a_team_is_required_where_teams_are_enforced() {
        assert_eq!(
            found("Enforced", json!({"spec": {"teamRef": null}})),
            [
                "spec.teamRef: this platform requires a team; name yours, for example `teamRef: {name: payments}`"
            ]
        );
    }

    #[test]
    fn a_team_must_exist() {
        assert_eq!(
            found("Enforced", json!({"spec": {"teamRef": {"name": "nobody"}}})),
            ["spec.teamRef.name: there is no Team `nobody`; create it first, or name another"]
        );
    }

    #[test]
    fn a_cluster_is_in_the_namespace_of_its_team() {
        assert_eq!(
            found("Optional", json!({"metadata": {"namespace": "elsewhere"}})),
            [
                "metadata.namespace: the cluster is in namespace `elsewhere`, but clusters of the Team `payments` belong into \
              `payments`; create it there, or name the team of this namespace"
            ]
        );
    }

    #[test]
    fn a_team_on_its_way_out_takes_no_more_clusters() {
        let leaving = team(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
        assert_eq!(
            on_create(check, &cluster(json!({})), &facts_with(&[leaving])),
            ["spec.teamRef.name: the Team `payments` is being deleted; name another"]
        );
    }

    #[test]
    fn without_teams_clusters_are_in_the_default_namespace() {
        assert_eq!(
            found("Disabled", json!({})),
            [
                "spec.teamRef: this platform has no teams, so the cluster cannot belong to `payments`; remove the field"
            ]
        );
        let teamless = json!({"metadata": {"namespace": "butler-tenants"}, "spec": {"teamRef": null}});
        assert_eq!(found("Disabled", teamless.clone()), [""; 0]);
        assert_eq!(found("Optional", teamless), [""; 0]);
        assert_eq!(
            found("Disabled", json!({"spec": {"teamRef": null}})),
            [
                "metadata.namespace: the cluster is in namespace `payments`, but clusters without a team belong into \
              `butler-tenants`; create it there, or name a team where the platform has teams"
            ]
        );
    }

    #[test]
    fn not_knowing_denies() {
        let mut facts = facts_with(&[]);
        facts.lose(FactKind::Team);
        let stranger = cluster(json!({"spec": {"teamRef": {"name": "nobody"}}}));
        assert_eq!(
            on_create(check, &stranger, &facts),
            [
                "spec.teamRef.name: the Team `nobody` cannot be read at the moment; try again, and tell the platform's \
              administrators if it stays so"
            ]
        );
    }
}
