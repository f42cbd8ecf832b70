//! What is to be done for the platform, and what another mode would bring about. Pure.

use std::sync::Arc;

use butler_api::butler_config::status::OtherMode;
use butler_api::butler_config::{CONFIG_NAME, MultiTenancyMode};
use butler_api::condition::reason;
use butler_api::labels::{self, MANAGED_BY, MANAGED_BY_BUTLER};
use butler_api::names::dns_label;
use butler_api::reference::{NsRef, SYSTEM_NAMESPACE};
use butler_api::{ButlerConfig, TenantCluster};
use butler_policies::facts::{Fact, FactKey, Facts};
use butler_policies::judge;
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use serde_json::json;

use super::MANAGER;
use super::observe::Observed;
use crate::frame::Problem;
use crate::frame::child::{Step, is_butlers, label, step};

/// How many clusters a message names.
const NAMED: usize = 3;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether these are the platform's settings at all.
    pub is_in_force: Result<(), Problem>,
    /// The namespace of clusters without a team.
    pub namespace: DefaultNamespace,
    /// What the other modes would bring about.
    pub other_modes: Vec<OtherMode>,
}

/// What is to be done about the namespace of clusters without a team.
#[derive(Clone, Debug)]
pub enum DefaultNamespace {
    /// Every cluster has a team.
    NotRequired,
    /// It is ours.
    Ours(Step<PartialObjectMeta<Namespace>>),
    /// Somebody else made it. It is used and never changed.
    Theirs,
    /// It cannot be used.
    Unusable(Problem),
}

/// What is to be done for the platform.
pub(super) fn plan(config: &ButlerConfig, observed: &Observed) -> Plan {
    if config.name_any() != CONFIG_NAME {
        let message = format!(
            "metadata.name: `{}` is ignored, because the settings of the platform are called `{CONFIG_NAME}`; move them \
             there and delete this object",
            config.name_any()
        );
        return Plan {
            is_in_force: Err(Problem::new(reason::INVALID_NAME, message)),
            namespace: DefaultNamespace::NotRequired,
            other_modes: Vec::new(),
        };
    }
    Plan {
        is_in_force: Ok(()),
        namespace: namespace(config, observed),
        other_modes: other_modes(config, observed),
    }
}

fn namespace(config: &ButlerConfig, observed: &Observed) -> DefaultNamespace {
    if config.spec.multi_tenancy.mode() == MultiTenancyMode::Enforced {
        return DefaultNamespace::NotRequired;
    }
    let name = config.spec.default_namespace();
    let unusable = |reason, message: String| {
        DefaultNamespace::Unusable(Problem::new(reason, format!("spec.defaultNamespace: {message}")))
    };
    if let Err(error) = dns_label(name) {
        return unusable(reason::VALIDATION_FAILED, error.to_string());
    }
    if name.starts_with("kube-") || name == SYSTEM_NAMESPACE {
        let message = format!("`{name}` is no place for clusters; choose another");
        return unusable(reason::NAMESPACE_ERROR, message);
    }
    let is_a_teams = observed.teams.iter().any(|team| team.name_any() == name)
        || observed.namespace.as_ref().is_some_and(|it| label(&it.metadata, labels::TEAM).is_some());
    if is_a_teams {
        let message = format!("`{name}` is the namespace of a team; choose another");
        return unusable(reason::NAMESPACE_ERROR, message);
    }
    match &observed.namespace {
        Some(live) if live.metadata.deletion_timestamp.is_some() => {
            let message = format!("`{name}` is being deleted; a new one is made when it is gone");
            unusable(reason::DELETING, message)
        }
        Some(live) if !is_butlers(&live.metadata) => DefaultNamespace::Theirs,
        live => {
            let desired = json!({ "apiVersion": "v1", "kind": "Namespace",
                "metadata": { "name": name, "labels": { MANAGED_BY: MANAGED_BY_BUTLER } } });
            DefaultNamespace::Ours(step(desired, live.clone(), MANAGER, &[]))
        }
    }
}

/// Judges every cluster as if the platform were in another mode, by the rule that the gate has.
fn other_modes(config: &ButlerConfig, observed: &Observed) -> Vec<OtherMode> {
    let mut facts = Facts::default();
    for team in &observed.teams {
        facts.learn(FactKey::Team(team.name_any()), Fact::Team(team.clone()));
    }
    let now = config.spec.multi_tenancy.mode();
    let modes = [MultiTenancyMode::Enforced, MultiTenancyMode::Optional, MultiTenancyMode::Disabled];
    modes
        .into_iter()
        .filter(|mode| *mode != now)
        .map(|mode| {
            let mut other = config.clone();
            other.spec.multi_tenancy.mode = Some(mode);
            facts.learn(FactKey::Config, Fact::Config(Arc::new(other)));
            other_mode(mode, &observed.clusters, &facts)
        })
        .collect()
}

fn other_mode(mode: MultiTenancyMode, clusters: &[Arc<TenantCluster>], facts: &Facts) -> OtherMode {
    let mut affected: Vec<(NsRef, String)> = Vec::new();
    for cluster in clusters.iter().filter(|it| it.metadata.deletion_timestamp.is_none()) {
        if let Some(first) = judge::out_of_place(cluster, facts).into_iter().next() {
            let at = NsRef { name: cluster.name_any(), namespace: cluster.namespace().unwrap_or_default() };
            affected.push((at, format!("{}: {}", first.path, first.message)));
        }
    }
    affected.sort();
    let named: Vec<String> = affected
        .iter()
        .take(NAMED)
        .map(|(at, why)| format!("`{}/{}`: {why}", at.namespace, at.name))
        .collect();
    let more = affected.len().saturating_sub(NAMED);
    let message = match more {
        0 => named.join("; "),
        more => format!("{}; and {more} more", named.join("; ")),
    };
    OtherMode {
        mode,
        affected_clusters: i32::try_from(affected.len()).unwrap_or(i32::MAX),
        message: (!affected.is_empty()).then_some(message),
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::Value;

    use super::*;

    fn object<T: DeserializeOwned>(kind: &str, metadata: Value, spec: Value) -> T {
        let api_version = "butler.butlerlabs.dev/v1alpha1";
        serde_json::from_value(
            json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec }),
        )
        .unwrap()
    }

    fn config(spec: Value) -> ButlerConfig {
        object("ButlerConfig", json!({ "name": "butler" }), spec)
    }

    fn namespace(metadata: Value) -> Observed {
        let live: PartialObjectMeta<Namespace> =
            serde_json::from_value(json!({ "metadata": metadata })).unwrap();
        Observed { namespace: Some(Arc::new(live)), ..Observed::default() }
    }

    fn shown(plan: &Plan) -> String {
        match &plan.namespace {
            DefaultNamespace::NotRequired => "not required".to_owned(),
            DefaultNamespace::Ours(step) => step.to_string(),
            DefaultNamespace::Theirs => "theirs".to_owned(),
            DefaultNamespace::Unusable(problem) => format!("{}: {}", problem.reason, problem.message),
        }
    }

    #[test]
    fn the_default_namespace_is_made_where_clusters_may_be_without_a_team() {
        let none = Observed::default();
        let mode = |mode: &str| config(json!({ "multiTenancy": { "mode": mode } }));
        assert_eq!(shown(&plan(&mode("Enforced"), &none)), "not required");
        assert_eq!(shown(&plan(&mode("Optional"), &none)), "make Namespace butler-tenants");
        assert_eq!(shown(&plan(&config(json!({})), &none)), "make Namespace butler-tenants");
        let named = config(json!({ "defaultNamespace": "shared" }));
        assert_eq!(shown(&plan(&named, &none)), "make Namespace shared");
    }

    #[test]
    fn a_namespace_of_somebody_else_is_used_and_never_changed() {
        let theirs = namespace(json!({ "name": "butler-tenants" }));
        assert_eq!(shown(&plan(&config(json!({})), &theirs)), "theirs");
        let system = config(json!({ "defaultNamespace": "kube-system" }));
        assert_eq!(
            shown(&plan(&system, &Observed::default())),
            "NamespaceError: spec.defaultNamespace: `kube-system` is no place for clusters; choose another"
        );
        let going =
            namespace(json!({ "name": "butler-tenants", "deletionTimestamp": "2026-01-02T03:04:05Z" }));
        assert!(shown(&plan(&config(json!({})), &going)).starts_with("Deleting: "));
    }

    #[test]
    fn the_namespace_of_a_team_stays_the_teams() {
        let named = config(json!({ "defaultNamespace": "payments" }));
        let refusal =
            "NamespaceError: spec.defaultNamespace: `payments` is the namespace of a team; choose another";
        let labels = json!({ (labels::TEAM): "payments", MANAGED_BY: MANAGED_BY_BUTLER });
        assert_eq!(
            shown(&plan(&named, &namespace(json!({ "name": "payments", "labels": labels })))),
            refusal
        );
        let team = Arc::new(object("Team", json!({ "name": "payments" }), json!({})));
        let observed = Observed { teams: vec![team], ..Observed::default() };
        assert_eq!(shown(&plan(&named, &observed)), refusal, "it may have none yet");
    }

    #[test]
    fn only_one_name_counts() {
        let other: ButlerConfig = object("ButlerConfig", json!({ "name": "second" }), json!({}));
        let plan = plan(&other, &Observed::default());
        assert_eq!(
            plan.is_in_force.unwrap_err().message,
            "metadata.name: `second` is ignored, because the settings of the platform are called `butler`; move them there \
             and delete this object"
        );
    }

    #[test]
    fn what_another_mode_would_hurt_is_told_before() {
        let cluster = |namespace: &str, name: &str, spec: Value| {
            Arc::new(object::<TenantCluster>(
                "TenantCluster",
                json!({ "name": name, "namespace": namespace }),
                spec,
            ))
        };
        let observed = Observed {
            teams: vec![Arc::new(object("Team", json!({ "name": "payments" }), json!({})))],
            clusters: vec![
                cluster("butler-tenants", "free", json!({})),
                cluster("payments", "orders", json!({ "teamRef": { "name": "payments" } })),
            ],
            ..Observed::default()
        };
        let plan = plan(&config(json!({ "multiTenancy": { "mode": "Optional" } })), &observed);
        let shown: Vec<String> = plan
            .other_modes
            .iter()
            .map(|it| {
                format!("{:?} {}: {}", it.mode, it.affected_clusters, it.message.clone().unwrap_or_default())
            })
            .collect();
        assert_eq!(
            shown,
            [
                "Enforced 1: `butler-tenants/free`: spec.teamRef: this platform requires a team; name yours, for example \
                 `teamRef: {name: payments}`",
                "Disabled 1: `payments/orders`: spec.teamRef: this platform has no teams, so the cluster cannot belong to \
                 `payments`; remove the field",
            ]
        );
    }
}
