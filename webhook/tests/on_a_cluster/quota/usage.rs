//! What is stored, counted by a consistent list, without any of the code that is tried here.

use std::collections::BTreeMap;

use kube::Client;
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;

use super::platform::clusters_of;

pub(crate) const ENVIRONMENT: &str = "butler.butlerlabs.dev/environment";
pub(crate) const OWNER: &str = "butler.butlerlabs.dev/owner";

/// What a team's clusters use: clusters, nodes, cores, memory and disk in Gi; clusters per environment, and per person in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) clusters: i64,
    pub(crate) nodes: i64,
    pub(crate) cpu: i64,
    pub(crate) memory: i64,
    pub(crate) storage: i64,
    environments: BTreeMap<String, i64>,
    members: BTreeMap<(String, String), i64>,
}

impl Usage {
    pub(crate) async fn of(client: &Client, team: &str) -> Result<Self, kube::Error> {
        let mut all = Self::default();
        for cluster in clusters_of(client, team).list(&ListParams::default()).await? {
            all.add(&cluster);
        }
        Ok(all)
    }

    pub(crate) fn add(&mut self, cluster: &DynamicObject) {
        let workers = &cluster.data["spec"]["workers"];
        let template = &workers["machineTemplate"];
        let gibibytes = |field: &str| {
            template[field].as_str().unwrap().strip_suffix("Gi").unwrap().parse::<i64>().unwrap()
        };
        let (nodes, cpu) = (workers["replicas"].as_i64().unwrap(), template["cpu"].as_i64().unwrap());
        self.clusters += 1;
        self.nodes += nodes;
        self.cpu += nodes * cpu;
        self.memory += nodes * gibibytes("memory");
        self.storage += nodes * gibibytes("diskSize");
        let (labels, annotations) = (&cluster.metadata.labels, &cluster.metadata.annotations);
        if let Some(environment) = labels.as_ref().and_then(|labels| labels.get(ENVIRONMENT)) {
            *self.environments.entry(environment.clone()).or_default() += 1;
            if let Some(owner) = annotations.as_ref().and_then(|annotations| annotations.get(OWNER)) {
                *self.members.entry((environment.clone(), owner.clone())).or_default() += 1;
            }
        }
    }

    /// Which limits it is beyond: those of a Team's spec, and those that a ProviderConfig has for every team on it.
    pub(crate) fn beyond(&self, team: &Value, provider: &Value) -> Vec<String> {
        let of_team = &team["resourceLimits"];
        let mut rows = vec![
            ("maxClusters".to_owned(), self.clusters, &of_team["maxClusters"]),
            ("maxTotalNodes".to_owned(), self.nodes, &of_team["maxTotalNodes"]),
            ("maxCPUCores".to_owned(), self.cpu, &of_team["maxCPUCores"]),
            ("maxMemory".to_owned(), self.memory, &of_team["maxMemory"]),
            ("maxStorage".to_owned(), self.storage, &of_team["maxStorage"]),
            ("maxClustersPerTeam".to_owned(), self.clusters, &provider["maxClustersPerTeam"]),
            ("maxNodesPerTeam".to_owned(), self.nodes, &provider["maxNodesPerTeam"]),
        ];
        for environment in team["environments"].as_array().into_iter().flatten() {
            let (name, limits) = (environment["name"].as_str().unwrap(), &environment["limits"]);
            let used = self.environments.get(name).copied().unwrap_or(0);
            rows.push((name.to_owned(), used, &limits["maxClusters"]));
            let members = self.members.iter().filter(|((of, _), _)| of == name);
            rows.extend(members.map(|((of, owner), used)| {
                (format!("{owner} in {of}"), *used, &limits["maxClustersPerMember"])
            }));
        }
        let number =
            |limit: &Value| limit.as_i64().or_else(|| limit.as_str()?.trim_end_matches("Gi").parse().ok());
        let is_beyond =
            |(_, used, limit): &(String, i64, &Value)| number(limit).is_some_and(|most| *used > most);
        rows.into_iter().filter(is_beyond).map(|(field, used, _)| format!("{field}: {used}")).collect()
    }

    /// The sums as a ledger's lines have them.
    pub(crate) fn held(&self) -> [i64; 5] {
        [self.clusters, self.nodes, self.cpu, self.memory, self.storage]
    }

    /// The same, counted from the lines of a ledger.
    pub(crate) fn held_in(ledger: &Value) -> [i64; 5] {
        let mut sums = [0; 5];
        for line in ledger["held"].as_array().into_iter().flatten() {
            let words: Vec<&str> = line.as_str().unwrap().split(' ').collect();
            let number = |place: usize| words[place].trim_end_matches("Gi").parse::<i64>().unwrap();
            let own = [1, number(3), number(4), number(5), number(6)];
            sums.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        }
        sums
    }
}
