//! What a provider says of itself. Pure.

use butler_api::condition::{self, READY, Statement, provider_config as about, reason};
use butler_api::{ProviderConfig, ProviderConfigStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::ProviderConfigs;
use super::plan::{Need, Plan};
use crate::frame::{Outcome, Problem};
use crate::words::listed;

pub(super) fn status(
    provider: &ProviderConfig,
    outcome: &Outcome<ProviderConfigs>,
    now: Timestamp,
) -> ProviderConfigStatus {
    let generation = provider.metadata.generation.unwrap_or_default();
    let old = provider.status.clone().unwrap_or_default();
    let mut status = old.clone();
    let is_leaving = provider.metadata.deletion_timestamp.is_some();
    match &outcome.plan {
        Some(plan) if !is_leaving => {
            for statement in [
                said(about::CREDENTIALS_VALID, reason::READY, &plan.credentials),
                said(about::POOL_AVAILABLE, reason::POOL_AVAILABLE, &plan.pools),
            ] {
                condition::set(&mut status.conditions, statement, generation, now);
            }
            status.validated = Some(plan.credentials.is_ok());
            status.capacity.clone_from(&plan.capacity);
        }
        Some(_) => {}
        None => {
            let trouble = outcome.trouble().unwrap_or_else(|| "nothing has been looked at yet".to_owned());
            for name in [about::CREDENTIALS_VALID, about::POOL_AVAILABLE] {
                let statement = Statement::is_unknown(name, reason::RECONCILING, trouble.clone());
                condition::set(&mut status.conditions, statement, generation, now);
            }
        }
    }
    let ready = match (outcome.kept(), &outcome.plan) {
        (Some(kept), _) => Statement::fails(READY, reason::DELETING, kept),
        (None, Some(Plan { used_by, .. })) if is_leaving && !used_by.is_empty() => {
            Statement::fails(READY, reason::DELETION_BLOCKED, blocked(used_by))
        }
        _ if is_leaving => {
            let why = outcome.trouble().unwrap_or_else(|| "the provider is being deleted".to_owned());
            Statement::fails(READY, reason::DELETING, why)
        }
        _ => condition::summarise(
            &status.conditions,
            READY,
            &[about::CREDENTIALS_VALID, about::POOL_AVAILABLE],
        ),
    };
    condition::set(&mut status.conditions, ready, generation, now);
    status.ready = Some(condition::is_true(&status.conditions, READY));
    // When it was looked at is worth a write only together with what was found.
    if status != old {
        status.last_validation_time = Some(Time(now));
        status.last_probe_time = Some(Time(now));
    }
    status
}

fn said(condition: &'static str, met: &'static str, found: &Result<Need, Problem>) -> Statement {
    match found {
        Ok(Need::Met) => Statement::holds(condition, met, ""),
        Ok(Need::None) => Statement::holds(condition, reason::NOT_REQUIRED, ""),
        Err(problem) if problem.reason == reason::WAITING_FOR_DEPENDENCIES => {
            Statement::is_unknown(condition, problem.reason, problem.message.clone())
        }
        Err(problem) => Statement::fails(condition, problem.reason, problem.message.clone()),
    }
}

fn blocked(used_by: &[String]) -> String {
    format!(
        "the provider is being deleted and clusters still run there ({}); delete them first",
        listed(used_by)
    )
}

#[cfg(test)]
mod tests {
    use butler_program::Failure;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    use serde_json::{Value, json};

    use super::*;
    use crate::frame::Error;

    fn provider(metadata: Value) -> ProviderConfig {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": metadata, "spec": { "provider": "local" },
        }))
        .unwrap()
    }

    fn outcome(credentials: Result<Need, Problem>, used_by: &[&str]) -> Outcome<ProviderConfigs> {
        let used_by = used_by.iter().map(|it| (*it).to_owned()).collect();
        let plan = Plan { credentials, pools: Ok(Need::None), capacity: None, used_by };
        Outcome { plan: Some(plan), ..Outcome::default() }
    }

    fn shown(status: &ProviderConfigStatus) -> Vec<String> {
        let line = |it: &Condition| format!("{} {} {}: {}", it.type_, it.status, it.reason, it.message);
        status.conditions.iter().map(line).collect()
    }

    #[test]
    fn a_provider_is_ready_when_nothing_is_missing_and_looking_again_is_no_news() {
        let mut own = provider(json!({ "name": "p", "namespace": "n", "generation": 1 }));
        let first = status(&own, &outcome(Ok(Need::Met), &[]), Timestamp::UNIX_EPOCH);
        assert_eq!(
            shown(&first),
            ["CredentialsValid True Ready: ", "PoolAvailable True NotRequired: ", "Ready True Ready: "]
        );
        assert_eq!(
            (first.ready, first.validated, first.last_probe_time.is_some()),
            (Some(true), Some(true), true)
        );
        own.status = Some(first.clone());
        let later = "2030-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(status(&own, &outcome(Ok(Need::Met), &[]), later), first);
        let problem = Problem::new(reason::CREDENTIALS_INVALID, "there is no Secret");
        let lost = status(&own, &outcome(Err(problem), &[]), later);
        assert_eq!(shown(&lost)[2], "Ready False CredentialsInvalid: CredentialsValid: there is no Secret");
        assert_eq!((lost.ready, lost.last_probe_time), (Some(false), Some(Time(later))));
    }

    #[test]
    fn one_that_cannot_be_let_go_says_why() {
        let going = provider(json!({ "name": "p", "deletionTimestamp": "2026-01-02T03:04:05Z" }));
        let failure = Failure::new(Failure::FORBIDDEN, "no");
        let error = Some(Error::api("patch", "ProviderConfig `n/p`", failure));
        let outcome = Outcome { error, ..outcome(Ok(Need::None), &[]) };
        assert_eq!(
            shown(&status(&going, &outcome, Timestamp::UNIX_EPOCH)),
            [
                "Ready False Deleting: cannot patch ProviderConfig `n/p`: no; give butler-reconciler the rights of its \
              manifests again"
            ]
        );
    }

    #[test]
    fn one_that_only_others_keep_says_who() {
        let going = provider(json!({ "name": "p", "deletionTimestamp": "2026-01-02T03:04:05Z" }));
        let kept_by = vec!["example.org/a".to_owned(), "example.org/b".to_owned()];
        let outcome = Outcome { kept_by, ..outcome(Ok(Need::None), &[]) };
        assert_eq!(
            shown(&status(&going, &outcome, Timestamp::UNIX_EPOCH)),
            [
                "Ready False Deleting: Butler is done with it; it goes when the finalizers `example.org/a`, `example.org/b` \
                 are removed by whoever set them"
            ]
        );
    }

    #[test]
    fn one_that_is_deleted_says_who_uses_it() {
        let going = provider(json!({ "name": "p", "deletionTimestamp": "2026-01-02T03:04:05Z" }));
        let status = status(&going, &outcome(Ok(Need::None), &["a/b", "c/d"]), Timestamp::UNIX_EPOCH);
        assert_eq!(
            shown(&status),
            [
                "Ready False DeletionBlocked: the provider is being deleted and clusters still run there (`a/b`, `c/d`); \
              delete them first"
            ]
        );
    }
}
