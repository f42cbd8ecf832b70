//! What may be used: the limits that count for a cluster, and where each comes from.

use std::fmt;
use std::sync::Arc;

use crate::butler_config::ButlerConfigSpec;
use crate::excerpt::excerpt;
use crate::provider_config::ProviderConfigSpec;
use crate::quantity::{Amount, Quantity, QuantityError};
use crate::quota::dimension::Dimension;
use crate::quota::holding::Holding;
use crate::team::{ResourceLimits, TeamSpec};

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// One cluster by itself.
    Cluster,
    /// All clusters of a team.
    Team,
    /// Those in an environment of the team.
    Environment(Arc<str>),
    /// Those of one person in an environment of the team.
    Member {
        /// The environment.
        environment: Arc<str>,
        /// The person.
        owner: Arc<str>,
    },
    /// Those of the team on a ProviderConfig, as `namespace/name`.
    Provider(Arc<str>),
}

/// One limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// What is counted together.
    pub scope: Scope,
    /// What is counted.
    pub dimension: Dimension,
    /// The most that may be used.
    pub most: Amount,
    /// Where it is written.
    pub source: Source,
}

/// Where a limit is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The object, as messages name it.
    pub object: String,
    /// The field of it.
    pub field: String,
    /// Who may change it.
    pub owners: &'static str,
}

/// Who may change what a Team, a ProviderConfig or the platform allows.
const PLATFORM: &str = "the platform's administrators";
/// Who may change what an environment allows.
const TEAM: &str = "the team's administrators";

/// The limits of one team.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The name of the team.
    pub name: &'a str,
    /// The team.
    pub team: &'a TeamSpec,
    /// The platform's settings.
    pub config: Option<&'a ButlerConfigSpec>,
}

/// A limit that cannot be read, and so lets nothing pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the limit `{field}` of {object} cannot be read: {why}")]
pub struct LimitError {
    object: String,
    field: String,
    why: QuantityError,
}

impl Limits<'_> {
    /// What all clusters of the team may use together, and each by itself.
    pub fn of_team(&self) -> Result<Vec<Limit>, LimitError> {
        let none = ResourceLimits::default();
        let own = self.team.resource_limits.as_ref().unwrap_or(&none);
        let default = self.config.and_then(|config| config.default_team_limits.as_ref());
        let mut found = Found { limits: Vec::new(), name: self.name };
        let count =
            |own: Option<i32>, default: Option<i32>| (own.map(Amount::from), default.map(Amount::from));
        found.add(
            Scope::Team,
            Dimension::Clusters,
            count(own.max_clusters, default.and_then(|it| it.max_clusters)),
            ("maxClusters", "maxClusters"),
        );
        found.add(
            Scope::Team,
            Dimension::Nodes,
            count(own.max_total_nodes, None),
            ("maxTotalNodes", "maxTotalNodes"),
        );
        found.add(
            Scope::Cluster,
            Dimension::Nodes,
            count(own.max_nodes_per_cluster, default.and_then(|it| it.max_workers_per_cluster)),
            ("maxNodesPerCluster", "maxWorkersPerCluster"),
        );
        let amounts = [
            (
                Dimension::Cpu,
                own.cpu(),
                if own.max_cpu_cores.is_some() { "maxCPUCores" } else { "maxTotalCPU" },
                default.and_then(|it| it.max_total_cpu.as_ref()),
                "maxTotalCPU",
            ),
            (
                Dimension::Memory,
                own.memory(),
                if own.max_memory.is_some() { "maxMemory" } else { "maxTotalMemory" },
                default.and_then(|it| it.max_total_memory.as_ref()),
                "maxTotalMemory",
            ),
            (
                Dimension::Storage,
                own.storage(),
                if own.max_storage.is_some() { "maxStorage" } else { "maxTotalStorage" },
                default.and_then(|it| it.max_total_storage.as_ref()),
                "maxTotalStorage",
            ),
        ];
        for (dimension, own, own_field, default, default_field) in amounts {
            let read = |quantity: Option<&Quantity>, source: Source| {
                let amount = quantity.map(Quantity::amount).transpose();
                amount.map_err(|why| LimitError { object: source.object, field: source.field, why })
            };
            let own = read(own, found.of_team(own_field))?;
            // A default that the team does not use need not make sense.
            let default = if own.is_none() { read(default, of_config(default_field))? } else { None };
            found.add(Scope::Team, dimension, (own, default), (own_field, default_field));
        }
        Ok(found.limits)
    }

    /// Every limit that counts for a cluster which takes `holding`, given the ProviderConfig that it runs on.
    pub fn for_cluster(
        &self,
        holding: &Holding,
        provider: Option<&ProviderConfigSpec>,
    ) -> Result<Vec<Limit>, LimitError> {
        let mut limits = self.of_team()?;
        let environment = holding.environment.as_ref();
        if let Some((name, limited)) =
            environment.and_then(|name| Some((name, self.team.environment(name)?.limits.as_ref()?)))
        {
            let source = |field: &str| Source {
                object: format!("the Team `{}`", self.name),
                field: format!("spec.environments[{name}].limits.{field}"),
                owners: TEAM,
            };
            if let Some(most) = limited.max_clusters {
                limits.push(Limit {
                    scope: Scope::Environment(Arc::clone(name)),
                    dimension: Dimension::Clusters,
                    most: most.into(),
                    source: source("maxClusters"),
                });
            }
            if let (Some(most), Some(owner)) = (limited.max_clusters_per_member, &holding.owner) {
                limits.push(Limit {
                    scope: Scope::Member { environment: Arc::clone(name), owner: Arc::clone(owner) },
                    dimension: Dimension::Clusters,
                    most: most.into(),
                    source: source("maxClustersPerMember"),
                });
            }
        }
        if let (Some(at), Some(provider)) = (&holding.provider, provider) {
            let of_provider = [
                (
                    Dimension::Clusters,
                    provider.limits.max_clusters_per_team,
                    "spec.limits.maxClustersPerTeam",
                ),
                (Dimension::Nodes, provider.limits.max_nodes_per_team, "spec.limits.maxNodesPerTeam"),
            ];
            for (dimension, most, field) in of_provider {
                let Some(most) = most else { continue };
                let source = Source {
                    object: format!("the ProviderConfig `{at}`"),
                    field: field.to_owned(),
                    owners: PLATFORM,
                };
                limits.push(Limit {
                    scope: Scope::Provider(Arc::clone(at)),
                    dimension,
                    most: most.into(),
                    source,
                });
            }
        }
        Ok(limits)
    }
}

struct Found<'a> {
    limits: Vec<Limit>,
    name: &'a str,
}

impl Found<'_> {
    fn of_team(&self, field: &str) -> Source {
        let object = format!("the Team `{}`", self.name);
        Source { object, field: format!("spec.resourceLimits.{field}"), owners: PLATFORM }
    }

    /// The team's own limit, else the platform's default, each with the field that it is written in.
    fn add(
        &mut self,
        scope: Scope,
        dimension: Dimension,
        (own, default): (Option<Amount>, Option<Amount>),
        (own_field, default_field): (&str, &str),
    ) {
        let chosen = own.map(|most| (most, self.of_team(own_field)));
        let chosen = chosen.or_else(|| default.map(|most| (most, of_config(default_field))));
        if let Some((most, source)) = chosen {
            self.limits.push(Limit { scope, dimension, most, source });
        }
    }
}

fn of_config(field: &str) -> Source {
    let object = "the ButlerConfig".to_owned();
    Source { object, field: format!("spec.defaultTeamLimits.{field}"), owners: PLATFORM }
}

/// A limit that a change would go beyond.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Exceeded {
    /// The limit.
    pub limit: Limit,
    /// The team that is counted.
    pub team: Arc<str>,
    /// What is used without this change.
    pub used: u128,
    /// By how many clusters.
    pub clusters: usize,
    /// How many of them have changes under way that may or may not come to be.
    pub pending: usize,
    /// What this change adds.
    pub adds: u128,
}

impl Exceeded {
    /// What would still fit.
    pub fn fits(&self) -> Amount {
        let left = self.limit.most.checked_sub(Amount::from_whole(self.used));
        left.filter(|left| !left.is_negative()).unwrap_or_default()
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, team, used, clusters, pending, adds } = self;
        let dimension = limit.dimension;
        let shown = |amount: Amount| dimension.shown(amount);
        let whole = |count: u128| shown(Amount::from_whole(count));
        let most = shown(limit.most);
        match &limit.scope {
            Scope::Cluster => write!(f, "a cluster of the Team `{team}` may have {most} {dimension}")?,
            Scope::Team => write!(f, "the Team `{team}` may have {most} {dimension}")?,
            Scope::Environment(name) => {
                write!(f, "the environment `{name}` of the Team `{team}` may have {most} {dimension}")?;
            }
            Scope::Member { environment, owner } => write!(
                f,
                "`{}` may own {most} {dimension} in the environment `{environment}`",
                excerpt(owner)
            )?,
            Scope::Provider(at) => {
                write!(f, "the Team `{team}` may have {most} {dimension} on the ProviderConfig `{at}`")?;
            }
        }
        if limit.scope == Scope::Cluster {
            write!(f, ", and this one would have {}", whole(used + adds))?;
        } else {
            let plural = if *clusters == 1 { "" } else { "s" };
            write!(f, "; {} used by {clusters} cluster{plural}", whole(*used))?;
            if *pending > 0 {
                write!(f, " ({pending} with changes under way, which settle within minutes)")?;
            }
            write!(f, ", this adds {}, {} would fit", whole(*adds), shown(self.fits()))?;
        }
        let Source { object, field, owners } = &limit.source;
        write!(f, "; {owners} can raise `{field}` of {object}")
    }
}

#[cfg(test)]
mod tests;
