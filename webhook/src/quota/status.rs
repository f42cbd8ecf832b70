//! What a Team's status says about its quota. The desk of whichever replica is first writes it, until a reconciler of Teams
//! does; the fields are owned by a manager of their own, so that nobody's other fields are touched.

use butler_api::quota::Limits;
use butler_api::quota::report::Report;
use butler_api::team::TeamStatus;
use butler_policies::Facts;
use serde_json::json;

use super::desk::Desk;

impl Desk {
    /// Writes the status if it says anything else, and the metrics.
    pub(super) async fn report(&mut self, facts: &Facts) {
        let Some(copy) = &self.copy else { return };
        let Some(team) = facts.team(&self.team).found() else { return };
        let limits = Limits { name: &self.team, team: &team.spec, config: facts.config_spec() };
        let Ok(report) = Report::of(&copy.ledger, &limits) else { return };
        self.shared.metrics.reported(&self.team, &report, copy.ledger.open());
        let usage = report.resource_usage();
        let wanted = TeamStatus {
            cluster_count: usage.clusters,
            resource_usage: Some(usage),
            quota_status: Some(report.status),
            quota_message: Some(report.message),
            quota_ledger: Some(self.team.clone()),
            ..TeamStatus::default()
        };
        let there = team.status.clone().unwrap_or_default();
        let is_so = there.cluster_count == wanted.cluster_count
            && there.resource_usage == wanted.resource_usage
            && there.quota_status == wanted.quota_status
            && there.quota_message == wanted.quota_message
            && there.quota_ledger == wanted.quota_ledger;
        if is_so {
            return;
        }
        // What fails is tried again in the next round.
        let _ = self.shared.store.write_status(&self.team, json!(wanted)).await;
    }
}
