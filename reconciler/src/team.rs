//! Teams: a namespace for each, and what each member may do in it.
//!
//! Read in this order: `observe` looks at what is there, `rights` says who may do what, `plan` says what is to be done,
//! `apply` does it, `status` says how it went.
//!
//! There is no ResourceQuota and no LimitRange, and no field that asks for one: what runs, runs in a team's clusters and
//! their own namespaces, never in the team's, where only its TenantClusters and TenantAddons are. How much of those there
//! may be is `spec.resourceLimits`, which the gate holds to exactly; a quota of Kubernetes', which counts objects only, would
//! be a second and weaker answer to the same question.

mod apply;
mod observe;
mod plan;
mod rights;
mod status;

use butler_api::condition::Statement;
use butler_api::labels::finalizers;
use butler_api::{Team, TeamStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;

use self::apply::Applied;
use self::observe::Observed;
use self::plan::Plan;
use crate::frame::{Controller, Error, Hand, Outcome};
use crate::known::Known;

/// Owns the fields that are written here.
pub const MANAGER: &str = "butler-reconciler/team";

/// The controller of Teams.
#[derive(Clone)]
pub struct Teams {
    client: Client,
    known: Known,
}

impl std::fmt::Debug for Teams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Teams").finish_non_exhaustive()
    }
}

impl Teams {
    /// Looks at these.
    pub fn new(client: Client, known: Known) -> Self {
        Self { client, known }
    }
}

impl Controller for Teams {
    type Object = Team;
    type Status = TeamStatus;
    type Observed = Observed;
    type Plan = Plan;
    type Applied = Applied;

    const KIND: &'static str = "Team";
    const MANAGER: &'static str = MANAGER;
    const FINALIZER: Option<&'static str> = Some(finalizers::TEAM);
    // The webhook's promise that there is a ledger: it has to be there before the ledger is.
    const WRITTEN_BY_OTHERS: &'static [&'static str] = &["quotaLedger"];

    async fn observe(&self, team: &Team) -> Result<Observed, Error> {
        Ok(observe::observe(&self.client, &self.known, team).await)
    }

    fn plan(&self, team: &Team, observed: &Observed) -> Plan {
        plan::plan(team, observed)
    }

    async fn apply(&self, plan: &Plan, hand: &Hand, applied: &mut Applied) -> Result<(), Error> {
        apply::apply(&self.known, plan, hand, applied).await
    }

    fn may_leave(&self, plan: &Plan, _: &Applied) -> bool {
        plan.is_gone()
    }

    fn status(&self, team: &Team, outcome: &Outcome<Self>, now: Timestamp) -> TeamStatus {
        status::status(team, outcome, now)
    }

    fn unreadable(old: TeamStatus, ready: Statement, generation: i64, now: Timestamp) -> TeamStatus {
        status::unreadable(old, ready, generation, now)
    }

    fn conditions(status: &TeamStatus) -> &[Condition] {
        &status.conditions
    }
}
