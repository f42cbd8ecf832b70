//! A cluster is in an environment of its team, and its creator is who they say.
//!
//! Fields: `metadata.labels[butler.butlerlabs.dev/environment]`, `metadata.annotations[butler.butlerlabs.dev/creator-email]`,
//! `…/owner`. Once a team has environments, every cluster names one of them; it changes only together with the annotation
//! `migration-operation: "true"`, by an administrator of the team or the platform. The creator is the caller and never
//! changes; the owner, whom caps per member count by, is somebody else only if an administrator says so. Otherwise anybody
//! could make room under a cap by editing an annotation.

use butler_api::excerpt::excerpt;
use butler_api::labels::annotations;
use butler_api::role::Role;
use butler_api::{Team, TenantCluster};

use super::{Case, listed, name_of};
use crate::facts::FactKey;
use crate::finding::{Fault, Finding, Findings};
use crate::review::Caller;

const LABEL: &str = "metadata.labels[butler.butlerlabs.dev/environment]";
const CREATOR: &str = "metadata.annotations[butler.butlerlabs.dev/creator-email]";
const OWNER: &str = "metadata.annotations[butler.butlerlabs.dev/owner]";

/// The team has environments and the cluster names none.
const ENVIRONMENT_REQUIRED: &str = "EnvironmentRequired";
/// The team has no such environment.
const ENVIRONMENT_NOT_FOUND: &str = "EnvironmentNotFound";
/// The environment changes without a migration.
const NOT_A_MIGRATION: &str = "NotAMigration";
/// The creator is missing where a cap per member needs it.
const CREATOR_REQUIRED: &str = "CreatorRequired";
/// The creator is not the caller, or changes.
const NOT_THE_CREATOR: &str = "NotTheCreator";
/// Somebody else than an administrator names another owner.
const OWNER_PROTECTED: &str = "OwnerProtected";

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    check_environment(case, findings);
    check_migration(case, findings);
    check_creator(case, findings);
    check_owner(case, findings);
}

fn check_environment(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let Some(team) = case.team().filter(|team| !team.spec.environments.is_empty()) else { return };
    let name = name_of(&team.metadata);
    let known = || listed(team.spec.environments.iter().map(|environment| environment.name.as_str()));
    let finding = match case.object.environment() {
        None => Finding::deny(
            Fault::Required,
            ENVIRONMENT_REQUIRED,
            LABEL,
            format!(
                "the Team `{name}` has environments, so its clusters name one; choose one of {}",
                known()
            ),
        ),
        Some(label) if team.spec.environment(label).is_none() => Finding::deny(
            Fault::NotSupported,
            ENVIRONMENT_NOT_FOUND,
            LABEL,
            format!("the Team `{name}` has no environment `{}`; choose one of {}", excerpt(label), known()),
        ),
        Some(_) => return,
    };
    findings.add(finding.resting_on(FactKey::Team(name.to_owned())));
}

fn check_migration(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let Some(old) = case.old() else { return };
    let (before, after) = (old.environment(), case.object.environment());
    // A cluster from before its team had environments may get its first one.
    if before == after || before.is_none() {
        return;
    }
    let shown = |label: Option<&str>| {
        label.map_or_else(|| "none".to_owned(), |label| format!("`{}`", excerpt(label)))
    };
    let asked = annotation(case.object, annotations::MIGRATION_OPERATION) == Some("true");
    if !asked || !may_administer(case) {
        let message = format!(
            "cannot change from {} to {} like this; let an administrator of the team set the annotation \
             `butler.butlerlabs.dev/migration-operation: \"true\"` in the same change",
            shown(before),
            shown(after)
        );
        findings
            .add(with_administrators(case, Finding::deny(Fault::Forbidden, NOT_A_MIGRATION, LABEL, message)));
    }
}

fn check_creator(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let creator = annotation(case.object, annotations::CREATOR_EMAIL);
    if let Some(old) = case.old() {
        let before = annotation(old, annotations::CREATOR_EMAIL);
        if before.is_some() && before != creator {
            let message = format!(
                "cannot change, because caps per member count by it; keep `{}`",
                excerpt(before.unwrap_or_default())
            );
            findings.forbidden(NOT_THE_CREATOR, CREATOR, message);
        }
        return;
    }
    let (true, Some(caller)) = (case.is_create(), case.caller) else { return };
    match creator {
        None if cap_per_member(case) => {
            let message = format!(
                "clusters of this environment are counted per member; write your own name, `{}`",
                caller.name
            );
            findings.add(Finding::deny(Fault::Required, CREATOR_REQUIRED, CREATOR, message));
        }
        Some(creator) if !same_person(creator, &caller.name) && !case.caller_is_administrator() => {
            let message = format!(
                "`{}` is not who you are; write `{}`, or leave it out",
                excerpt(creator),
                excerpt(&caller.name)
            );
            findings.add(with_administrators(
                case,
                Finding::deny(Fault::Forbidden, NOT_THE_CREATOR, CREATOR, message),
            ));
        }
        _ => {}
    }
}

fn check_owner(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    if case.caller.is_none() || matches!(case.moment, super::Moment::Standing) {
        return;
    }
    let owner = annotation(case.object, annotations::OWNER);
    // A new cluster is its creator's; a cluster that has no owner written down belongs to its creator.
    let before =
        case.old().map_or_else(|| annotation(case.object, annotations::CREATOR_EMAIL), TenantCluster::owner);
    let (Some(owner), Some(before)) = (owner.or(before), before) else { return };
    if !same_person(owner, before) && !may_administer(case) {
        let message = format!(
            "`{}` cannot become the owner like this; keep `{}`, or let an administrator of the team change it",
            excerpt(owner),
            excerpt(before)
        );
        findings
            .add(with_administrators(case, Finding::deny(Fault::Forbidden, OWNER_PROTECTED, OWNER, message)));
    }
}

fn annotation<'a>(cluster: &'a TenantCluster, key: &str) -> Option<&'a str> {
    let annotation = cluster.metadata.annotations.as_ref()?.get(key)?;
    Some(annotation.as_str()).filter(|text| !text.is_empty())
}

/// E-mail addresses are the same whatever their case.
fn same_person(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

fn cap_per_member(case: &Case<'_, TenantCluster>) -> bool {
    let environment = case.team().and_then(|team| team.spec.environment(case.object.environment()?));
    environment
        .and_then(|environment| environment.limits.as_ref())
        .is_some_and(|limits| limits.max_clusters_per_member.is_some())
}

fn may_administer(case: &Case<'_, TenantCluster>) -> bool {
    let of_team = |caller: &Caller<'_>| case.team().is_some_and(|team| is_team_administrator(team, caller));
    case.caller.is_some_and(of_team) || case.caller_is_administrator()
}

/// Whether the caller has the role `admin` in the team, by name or by group.
pub(super) fn is_team_administrator(team: &Team, caller: &Caller<'_>) -> bool {
    let access = &team.spec.access;
    let by_name =
        access.users.iter().filter(|user| same_person(&user.name, &caller.name)).map(|user| user.role());
    let by_group = access
        .groups
        .iter()
        .filter(|group| {
            let subject = group.subject();
            caller.groups.iter().any(|own| *own == subject)
        })
        .map(|group| group.role());
    Role::highest_of(by_name.chain(by_group)) == Some(Role::Admin)
}

fn with_administrators(case: &Case<'_, TenantCluster>, finding: Finding) -> Finding {
    let team = case.team_name().map(|team| FactKey::Team(team.to_owned()));
    case.administrator_facts().into_iter().chain(team).fold(finding, Finding::resting_on)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::facts::Facts;
    use crate::fixtures::*;

    fn environments(limits: Value) -> Facts {
        facts_with(&[team(
            json!({"spec": {"environments": [{"name": "dev", "limits": limits}, {"name": "prod"}]}}),
        )])
    }

    fn with(environment: Value, annotations: Value) -> butler_api::TenantCluster {
        cluster(json!({"metadata": {
            "labels": {"butler.butlerlabs.dev/environment": environment}, "annotations": annotations
        }}))
    }

    #[test]
    fn a_cluster_names_an_environment_of_its_team() {
        let facts = environments(json!({}));
        assert_eq!(on_create(check, &with(json!("dev"), json!({})), &facts), [""; 0]);
        assert_eq!(
            on_create(check, &cluster(json!({})), &facts),
            [
                "metadata.labels[butler.butlerlabs.dev/environment]: the Team `payments` has environments, so its clusters name \
              one; choose one of `dev`, `prod`"
            ]
        );
        assert_eq!(
            on_create(check, &with(json!("test"), json!({})), &facts),
            [
                "metadata.labels[butler.butlerlabs.dev/environment]: the Team `payments` has no environment `test`; choose one \
              of `dev`, `prod`"
            ]
        );
    }

    #[test]
    fn an_environment_changes_by_a_migration_of_an_administrator() {
        let facts = environments(json!({}));
        let old = with(json!("dev"), json!({}));
        let plain = with(json!("prod"), json!({}));
        let migration = with(json!("prod"), json!({"butler.butlerlabs.dev/migration-operation": "true"}));
        let denial = [
            "metadata.labels[butler.butlerlabs.dev/environment]: cannot change from `dev` to `prod` like this; let an \
                       administrator of the team set the annotation `butler.butlerlabs.dev/migration-operation: \"true\"` in the \
                       same change",
        ];
        assert_eq!(on_update(check, &old, &plain, &facts), denial);
        assert_eq!(on_update(check, &old, &migration, &facts), [""; 0]);
        assert_eq!(on_update_by(&caller("bob@example.org"), check, &old, &migration, &facts), denial);
        assert_eq!(on_update_by(&master(), check, &old, &migration, &facts), [""; 0]);
        assert_eq!(on_update(check, &cluster(json!({})), &plain, &facts), [""; 0]);
    }

    #[test]
    fn the_creator_is_the_caller() {
        let facts = environments(json!({"maxClustersPerMember": 1}));
        let by = |email: &str| json!({"butler.butlerlabs.dev/creator-email": email});
        assert_eq!(on_create(check, &with(json!("dev"), by("ANA@example.org")), &facts), [""; 0]);
        assert_eq!(
            on_create(check, &with(json!("dev"), json!({})), &facts),
            [
                "metadata.annotations[butler.butlerlabs.dev/creator-email]: clusters of this environment are counted per member; \
              write your own name, `ana@example.org`"
            ]
        );
        let other = with(json!("prod"), by("bob@example.org"));
        assert_eq!(
            on_create(check, &other, &facts),
            [
                "metadata.annotations[butler.butlerlabs.dev/creator-email]: `bob@example.org` is not who you are; write \
              `ana@example.org`, or leave it out"
            ]
        );
        assert_eq!(on_create_by(&master(), check, &other, &facts), [""; 0]);
        assert_eq!(
            on_update(
                check,
                &with(json!("dev"), by("ana@example.org")),
                &with(json!("dev"), json!({})),
                &facts
            ),
            [
                "metadata.annotations[butler.butlerlabs.dev/creator-email]: cannot change, because caps per member count by it; \
              keep `ana@example.org`"
            ]
        );
    }

    #[test]
    fn the_owner_is_changed_by_administrators_only() {
        let owned = |owner: &str| {
            with(
                json!("dev"),
                json!({"butler.butlerlabs.dev/creator-email": "bob@example.org", "butler.butlerlabs.dev/owner": owner}),
            )
        };
        let (old, new) = (owned("bob@example.org"), owned("eve@example.org"));
        let facts = environments(json!({}));
        assert_eq!(
            on_update_by(&caller("bob@example.org"), check, &old, &new, &facts),
            [
                "metadata.annotations[butler.butlerlabs.dev/owner]: `eve@example.org` cannot become the owner like this; keep \
              `bob@example.org`, or let an administrator of the team change it"
            ]
        );
        assert_eq!(on_update(check, &old, &new, &facts), [""; 0]);
        assert_eq!(on_create_by(&caller("bob@example.org"), check, &new, &facts).len(), 1);
    }
}
