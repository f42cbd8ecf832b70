//! A ClusterCreationPolicy settles options that exist, for somebody who exists, and nobody settles them twice.
//!
//! Fields: `spec.scope` (exactly one; its team and environment exist), `spec.options` (`image`, `network`, `cluster` or
//! `storageContainer`, each with what its mode needs, and each known to at least one of the targeted providers). Two policies
//! with the same scope that settle the same option for the same provider contradict each other; should a race let two in,
//! the first by name counts.

use butler_api::ClusterCreationPolicy;
use butler_api::cluster_creation_policy::{OptionMode, OptionPolicy, PolicyScope};
use butler_api::excerpt::excerpt;
use butler_api::provider_config::ProviderKind;
use butler_api::wire::given;

use super::creation_policy::{OPTIONS, path_of};
use super::{Case, listed, name_of};
use crate::facts::{FactKey, Lookup};
use crate::finding::{Fault, Finding, Findings};

/// Not exactly one scope.
const SCOPE: &str = "Scope";
/// The team does not exist.
const TEAM_NOT_FOUND: &str = "TeamNotFound";
/// The team has no such environment.
const ENVIRONMENT_NOT_FOUND: &str = "EnvironmentNotFound";
/// There is no such option, or none of the providers has it.
const UNKNOWN_OPTION: &str = "UnknownOption";
/// The option lacks what its mode needs.
const INCOMPLETE: &str = "Incomplete";
/// Another policy settles the same.
const CONFLICT: &str = "Conflict";

/// Every kind of provider.
pub(crate) const PROVIDERS: [ProviderKind; 7] = [
    ProviderKind::Harvester,
    ProviderKind::Nutanix,
    ProviderKind::Proxmox,
    ProviderKind::Azure,
    ProviderKind::Aws,
    ProviderKind::Gcp,
    ProviderKind::Local,
];

pub(super) fn check(case: &Case<'_, ClusterCreationPolicy>, findings: &mut Findings) {
    let spec = &case.object.spec;
    check_scope(case, &spec.scope, findings);
    for (option, policy) in &spec.options {
        if !OPTIONS.contains(&option.as_str()) {
            let message = format!("there is no option `{}`; use {}", excerpt(option), listed(OPTIONS));
            findings.add(Finding::deny(
                Fault::NotSupported,
                UNKNOWN_OPTION,
                format!("spec.options.{}", excerpt(option)),
                message,
            ));
            continue;
        }
        let targeted = PROVIDERS.into_iter().filter(|provider| spec.targets(*provider));
        if targeted.clone().all(|provider| path_of(provider, option).is_none()) {
            let able = PROVIDERS.into_iter().filter(|provider| path_of(*provider, option).is_some());
            let message = format!(
                "none of the targeted providers has it; target one of {}, or remove it",
                listed(able.map(ProviderKind::as_str))
            );
            findings.invalid(UNKNOWN_OPTION, format!("spec.options.{option}"), message);
        }
        check_mode(option, policy, findings);
        check_conflict(case, option, findings);
    }
}

fn check_scope(case: &Case<'_, ClusterCreationPolicy>, scope: &PolicyScope, findings: &mut Findings) {
    let given = [scope.platform_wide.is_some(), scope.team.is_some(), scope.team_and_environment.is_some()];
    let count = given.into_iter().filter(|given| *given).count();
    if count != 1 {
        let message = format!(
            "{count} scopes are given; give exactly one of `platformWide`, `team` and `teamAndEnvironment`"
        );
        findings.invalid(SCOPE, "spec.scope", message);
    }
    let team = scope.team.as_ref().map(|scope| ("team", &scope.team_ref.name, None));
    let narrow = scope
        .team_and_environment
        .as_ref()
        .map(|scope| ("teamAndEnvironment", &scope.team_ref.name, Some(&scope.environment_name)));
    for (scope, name, environment) in team.into_iter().chain(narrow) {
        match case.facts.team(name) {
            Lookup::Found(team) => {
                if let Some(environment) = environment.filter(|name| team.spec.environment(name).is_none()) {
                    let known = listed(team.spec.environments.iter().map(|known| known.name.as_str()));
                    let choice = if known.is_empty() {
                        "it has none, so give the scope `team` instead".to_owned()
                    } else {
                        format!("choose one of {known}")
                    };
                    let message =
                        format!("the Team `{name}` has no environment `{}`; {choice}", excerpt(environment));
                    let path = format!("spec.scope.{scope}.environmentName");
                    findings.add(
                        Finding::deny(Fault::NotFound, ENVIRONMENT_NOT_FOUND, path, message)
                            .resting_on(FactKey::Team(name.clone())),
                    );
                }
            }
            Lookup::Absent => {
                let message =
                    format!("there is no Team `{}`; create it first, or name another", excerpt(name));
                let path = format!("spec.scope.{scope}.teamRef.name");
                findings.add(
                    Finding::deny(Fault::NotFound, TEAM_NOT_FOUND, path, message)
                        .resting_on(FactKey::Team(name.clone())),
                );
            }
            Lookup::Unknown => {
                findings.unknown(format!("spec.scope.{scope}.teamRef.name"), FactKey::Team(name.clone()))
            }
        }
    }
}

fn check_mode(option: &str, policy: &OptionPolicy, findings: &mut Findings) {
    for (place, _) in policy.values.iter().enumerate().filter(|(_, value)| value.trim().is_empty()) {
        let message = "is blank, which no cluster can have; write a value, or remove the entry";
        findings.invalid(INCOMPLETE, format!("spec.options.{option}.values[{place}]"), message);
    }
    let count = policy.values.len();
    let (field, message) = match policy.mode {
        OptionMode::Pin if count != 1 => (
            "values",
            format!("`pin` needs exactly one value, but there are {count}; give the one that clusters get"),
        ),
        OptionMode::AllowList if count == 0 => {
            ("values", "`allowList` needs at least one value; list what clusters may use".to_owned())
        }
        OptionMode::Recommended if count == 0 => {
            ("values", "`recommended` needs at least one value; list what is recommended".to_owned())
        }
        OptionMode::Default if given(&policy.default).is_none() => {
            ("default", "`default` needs a value; write the one that clusters get".to_owned())
        }
        _ => return,
    };
    findings.invalid(INCOMPLETE, format!("spec.options.{option}.{field}"), message);
}

fn check_conflict(case: &Case<'_, ClusterCreationPolicy>, option: &str, findings: &mut Findings) {
    let (own, name) = (&case.object.spec, name_of(&case.object.metadata));
    let other = case.facts.creation_policies().filter(|other| {
        let spec = &other.spec;
        name_of(&other.metadata) != name
            && spec.scope == own.scope
            && spec.options.contains_key(option)
            && PROVIDERS.into_iter().any(|provider| spec.targets(provider) && own.targets(provider))
    });
    if let Some(other) = other.map(|other| name_of(&other.metadata)).min() {
        let message = format!(
            "the ClusterCreationPolicy `{other}` settles it for the same scope and provider; change one of the two"
        );
        findings.add(
            Finding::deny(Fault::Duplicate, CONFLICT, format!("spec.options.{option}"), message)
                .resting_on(FactKey::CreationPolicy(other.to_owned())),
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    fn found(tweak: Value, others: &[Value]) -> Vec<String> {
        let object = merged(creation_policy(json!({"metadata": {"name": "new"}})), tweak);
        on_create(check, &serde_json::from_value(object).expect("policy"), &facts_with(others))
    }

    #[test]
    fn each_way_to_be_wrong() {
        let scope = |scope: Value| json!({"spec": {"scope": merged(json!({"platformWide": null}), scope)}});
        let option = |option: Value| json!({"spec": {"options": {"image": option}}});
        let table: [(Value, &[&str]); 13] = [
            (json!({}), &[]),
            (scope(json!({"team": {"teamRef": {"name": "payments"}}})), &[]),
            (option(json!({"mode": "default", "default": "default/talos"})), &[]),
            (
                json!({"spec": {"scope": {"team": {"teamRef": {"name": "payments"}}}}}),
                &[
                    "spec.scope: 2 scopes are given; give exactly one of `platformWide`, `team` and `teamAndEnvironment`",
                ],
            ),
            (
                scope(json!({"team": {"teamRef": {"name": "gone"}}})),
                &["spec.scope.team.teamRef.name: there is no Team `gone`; create it first, or name another"],
            ),
            (
                scope(
                    json!({"teamAndEnvironment": {"teamRef": {"name": "payments"}, "environmentName": "dev"}}),
                ),
                &[
                    "spec.scope.teamAndEnvironment.environmentName: the Team `payments` has no environment `dev`; it has none, \
                   so give the scope `team` instead",
                ],
            ),
            (
                json!({"spec": {"options": {"flavour": {"mode": "pin", "values": ["x"]}}}}),
                &[
                    "spec.options.flavour: there is no option `flavour`; use `image`, `network`, `cluster`, `storageContainer`",
                ],
            ),
            (
                option(json!({"values": ["a", "b"]})),
                &[
                    "spec.options.image.values: `pin` needs exactly one value, but there are 2; give the one that clusters get",
                ],
            ),
            (
                option(json!({"values": [""]})),
                &[
                    "spec.options.image.values[0]: is blank, which no cluster can have; write a value, or remove the entry",
                ],
            ),
            (
                option(json!({"mode": "allowList", "values": ["a", "  "]})),
                &[
                    "spec.options.image.values[1]: is blank, which no cluster can have; write a value, or remove the entry",
                ],
            ),
            (
                option(json!({"mode": "allowList", "values": []})),
                &[
                    "spec.options.image.values: `allowList` needs at least one value; list what clusters may use",
                ],
            ),
            (
                option(json!({"mode": "default"})),
                &["spec.options.image.default: `default` needs a value; write the one that clusters get"],
            ),
            (
                json!({"spec": {"targetProviders": ["aws"]}}),
                &[
                    "spec.options.image: none of the targeted providers has it; target one of `harvester`, `nutanix`, `gcp`, or \
                   remove it",
                ],
            ),
        ];
        for (tweak, expected) in table {
            assert_eq!(found(tweak.clone(), &[]), expected, "{tweak}");
        }
    }

    #[test]
    fn nobody_settles_an_option_twice() {
        let other = creation_policy(json!({}));
        assert_eq!(
            found(json!({}), std::slice::from_ref(&other)),
            [
                "spec.options.image: the ClusterCreationPolicy `images` settles it for the same scope and provider; change one of \
              the two"
            ]
        );
        let apart = creation_policy(json!({"spec": {"targetProviders": ["nutanix"]}}));
        assert_eq!(found(json!({"spec": {"targetProviders": ["harvester"]}}), &[apart]), [""; 0]);
    }
}
