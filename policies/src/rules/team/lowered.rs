//! What a Team allows itself and its environments may be lowered below what is used.

use butler_api::quota::{Dimension, Holding, Limit, Limits, Scope};
use butler_api::{Team, TeamSpec};

use super::super::{Case, name_of};
use crate::finding::Findings;
use crate::quota::lowered::Lowered;

pub(super) fn check(case: &Case<'_, Team>, findings: &mut Findings) {
    let Some(old) = case.old() else { return };
    let (old, new) = (&old.spec, &case.object.spec);
    let limits = |team: &TeamSpec| -> Vec<_> {
        team.environments.iter().map(|it| (it.name.clone(), it.limits.clone())).collect()
    };
    if old.resource_limits == new.resource_limits && limits(old) == limits(new) {
        return;
    }
    let (name, mut lowered) = (name_of(&case.object.metadata), Lowered::default());
    lowered.look(name, case.facts, None, |holding: &Holding| {
        [old, new].map(|team| {
            let limits = Limits { name, team, config: case.config() };
            // Those of a provider do not change with the team, and one that cannot be read is for others to tell.
            let mut limits = limits.for_cluster(holding, None).unwrap_or_default();
            limits.iter_mut().for_each(in_team);
            limits
        })
    });
    lowered.warn(findings);
}

/// A team that gives up its own limit has the platform's, which is nowhere in it, and may have another name there.
fn in_team(limit: &mut Limit) {
    if let Some(field) = limit.source.field.strip_prefix("spec.defaultTeamLimits.") {
        let field = match (&limit.scope, limit.dimension) {
            (Scope::Cluster, Dimension::Nodes) => "maxNodesPerCluster",
            (_, Dimension::Cpu) => "maxCPUCores",
            (_, Dimension::Memory) => "maxMemory",
            (_, Dimension::Storage) => "maxStorage",
            _ => field,
        };
        limit.source.field = format!("spec.resourceLimits.{field}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    const REST: &str = "nothing is taken away, but nothing can be added until less is used";

    #[test]
    fn a_limit_below_what_is_used_is_worth_a_warning() {
        let limited = |limits: Value| {
            serde_json::from_value(team(json!({"spec": {"resourceLimits": limits}}))).expect("team")
        };
        let facts = facts_with(&[
            config(json!({"spec": {"defaultTeamLimits": {"maxWorkersPerCluster": 1}}})),
            team(json!({})),
            cluster_json(json!({"spec": {"workers": {"replicas": 3}}})),
        ]);
        let lowered = |old: Value, new: Value| on_update(check, &limited(old), &limited(new), &facts);
        assert_eq!(lowered(json!({"maxTotalNodes": 9}), json!({"maxTotalNodes": 3})), [""; 0]);
        assert_eq!(
            lowered(json!({"maxTotalNodes": 9}), json!({"maxTotalNodes": 2, "maxClusters": 1})),
            [format!(
                "warning: spec.resourceLimits.maxTotalNodes: `2` is below what is used: 3 nodes by 1 cluster; {REST}"
            )]
        );
        assert_eq!(
            lowered(json!({"maxNodesPerCluster": 9}), json!({"maxNodesPerCluster": 2})),
            [format!(
                "warning: spec.resourceLimits.maxNodesPerCluster: `2` is below what is used: 3 nodes by the largest cluster; {REST}"
            )]
        );
        assert_eq!(
            lowered(json!({"maxNodesPerCluster": 9}), json!({})),
            [format!(
                "warning: spec.resourceLimits.maxNodesPerCluster: `1` is below what is used: 3 nodes by the largest cluster; {REST}"
            )]
        );
        assert_eq!(lowered(json!({"maxTotalNodes": 2}), json!({"maxTotalNodes": 2})), [""; 0], "nothing new");
    }

    #[test]
    fn so_is_one_of_an_environment_and_of_the_people_in_it() {
        let limited = |limits: Value| {
            let environments = json!([{"name": "dev", "limits": limits}, {"name": "prod"}]);
            serde_json::from_value(team(json!({"spec": {"environments": environments}}))).expect("team")
        };
        let metadata = |name: &str, owner: &str| {
            json!({"metadata": {
                "name": name,
                "labels": {"butler.butlerlabs.dev/environment": "dev"},
                "annotations": {"butler.butlerlabs.dev/owner": owner},
            }})
        };
        let facts = facts_with(&[
            team(json!({})),
            cluster_json(metadata("one", "ana@example.org")),
            cluster_json(metadata("two", "ana@example.org")),
            cluster_json(metadata("three", "ben@example.org")),
        ]);
        let lowered = |old: Value, new: Value| on_update(check, &limited(old), &limited(new), &facts);
        assert_eq!(
            lowered(json!({"maxClusters": 3}), json!({"maxClusters": 2, "maxClustersPerMember": 1})),
            [
                format!(
                    "warning: spec.environments[dev].limits.maxClusters: `2` is below what is used: 3 clusters; {REST}"
                ),
                format!(
                    "warning: spec.environments[dev].limits.maxClustersPerMember: `1` is below what is used: 2 clusters of \
                     `ana@example.org`; {REST}"
                ),
            ]
        );
        assert_eq!(lowered(json!({"maxClusters": 1}), json!({"maxClusters": 2})), [""; 0], "raised");
    }
}
