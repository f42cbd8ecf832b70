//! A limit may be lowered below what is used. Nothing is taken away then, but nothing can grow, which is worth knowing.

use std::collections::{BTreeMap, HashMap};

use butler_api::excerpt::excerpt;
use butler_api::quantity::Amount;
use butler_api::quota::{Dimension, Holding, Limit, Scope};

use super::holding;
use crate::facts::Facts;
use crate::finding::Findings;

/// More is used than the limit allows from now on.
const BELOW_USAGE: &str = "BelowUsage";
/// How many teams or people a message names.
const MOST_NAMED: usize = 5;

/// Limits that a change lowers below what is used, of any number of teams.
#[derive(Debug, Default)]
pub(crate) struct Lowered {
    /// By the field that the limit is written in: the new limit, and who uses more.
    fields: BTreeMap<String, (String, Vec<String>)>,
}

/// What some clusters of a team take together.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    used: u128,
    clusters: usize,
}

impl Lowered {
    /// Looks at what the clusters of a team take. `limits` says what counts for one of them, before the change and after.
    /// `of` names the team, where it is not the one that is changed.
    pub(crate) fn look(
        &mut self,
        team: &str,
        facts: &Facts,
        of: Option<&str>,
        limits: impl Fn(&Holding) -> [Vec<Limit>; 2],
    ) {
        let mut sums: HashMap<(Scope, Dimension), Sum> = HashMap::new();
        // One cluster of each environment, owner and provider shows every limit that there is.
        let mut samples = BTreeMap::new();
        for cluster in facts.clusters_of_team(team) {
            let holding = holding(cluster, facts);
            for (scope, dimension) in holding.sums() {
                let amount = holding.amount(&scope, dimension);
                let sum = sums.entry((scope, dimension)).or_default();
                sum.used += amount;
                sum.clusters += 1;
            }
            let largest = sums.entry((Scope::Cluster, Dimension::Nodes)).or_default();
            *largest = Sum { used: largest.used.max(u128::from(holding.nodes)), clusters: 1 };
            let Holding { environment, owner, provider, .. } = &holding;
            samples.entry((environment.clone(), owner.clone(), provider.clone())).or_insert(holding);
        }
        let mut beyond = BTreeMap::new();
        for sample in samples.values() {
            let [before, after] = limits(sample);
            for limit in after {
                let key = (limit.scope.clone(), limit.dimension);
                let was = before.iter().find(|was| (&was.scope, was.dimension) == (&key.0, key.1));
                // One below zero is denied, which says it all.
                let is_lowered = !limit.most.is_negative() && was.is_none_or(|was| limit.most < was.most);
                let sum = sums.get(&key).copied().unwrap_or_default();
                if is_lowered && Amount::from_whole(sum.used) > limit.most {
                    beyond.insert(key, (limit, sum));
                }
            }
        }
        for (limit, sum) in beyond.into_values() {
            let told = told(&limit, sum, of);
            let shown = limit.dimension.shown(limit.most);
            self.fields.entry(limit.source.field).or_insert_with(|| (shown, Vec::new())).1.push(told);
        }
    }

    /// Tells of each field.
    pub(crate) fn warn(self, findings: &mut Findings) {
        for (field, (most, mut users)) in self.fields {
            let more = users.len().saturating_sub(MOST_NAMED);
            users.truncate(MOST_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let message = format!(
                "`{most}` is below what is used: {}{more}; nothing is taken away, but nothing can be added until less is used",
                users.join(", ")
            );
            findings.warn(BELOW_USAGE, field, message);
        }
    }
}

/// `12 nodes by 3 clusters of the Team `a``
fn told(limit: &Limit, sum: Sum, of: Option<&str>) -> String {
    let Sum { used, clusters } = sum;
    let count = |count: u128, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let used = match limit.dimension {
        Dimension::Clusters => count(used, "cluster"),
        Dimension::Nodes => count(used, "node"),
        dimension => format!("{} {dimension}", dimension.shown(Amount::from_whole(used))),
    };
    let by = match (&limit.scope, limit.dimension) {
        (Scope::Cluster, _) => " by the largest cluster".to_owned(),
        (Scope::Member { owner, .. }, _) => format!(" of `{}`", excerpt(owner)),
        (_, Dimension::Clusters) => String::new(),
        _ => format!(" by {}", count(clusters as u128, "cluster")),
    };
    let of = of.map(|team| format!(" of the Team `{}`", excerpt(team))).unwrap_or_default();
    format!("{used}{by}{of}")
}
