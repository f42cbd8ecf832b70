//! Providers: whether their credentials are there, and what they have room for.

mod metrics;
mod observe;
mod plan;
mod status;

use std::time::Duration;

use butler_api::condition::{self, READY, Statement};
use butler_api::labels::finalizers;
use butler_api::{ProviderConfig, ProviderConfigStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;

pub use self::metrics::Metrics;
use self::observe::Observed;
use self::plan::Plan;
use crate::frame::{Controller, Error, Hand, Key, Outcome};
use crate::known::Known;

/// Owns the fields that are written here.
pub const MANAGER: &str = "butler-reconciler/provider-config";

/// Secrets are not watched, because a right to watch them is a right to read all of them; so they are looked at: now and
/// then while all is well, and more often while somebody may be mending them.
const WELL: Duration = Duration::from_secs(300);
const UNWELL: Duration = Duration::from_secs(15);

/// The controller of ProviderConfigs.
#[derive(Clone)]
pub struct ProviderConfigs {
    client: Client,
    known: Known,
    metrics: Metrics,
}

impl std::fmt::Debug for ProviderConfigs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderConfigs").finish_non_exhaustive()
    }
}

impl ProviderConfigs {
    /// Looks at these.
    pub fn new(client: Client, known: Known, metrics: Metrics) -> Self {
        Self { client, known, metrics }
    }
}

impl Controller for ProviderConfigs {
    type Object = ProviderConfig;
    type Status = ProviderConfigStatus;
    type Observed = Observed;
    type Plan = Plan;
    /// Nothing is made for a provider, so there is no step that applies.
    type Applied = ();

    const KIND: &'static str = "ProviderConfig";
    const MANAGER: &'static str = MANAGER;
    const FINALIZER: Option<&'static str> = Some(finalizers::PROVIDER_CONFIG);

    async fn observe(&self, provider: &ProviderConfig) -> Result<Observed, Error> {
        observe::observe(&self.client, &self.known, provider).await
    }

    fn plan(&self, provider: &ProviderConfig, observed: &Observed) -> Plan {
        plan::plan(provider, observed)
    }

    async fn apply(&self, _: &Plan, _: &Hand, (): &mut ()) -> Result<(), Error> {
        Ok(())
    }

    fn may_leave(&self, plan: &Plan, (): &()) -> bool {
        plan.used_by.is_empty()
    }

    fn status(
        &self,
        provider: &ProviderConfig,
        outcome: &Outcome<Self>,
        now: Timestamp,
    ) -> ProviderConfigStatus {
        status::status(provider, outcome, now)
    }

    fn unreadable(
        mut old: ProviderConfigStatus,
        ready: Statement,
        generation: i64,
        now: Timestamp,
    ) -> ProviderConfigStatus {
        condition::set(&mut old.conditions, ready, generation, now);
        old.ready = Some(false);
        old
    }

    fn conditions(status: &ProviderConfigStatus) -> &[Condition] {
        &status.conditions
    }

    fn look_again(&self, status: &ProviderConfigStatus) -> Option<Duration> {
        Some(if condition::is_true(&status.conditions, READY) { WELL } else { UNWELL })
    }

    fn show(&self, provider: &ProviderConfig, status: &ProviderConfigStatus) {
        self.metrics.show(provider, status);
    }

    fn forget(&self, key: &Key) {
        self.metrics.forget(key);
    }

    fn retire(&self) {
        self.metrics.clear();
    }
}
