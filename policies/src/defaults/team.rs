//! What a Team leaves out: each limit comes from the platform's `defaultTeamLimits` when the Team is made.
//!
//! On an update, limits that somebody leaves out who may not change them keep their old values: otherwise applying a file
//! without them would be refused as an attempt to remove them. An administrator who leaves one out removes it.

use butler_api::team::ResourceLimits;
use butler_api::{Team, butler_config::TeamLimits};

use super::Completion;
use super::patch::Fills;
use crate::facts::{FactKey, Facts, Lookup};
use crate::review::{Change, Review};
use crate::rules::{Case, Moment};

pub(crate) fn complete(review: &Review<'_>, change: &Change<Team>, facts: &Facts) -> Completion {
    let mut fills = Fills::default();
    let mut missing = Vec::new();
    match change {
        Change::Create(team) => match facts.config() {
            Lookup::Found(config) => {
                if let Some(limits) = &config.spec.default_team_limits {
                    fill_limits(&team.spec.resource_limits.clone().unwrap_or_default(), limits, &mut fills);
                }
            }
            Lookup::Absent | Lookup::Unknown => missing.push(FactKey::Config),
        },
        Change::Update { old, new } => {
            let case = Case::new(new, Moment::Update { old }, Some(&review.caller), facts);
            if new.spec.resource_limits.is_none()
                && let Some(limits) = &old.spec.resource_limits
                && !case.caller_is_administrator()
            {
                keep_limits(limits, &mut fills);
            }
        }
        Change::Delete(_) => {}
    }
    Completion { patch: fills.into_patch(review.object), missing }
}

/// The two kinds name the same limits differently; this is the one place that knows.
fn fill_limits(own: &ResourceLimits, platform: &TeamLimits, fills: &mut Fills) {
    let numbers = [
        ("spec.resourceLimits.maxClusters", own.max_clusters, platform.max_clusters),
        (
            "spec.resourceLimits.maxNodesPerCluster",
            own.max_nodes_per_cluster,
            platform.max_workers_per_cluster,
        ),
    ];
    for (path, own, platform) in numbers {
        if let (None, Some(limit)) = (own, platform) {
            fills.add(path, limit);
        }
    }
    let amounts = [
        ("spec.resourceLimits.maxCPUCores", own.cpu(), &platform.max_total_cpu),
        ("spec.resourceLimits.maxMemory", own.memory(), &platform.max_total_memory),
        ("spec.resourceLimits.maxStorage", own.storage(), &platform.max_total_storage),
    ];
    for (path, own, platform) in amounts {
        if let (None, Some(limit)) = (own, platform) {
            fills.add(path, limit.as_str());
        }
    }
}

fn keep_limits(old: &ResourceLimits, fills: &mut Fills) {
    let numbers = [
        ("spec.resourceLimits.maxClusters", old.max_clusters),
        ("spec.resourceLimits.maxNodesPerCluster", old.max_nodes_per_cluster),
        ("spec.resourceLimits.maxTotalNodes", old.max_total_nodes),
        ("spec.resourceLimits.defaultNodeCount", old.default_node_count),
    ];
    for (path, limit) in numbers {
        if let Some(limit) = limit {
            fills.add(path, limit);
        }
    }
    let amounts = [
        ("spec.resourceLimits.maxCPUCores", &old.max_cpu_cores),
        ("spec.resourceLimits.maxTotalCPU", &old.max_total_cpu),
        ("spec.resourceLimits.maxMemory", &old.max_memory),
        ("spec.resourceLimits.maxTotalMemory", &old.max_total_memory),
        ("spec.resourceLimits.maxStorage", &old.max_storage),
        ("spec.resourceLimits.maxTotalStorage", &old.max_total_storage),
        ("spec.resourceLimits.defaultCPUPerNode", &old.default_cpu_per_node),
        ("spec.resourceLimits.defaultMemoryPerNode", &old.default_memory_per_node),
    ];
    for (path, limit) in amounts {
        if let Some(limit) = limit {
            fills.add(path, limit.as_str());
        }
    }
    let lists = [
        ("spec.resourceLimits.allowedKubernetesVersions", &old.allowed_kubernetes_versions),
        ("spec.resourceLimits.allowedProviders", &old.allowed_providers),
        ("spec.resourceLimits.allowedAddons", &old.allowed_addons),
        ("spec.resourceLimits.deniedAddons", &old.denied_addons),
    ];
    for (path, list) in lists {
        if !list.is_empty() {
            fills.add(path, list.as_slice());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::complete;
    use crate::facts::Facts;
    use crate::fixtures::*;
    use crate::review::Review;

    fn patch(operation: &str, object: &Value, old: &Value, user: &str, facts: &Facts) -> Value {
        let body = review_body(operation, "teams", object, old, user);
        let review = Review::parse(body.as_bytes()).expect("review");
        serde_json::from_slice(&complete(&review, facts).patch.to_bytes()).expect("patch")
    }

    #[test]
    fn a_new_team_gets_the_limits_of_the_platform_that_it_does_not_set() {
        let facts = facts_with(&[config(
            json!({"spec": {"defaultTeamLimits": {"maxClusters": 5, "maxTotalCPU": "200"}}}),
        )]);
        let bare = team(json!({}));
        assert_eq!(
            patch("CREATE", &bare, &Value::Null, "ana", &facts),
            json!([{"op": "add", "path": "/spec/resourceLimits", "value": {"maxClusters": 5, "maxCPUCores": "200"}}])
        );
        let own = team(json!({"spec": {"resourceLimits": {"maxClusters": 1, "maxTotalCPU": "1"}}}));
        assert_eq!(patch("CREATE", &own, &Value::Null, "ana", &facts), json!([]));
    }

    #[test]
    fn limits_that_somebody_may_not_change_stay_when_they_are_left_out() {
        let old = team(json!({"spec": {"resourceLimits": {"maxClusters": 1, "deniedAddons": ["velero"]}}}));
        let new = team(json!({"spec": {"displayName": "Payments"}}));
        assert_eq!(
            patch("UPDATE", &new, &old, "ana@example.org", &facts()),
            json!([{"op": "add", "path": "/spec/resourceLimits", "value": {"maxClusters": 1, "deniedAddons": ["velero"]}}])
        );
        let admin = json!({"kind": "User", "metadata": {"name": "root"}, "spec": {"email": "root@example.org", "platformRole": "admin"}});
        assert_eq!(patch("UPDATE", &new, &old, "root@example.org", &facts_with(&[admin])), json!([]));
    }
}
