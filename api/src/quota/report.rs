//! What a ledger says about its team, for the Team's status and for metrics.

use crate::quantity::{Amount, Quantity};
use crate::quota::dimension::Dimension;
use crate::quota::ledger::Ledger;
use crate::quota::limit::{LimitError, Limits, Scope};
use crate::team::{QuotaStatus, ResourceUsage};

/// In per cent of a limit, from where on it counts as close.
const CLOSE: i128 = 80;

/// How much of its limits a team uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What all its clusters use, in the order of [`Dimension::ALL`], and the limit, if there is one.
    pub rows: Vec<Row>,
    /// How close it is to its limits.
    pub status: QuotaStatus,
    /// Which limits are close, reached or exceeded.
    pub message: String,
}

/// One thing that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is counted.
    pub dimension: Dimension,
    /// How much is used.
    pub used: Amount,
    /// How much may be.
    pub most: Option<Amount>,
}

impl Report {
    /// What that ledger says.
    pub fn of(ledger: &Ledger, limits: &Limits<'_>) -> Result<Self, LimitError> {
        let of_team = limits.of_team()?;
        let rows: Vec<Row> = Dimension::ALL
            .into_iter()
            .map(|dimension| {
                let limit = of_team.iter().find(|it| it.scope == Scope::Team && it.dimension == dimension);
                let used = Amount::from_whole(ledger.used(&Scope::Team, dimension));
                Row { dimension, used, most: limit.map(|limit| limit.most) }
            })
            .collect();
        let mut told: Vec<(String, Row)> = rows.iter().map(|row| (String::new(), row.clone())).collect();
        for environment in &limits.team.environments {
            let most = environment.limits.as_ref().and_then(|limits| limits.max_clusters);
            let scope = Scope::Environment(environment.name.as_str().into());
            let used = Amount::from_whole(ledger.used(&scope, Dimension::Clusters));
            let row = Row { dimension: Dimension::Clusters, used, most: most.map(Amount::from) };
            told.push((format!(" in `{}`", environment.name), row));
        }
        let mut status = QuotaStatus::Ok;
        let mut parts = Vec::new();
        for (place, row) in told {
            let Some(most) = row.most else { continue };
            if row.used > most {
                status = QuotaStatus::Exceeded;
            } else if row.percent().is_some_and(|percent| i128::from(percent) >= CLOSE) {
                status = if status == QuotaStatus::Ok { QuotaStatus::Warning } else { status };
            } else {
                continue;
            }
            let shown = |amount| row.dimension.shown(amount);
            parts.push(format!("{}{place}: {} of {}", row.dimension, shown(row.used), shown(most)));
        }
        Ok(Self { rows, status, message: parts.join(", ") })
    }

    /// The same as a Team's status shows it.
    pub fn resource_usage(&self) -> ResourceUsage {
        let row = |dimension| self.rows.iter().find(|row| row.dimension == dimension);
        let used = |dimension| row(dimension).map(|row| row.used).unwrap_or_default();
        let count = |dimension| Some(i32::try_from(used(dimension).ceil_units()).unwrap_or(i32::MAX));
        let percent = |dimension| row(dimension).and_then(Row::percent);
        ResourceUsage {
            clusters: count(Dimension::Clusters),
            total_nodes: count(Dimension::Nodes),
            total_cpu: Some(Quantity::from(used(Dimension::Cpu))),
            total_memory: Some(Quantity::from(used(Dimension::Memory).bytes())),
            total_storage: Some(Quantity::from(used(Dimension::Storage).bytes())),
            cluster_utilization: percent(Dimension::Clusters),
            node_utilization: percent(Dimension::Nodes),
            cpu_utilization: percent(Dimension::Cpu),
            memory_utilization: percent(Dimension::Memory),
        }
    }
}

impl Row {
    /// What is used in per cent of the limit, at most 100; nothing without a limit. Of nothing, nothing is all.
    pub fn percent(&self) -> Option<i32> {
        let most = self.most?;
        if self.used >= most {
            return Some(100);
        }
        let percent = self.used.nanos().saturating_mul(100).checked_div(most.nanos());
        percent.and_then(|percent| i32::try_from(percent).ok())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::names::ObjectUid;
    use crate::quota::holding::Holding;
    use crate::quota::ledger::{Inventory, Sighting};
    use crate::reference::NsRef;
    use crate::team::TeamSpec;

    fn report(team: Value) -> Report {
        let team: TeamSpec = serde_json::from_value(team).expect("team");
        let clusters = (0..3_u64).map(|number| {
            let holding = Holding {
                nodes: 3,
                cpu: 12,
                memory: 48 << 30,
                storage: 300 << 30,
                environment: (number == 0).then(|| "dev".into()),
                ..Holding::default()
            };
            let uid = ObjectUid::from_number(number.into());
            let at = NsRef { name: format!("c{number}"), namespace: "payments".to_owned() };
            (at, Sighting { uid, revision: number, created: 0, holding: Some(holding), is_leaving: false })
        });
        let inventory = Inventory { clusters: clusters.collect(), ..Inventory::default() };
        let ledger = Ledger::of("payments", &inventory, |_| Some(Vec::new()));
        Report::of(&ledger, &Limits { name: "payments", team: &team, config: None }).expect("report")
    }

    #[test]
    fn a_team_without_limits_uses_what_it_uses() {
        let report = report(json!({}));
        assert_eq!((report.status, report.message.as_str()), (QuotaStatus::Ok, ""));
        let shown = serde_json::to_value(report.resource_usage()).expect("usage");
        let expected = json!({"clusters": 3, "totalNodes": 9, "totalCPU": "36", "totalMemory": "144Gi",
            "totalStorage": "900Gi"});
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_close_reached_or_exceeded_is_told() {
        let limits =
            json!({"maxClusters": 5, "maxTotalNodes": 10, "maxCPUCores": "36", "maxMemory": "100Gi"});
        let environments = json!([{"name": "dev", "limits": {"maxClusters": 1}}, {"name": "prod"}]);
        let report = report(json!({"resourceLimits": limits, "environments": environments}));
        assert_eq!(report.status, QuotaStatus::Exceeded);
        assert_eq!(
            report.message,
            "nodes: 9 of 10, cpu: 36 of 36, memory: 144Gi of 100Gi, clusters in `dev`: 1 of 1"
        );
        let usage = report.resource_usage();
        assert_eq!((usage.cluster_utilization, usage.node_utilization), (Some(60), Some(90)));
        assert_eq!((usage.cpu_utilization, usage.memory_utilization), (Some(100), Some(100)));
    }

    #[test]
    fn reaching_a_limit_is_no_excess() {
        assert_eq!(report(json!({"resourceLimits": {"maxClusters": 3}})).status, QuotaStatus::Warning);
        assert_eq!(report(json!({"resourceLimits": {"maxClusters": 0}})).status, QuotaStatus::Exceeded);
    }
}
