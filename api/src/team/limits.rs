//! What a Team may use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::butler_config::TeamLimits;
use crate::contradiction::Contradiction;
use crate::quantity::Quantity;

/// What all clusters of a team may use together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceLimits {
    /// How many clusters the team may have; 0 allows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_clusters: Option<i32>,
    /// How many workers one cluster may have; 0 allows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_nodes_per_cluster: Option<i32>,
    /// How many workers all clusters may have together; 0 allows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_total_nodes: Option<i32>,
    /// Processor cores of all workers together, for example `240`; 0 allows none.
    #[serde(rename = "maxCPUCores", skip_serializing_if = "Option::is_none")]
    pub max_cpu_cores: Option<Quantity>,
    /// The older name of `maxCPUCores`, which is preferred; giving both with different amounts is refused.
    #[serde(rename = "maxTotalCPU", skip_serializing_if = "Option::is_none")]
    pub max_total_cpu: Option<Quantity>,
    /// Memory of all workers together, for example `1Ti`; 0 allows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_memory: Option<Quantity>,
    /// The older name of `maxMemory`, which is preferred; giving both with different amounts is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_memory: Option<Quantity>,
    /// Disk space of all workers together, for example `10Ti`; 0 allows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_storage: Option<Quantity>,
    /// The older name of `maxStorage`, which is preferred; giving both with different amounts is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_storage: Option<Quantity>,
    /// Number of workers of a new cluster that does not say, where `clusterDefaults` does not say either.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub default_node_count: Option<i32>,
    /// Processor cores of each worker of a new cluster that does not say, where `clusterDefaults` does not
    /// say either.
    #[serde(rename = "defaultCPUPerNode", skip_serializing_if = "Option::is_none")]
    pub default_cpu_per_node: Option<Quantity>,
    /// Memory of each worker of a new cluster that does not say, where `clusterDefaults` does not say either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_memory_per_node: Option<Quantity>,
    /// Kubernetes releases that clusters may use, for example `v1.31.4`. Left out or empty, any.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub allowed_kubernetes_versions: Vec<String>,
    /// ProviderConfigs that clusters may use. A plain name, such as `harvester`, is one in `butler-system`; any other is
    /// written as `namespace/name`. Left out or empty, any that the team can see.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub allowed_providers: Vec<String>,
    /// AddonDefinitions that may be installed, by name. Left out or empty, any that is not denied.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub allowed_addons: Vec<String>,
    /// AddonDefinitions that may not be installed, by name. This beats `allowedAddons`.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    pub denied_addons: Vec<String>,
}

impl ResourceLimits {
    /// Processor cores of all workers together.
    pub fn cpu(&self) -> Option<&Quantity> {
        self.max_cpu_cores.as_ref().or(self.max_total_cpu.as_ref())
    }

    /// Memory of all workers together.
    pub fn memory(&self) -> Option<&Quantity> {
        self.max_memory.as_ref().or(self.max_total_memory.as_ref())
    }

    /// Disk space of all workers together.
    pub fn storage(&self) -> Option<&Quantity> {
        self.max_storage.as_ref().or(self.max_total_storage.as_ref())
    }

    /// Settings given under two names that disagree.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let doubled = [
            (
                &self.max_cpu_cores,
                "spec.resourceLimits.maxCPUCores",
                &self.max_total_cpu,
                "spec.resourceLimits.maxTotalCPU",
            ),
            (
                &self.max_memory,
                "spec.resourceLimits.maxMemory",
                &self.max_total_memory,
                "spec.resourceLimits.maxTotalMemory",
            ),
            (
                &self.max_storage,
                "spec.resourceLimits.maxStorage",
                &self.max_total_storage,
                "spec.resourceLimits.maxTotalStorage",
            ),
        ];
        doubled
            .into_iter()
            .filter(|(newer, _, older, _)| disagree(newer.as_ref(), older.as_ref()))
            .map(|(_, newer, _, older)| Contradiction { newer, older })
            .collect()
    }
}

/// Whether two spellings mean different amounts: `2` and `2000m` agree. Texts that are no amounts are
/// compared as texts.
fn disagree(newer: Option<&Quantity>, older: Option<&Quantity>) -> bool {
    let (Some(newer), Some(older)) = (newer, older) else { return false };
    match (newer.amount(), older.amount()) {
        (Ok(newer), Ok(older)) => newer != older,
        _ => newer != older,
    }
}

/// The limits that count for a team, whoever set them. An absent limit is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectiveLimits {
    /// Clusters.
    pub clusters: Option<i32>,
    /// Workers of one cluster.
    pub nodes_per_cluster: Option<i32>,
    /// Workers of all clusters.
    pub total_nodes: Option<i32>,
    /// Processor cores of all workers.
    pub cpu: Option<Quantity>,
    /// Memory of all workers.
    pub memory: Option<Quantity>,
    /// Disk space of all workers.
    pub storage: Option<Quantity>,
}

impl EffectiveLimits {
    /// The team's limits, each of them falling back to the platform's by itself: a team that sets only one
    /// must not lose the others.
    pub fn of(team: Option<&ResourceLimits>, platform: Option<&TeamLimits>) -> Self {
        let amount = |own: fn(&ResourceLimits) -> Option<&Quantity>,
                      default: fn(&TeamLimits) -> Option<&Quantity>| {
            team.and_then(own).or_else(|| platform.and_then(default)).cloned()
        };
        Self {
            clusters: team.and_then(|team| team.max_clusters).or_else(|| platform?.max_clusters),
            nodes_per_cluster: team
                .and_then(|team| team.max_nodes_per_cluster)
                .or_else(|| platform?.max_workers_per_cluster),
            total_nodes: team.and_then(|team| team.max_total_nodes),
            cpu: amount(ResourceLimits::cpu, |platform| platform.max_total_cpu.as_ref()),
            memory: amount(ResourceLimits::memory, |platform| platform.max_total_memory.as_ref()),
            storage: amount(ResourceLimits::storage, |platform| platform.max_total_storage.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn limits(value: Value) -> ResourceLimits {
        serde_json::from_value(value).expect("limits")
    }

    fn quantity(text: &str) -> Quantity {
        Quantity::new(text)
    }

    #[test]
    fn amounts_are_read_under_either_name_and_the_newer_wins() {
        let older = limits(json!({"maxTotalCPU": "200", "maxTotalMemory": "1Ti", "maxTotalStorage": "5Ti"}));
        assert_eq!(older.cpu(), Some(&quantity("200")));
        assert_eq!(older.memory(), Some(&quantity("1Ti")));
        assert_eq!(older.storage(), Some(&quantity("5Ti")));
        let both = limits(json!({"maxCPUCores": "100", "maxTotalCPU": "200"}));
        assert_eq!(both.cpu(), Some(&quantity("100")));
    }

    #[test]
    fn both_names_with_different_amounts_contradict_each_other() {
        let same = limits(json!({"maxCPUCores": "100", "maxTotalCPU": "100000m"}));
        assert_eq!(same.contradictions(), []);
        let other = limits(json!({"maxMemory": "1Ti", "maxTotalMemory": "2Ti", "maxTotalCPU": "5"}));
        let expected = Contradiction {
            newer: "spec.resourceLimits.maxMemory",
            older: "spec.resourceLimits.maxTotalMemory",
        };
        assert_eq!(other.contradictions(), [expected]);
    }

    #[test]
    fn each_limit_falls_back_to_the_platform_by_itself() {
        let platform: TeamLimits = serde_json::from_value(
            json!({"maxClusters": 5, "maxWorkersPerCluster": 10, "maxTotalCPU": "50"}),
        )
        .expect("limits");
        let team = limits(json!({"maxClusters": 0, "maxTotalMemory": "1Ti"}));
        let effective = EffectiveLimits::of(Some(&team), Some(&platform));
        let expected = EffectiveLimits {
            clusters: Some(0),
            nodes_per_cluster: Some(10),
            total_nodes: None,
            cpu: Some(quantity("50")),
            memory: Some(quantity("1Ti")),
            storage: None,
        };
        assert_eq!(effective, expected);
        assert_eq!(EffectiveLimits::of(None, None), EffectiveLimits::default());
    }
}
