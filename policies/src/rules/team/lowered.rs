//! A limit may be lowered below what is used. Nothing is taken away then, but nothing can grow, which is worth knowing.

use butler_api::Team;
use butler_api::quantity::Amount;
use butler_api::quota::{Dimension, Limit, Limits, Scope};

use super::super::{Case, name_of};
use crate::finding::Findings;
use crate::quota::holding;

/// More is used than the limit allows from now on.
const BELOW_USAGE: &str = "BelowUsage";

pub(super) fn check(case: &Case<'_, Team>, findings: &mut Findings) {
    let Some(old) = case.old() else { return };
    let name = name_of(&case.object.metadata);
    // A limit that cannot be read is for others to tell.
    let limits = |team: &Team| {
        let limits = Limits { name, team: &team.spec, config: case.config() };
        limits.of_team().unwrap_or_default()
    };
    let (before, after) = (limits(old), limits(case.object));
    let is_lowered = |limit: &&Limit| {
        let was = before.iter().find(|was| (&was.scope, was.dimension) == (&limit.scope, limit.dimension));
        limit.scope == Scope::Team && was.is_none_or(|was| limit.most < was.most)
    };
    let lowered: Vec<&Limit> = after.iter().filter(is_lowered).collect();
    if lowered.is_empty() {
        return;
    }
    let (mut used, mut clusters) = ([0_u128; Dimension::ALL.len()], 0);
    for cluster in case.facts.clusters_of_team(name) {
        let holding = holding(cluster, case.facts);
        clusters += 1;
        for (sum, dimension) in used.iter_mut().zip(Dimension::ALL) {
            *sum += u128::from(holding.amount(&Scope::Team, dimension));
        }
    }
    for limit in lowered {
        let used = used.iter().zip(Dimension::ALL).find(|(_, dimension)| *dimension == limit.dimension);
        let used = Amount::from_whole(used.map_or(0, |(used, _)| *used));
        if used > limit.most {
            let shown = |amount| limit.dimension.shown(amount);
            let message = format!(
                "`{}` is below what is used, {} by {clusters} clusters; nothing is taken away, but nothing can be added until \
                 less is used",
                shown(limit.most),
                shown(used)
            );
            findings.warn(BELOW_USAGE, limit.source.field.clone(), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    #[test]
    fn a_limit_below_what_is_used_is_worth_a_warning() {
        let limited = |limits: Value| {
            serde_json::from_value(team(json!({"spec": {"resourceLimits": limits}}))).expect("team")
        };
        let facts =
            facts_with(&[team(json!({})), cluster_json(json!({"spec": {"workers": {"replicas": 3}}}))]);
        let lowered = |old: Value, new: Value| on_update(check, &limited(old), &limited(new), &facts);
        assert_eq!(lowered(json!({"maxTotalNodes": 9}), json!({"maxTotalNodes": 3})), [""; 0]);
        assert_eq!(
            lowered(json!({"maxTotalNodes": 9}), json!({"maxTotalNodes": 2, "maxClusters": 1})),
            [
                "warning: spec.resourceLimits.maxTotalNodes: `2` is below what is used, 3 by 1 clusters; nothing is taken away, but nothing \
              can be added until less is used"
            ]
        );
        assert_eq!(lowered(json!({"maxTotalNodes": 2}), json!({"maxTotalNodes": 2})), [""; 0], "nothing new");
    }
}
