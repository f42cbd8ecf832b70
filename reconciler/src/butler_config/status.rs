//! What the platform says of itself. Pure.

use butler_api::condition::{self, READY, Statement, butler_config as about, reason};
use butler_api::exposure::ExposureMode;
use butler_api::{ButlerConfig, ButlerConfigStatus};
use jiff::Timestamp;

use super::ButlerConfigs;
use super::plan::{DefaultNamespace, Plan};
use crate::frame::Outcome;

pub(super) fn status(
    config: &ButlerConfig,
    outcome: &Outcome<ButlerConfigs>,
    now: Timestamp,
) -> ButlerConfigStatus {
    let generation = config.metadata.generation.unwrap_or_default();
    let mut status = config.status.clone().unwrap_or_default();
    let configured = match outcome.plan.as_ref().map(|plan| &plan.is_in_force) {
        Some(Err(problem)) => Statement::fails(about::CONFIGURED, problem.reason, problem.message.clone()),
        Some(Ok(())) => Statement::holds(about::CONFIGURED, reason::CONFIG_VALID, ""),
        None => Statement::is_unknown(about::CONFIGURED, reason::PENDING, "nothing has been looked at yet"),
    };
    for statement in [configured, namespace(config, outcome, now)] {
        condition::set(&mut status.conditions, statement, generation, now);
    }
    let ready = condition::summarise(&status.conditions, READY, &[about::CONFIGURED, about::NAMESPACE_READY]);
    condition::set(&mut status.conditions, ready, generation, now);
    status.observed_generation = Some(generation);
    if let Some(plan) = &outcome.plan {
        status.other_modes.clone_from(&plan.other_modes);
    }
    let is_in_force = outcome.plan.as_ref().is_some_and(|plan| plan.is_in_force.is_ok());
    if let Some(observed) = outcome.observed.as_ref().filter(|_| is_in_force) {
        status.team_count = i32::try_from(observed.teams.len()).ok();
        status.cluster_count = i32::try_from(observed.clusters.len()).ok();
        let mode = config.spec.control_plane_exposure.mode();
        status.control_plane_exposure_mode = Some(mode);
        status.tcp_proxy_required = Some(mode != ExposureMode::LoadBalancer);
    }
    status
}

fn namespace(config: &ButlerConfig, outcome: &Outcome<ButlerConfigs>, now: Timestamp) -> Statement {
    let (condition, name) = (about::NAMESPACE_READY, config.spec.default_namespace());
    match (outcome.plan.as_ref().map(|plan: &Plan| &plan.namespace), outcome.trouble()) {
        (Some(DefaultNamespace::NotRequired), _) => {
            Statement::holds(condition, reason::NOT_REQUIRED, "every cluster is in the namespace of its team")
        }
        (Some(DefaultNamespace::Theirs), _) => Statement::holds(
            condition,
            reason::READY,
            format!("`{name}` was not made by Butler, and is used as it is"),
        ),
        (Some(DefaultNamespace::Unusable(problem)), _) => {
            Statement::fails(condition, problem.reason, problem.message.clone())
        }
        (Some(DefaultNamespace::Ours(_)), _) if outcome.applied.namespace => {
            let before =
                config.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
            outcome.holds(condition, |_| true, before, config.metadata.generation.unwrap_or_default(), now)
        }
        (_, Some(trouble)) => Statement::fails(condition, reason::CREATE_FAILED, trouble),
        (_, None) => Statement::is_unknown(condition, reason::PENDING, "nothing has been done yet"),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    use serde_json::{Value, json};

    use super::*;
    use crate::butler_config::observe::Observed;
    use crate::butler_config::plan::plan;

    fn told(spec: Value, name: &str) -> (ButlerConfigStatus, Vec<String>) {
        let config: ButlerConfig = serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ButlerConfig",
            "metadata": { "name": name, "generation": 2 }, "spec": spec,
        }))
        .unwrap();
        let observed = Observed::default();
        let outcome =
            Outcome { plan: Some(plan(&config, &observed)), observed: Some(observed), ..Outcome::default() };
        let status = status(&config, &outcome, Timestamp::UNIX_EPOCH);
        let line = |it: &Condition| format!("{} {} {}: {}", it.type_, it.status, it.reason, it.message);
        let lines = status.conditions.iter().map(line).collect();
        (status, lines)
    }

    #[test]
    fn settings_that_are_in_force_say_so_and_count() {
        let (status, lines) = told(json!({ "multiTenancy": { "mode": "Enforced" } }), "butler");
        assert_eq!(
            lines,
            [
                "Configured True ConfigValid: ",
                "NamespaceReady True NotRequired: every cluster is in the namespace of its team",
                "Ready True Ready: ",
            ]
        );
        assert_eq!(
            (status.team_count, status.cluster_count, status.tcp_proxy_required),
            (Some(0), Some(0), Some(false))
        );
        assert_eq!(status.other_modes.len(), 2);
    }

    #[test]
    fn settings_of_another_name_say_that_they_do_not_count() {
        let (status, lines) = told(json!({}), "second");
        assert!(lines[0].starts_with("Configured False InvalidName: metadata.name: `second` is ignored"));
        assert!(lines[2].starts_with("Ready False InvalidName: "));
        assert_eq!((status.team_count, status.other_modes.len()), (None, 0));
    }
}
