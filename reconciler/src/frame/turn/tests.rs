//! A defect is told like any other trouble.

use butler_api::{ButlerConfig, ButlerConfigStatus, condition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use super::*;

/// Cannot say anything without a defect.
#[derive(Debug)]
struct Defective;

impl Controller for Defective {
    type Object = ButlerConfig;
    type Status = ButlerConfigStatus;
    type Observed = ();
    type Plan = ();
    type Applied = ();

    const KIND: &'static str = "ButlerConfig";
    const MANAGER: &'static str = "test";
    const FINALIZER: Option<&'static str> = None;

    async fn observe(&self, _: &ButlerConfig) -> Result<(), Error> {
        Ok(())
    }

    fn plan(&self, _: &ButlerConfig, (): &()) {}

    async fn apply(&self, (): &(), _: &Hand, (): &mut ()) -> Result<(), Error> {
        Ok(())
    }

    fn may_leave(&self, (): &(), (): &()) -> bool {
        true
    }

    fn status(&self, _: &ButlerConfig, _: &Outcome<Self>, _: Timestamp) -> ButlerConfigStatus {
        unreachable!("a defect")
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

#[test]
fn a_status_that_cannot_be_said_is_told_too() {
    let config: ButlerConfig = serde_json::from_value(json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ButlerConfig",
        "metadata": { "name": "butler", "generation": 3 }, "spec": {}, "status": { "teamCount": 7 },
    }))
    .unwrap();
    let (told, ended) = status(&Defective, &config, &Outcome::default(), Timestamp::UNIX_EPOCH);
    assert_eq!(ended.unwrap_err().label(), "Panicked");
    let ready = condition::get(&told.conditions, READY).unwrap();
    assert_eq!(
        (&*ready.status, &*ready.reason, &*ready.message, ready.observed_generation),
        (
            "False",
            "Failed",
            "butler-reconciler has a defect that this object brings out; its log says where; it is tried again",
            Some(3)
        )
    );
    assert_eq!(told.team_count, Some(7), "what it said before stays");
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_or_panics_is_an_error_like_any_other() {
    let limit = Duration::from_secs(60);
    assert!(bounded(limit, async { Ok(()) }).await.is_ok());
    let slow = bounded(limit, std::future::pending()).await.unwrap_err();
    assert_eq!(slow.label(), "TooSlow");
    let defect = bounded(limit, async { unreachable!("a defect") }).await.unwrap_err();
    assert_eq!(defect.label(), "Panicked");
    assert_eq!(
        defect.told(),
        "butler-reconciler has a defect that this object brings out; its log says where; it is tried again"
    );
}
