//! What is stored, counted by a consistent list, without any of the code that is tried here.

use kube::Client;
use kube::api::ListParams;
use serde_json::Value;

use super::platform::clusters_of;

/// What a team's clusters use: clusters, nodes, cores, and memory in Gi.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) clusters: i64,
    pub(crate) nodes: i64,
    pub(crate) cpu: i64,
    pub(crate) memory: i64,
}

impl Usage {
    pub(crate) async fn of(client: &Client, team: &str) -> Result<Self, kube::Error> {
        let mut all = Self::default();
        for cluster in clusters_of(client, team).list(&ListParams::default()).await? {
            let workers = &cluster.data["spec"]["workers"];
            let template = &workers["machineTemplate"];
            let (nodes, cpu) = (workers["replicas"].as_i64().unwrap(), template["cpu"].as_i64().unwrap());
            let memory =
                template["memory"].as_str().unwrap().strip_suffix("Gi").unwrap().parse::<i64>().unwrap();
            all.clusters += 1;
            all.nodes += nodes;
            all.cpu += nodes * cpu;
            all.memory += nodes * memory;
        }
        Ok(all)
    }

    /// Which limits it is beyond, in a Team's own words.
    pub(crate) fn beyond(&self, limits: &Value) -> Vec<String> {
        let number = |field: &str| {
            let limit = &limits[field];
            limit.as_i64().or_else(|| limit.as_str()?.trim_end_matches("Gi").parse().ok())
        };
        let rows = [
            ("maxClusters", self.clusters),
            ("maxTotalNodes", self.nodes),
            ("maxCPUCores", self.cpu),
            ("maxMemory", self.memory),
        ];
        let is_beyond = |(field, used): &(&str, i64)| number(field).is_some_and(|most| *used > most);
        rows.into_iter().filter(is_beyond).map(|(field, used)| format!("{field}: {used}")).collect()
    }
}
