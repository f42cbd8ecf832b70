//! The platform's settings: the namespace of clusters without a team, counts, and what another tenancy mode would bring
//! about.

mod apply;
mod observe;
mod plan;
mod status;

use butler_api::condition::{self, Statement};
use butler_api::{ButlerConfig, ButlerConfigStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use self::apply::Applied;
use self::observe::Observed;
use self::plan::Plan;
use crate::frame::{Controller, Error, Hand, Outcome};
use crate::known::Known;

/// Owns the fields that are written here.
pub const MANAGER: &str = "butler-reconciler/butler-config";

/// The controller of the ButlerConfig.
#[derive(Clone, Debug)]
pub struct ButlerConfigs {
    known: Known,
}

impl ButlerConfigs {
    /// Looks at these.
    pub fn new(known: Known) -> Self {
        Self { known }
    }
}

impl Controller for ButlerConfigs {
    type Object = ButlerConfig;
    type Status = ButlerConfigStatus;
    type Observed = Observed;
    type Plan = Plan;
    type Applied = Applied;

    const KIND: &'static str = "ButlerConfig";
    const MANAGER: &'static str = MANAGER;
    /// What was made for it stays: clusters may be in that namespace.
    const FINALIZER: Option<&'static str> = None;

    async fn observe(&self, config: &ButlerConfig) -> Result<Observed, Error> {
        Ok(observe::observe(&self.known, config))
    }

    fn plan(&self, config: &ButlerConfig, observed: &Observed) -> Plan {
        plan::plan(config, observed)
    }

    async fn apply(&self, plan: &Plan, hand: &Hand, applied: &mut Applied) -> Result<(), Error> {
        apply::apply(&self.known, plan, hand, applied).await
    }

    fn may_leave(&self, _: &Plan, _: &Applied) -> bool {
        true
    }

    fn status(&self, config: &ButlerConfig, outcome: &Outcome<Self>, now: Timestamp) -> ButlerConfigStatus {
        status::status(config, outcome, now)
    }

    fn unreadable(
        mut old: ButlerConfigStatus,
        ready: Statement,
        generation: i64,
        now: Timestamp,
    ) -> ButlerConfigStatus {
        condition::set(&mut old.conditions, ready, generation, now);
        old
    }

    fn conditions(status: &ButlerConfigStatus) -> &[Condition] {
        &status.conditions
    }
}
