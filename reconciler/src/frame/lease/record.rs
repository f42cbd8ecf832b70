//! What is written into the Lease, and what is read from it. Pure.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::Settings;

/// The Lease as it last was, and since when it has been so by our own clock.
#[derive(Debug, Default)]
pub(super) struct Seen(Option<(String, Instant)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Take,
    Wait,
}

/// Whether somebody who does not hold the Lease may take it.
pub(super) fn decide(found: Option<&Lease>, seen: &mut Seen, now: Instant) -> Decision {
    let Some(lease) = found else { return Decision::Take };
    let spec = lease.spec.clone().unwrap_or_default();
    if spec.holder_identity.is_none_or(|holder| holder.is_empty()) {
        return Decision::Take;
    }
    let version = lease.metadata.resource_version.clone().unwrap_or_default();
    let since = match &seen.0 {
        Some((known, since)) if *known == version => *since,
        _ => {
            seen.0 = Some((version, now));
            now
        }
    };
    // One that says nothing, or nonsense, lasts as long as any that we know of.
    let seconds = spec.lease_duration_seconds.and_then(|it| u64::try_from(it).ok()).filter(|it| *it > 0);
    let lasts = Duration::from_secs(seconds.unwrap_or(60));
    if now.saturating_duration_since(since) > lasts { Decision::Take } else { Decision::Wait }
}

/// The Lease in our hands. It keeps its version, so that it is written only over what was seen.
pub(super) fn taken(found: Option<&Lease>, settings: &Settings, now: Timestamp) -> Lease {
    let transitions = found
        .and_then(|lease| lease.spec.as_ref()?.lease_transitions)
        .map_or(0, |transitions| transitions.saturating_add(1));
    let metadata = found.map_or_else(
        || ObjectMeta {
            name: Some(settings.name.clone()),
            namespace: Some(settings.namespace.clone()),
            ..ObjectMeta::default()
        },
        |lease| lease.metadata.clone(),
    );
    Lease {
        metadata,
        spec: Some(LeaseSpec {
            holder_identity: Some(settings.identity.clone()),
            // Rounded up: nobody may take it sooner than we think.
            lease_duration_seconds: i32::try_from(settings.duration.as_millis().div_ceil(1000)).ok(),
            acquire_time: Some(MicroTime(now)),
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }),
    }
}

/// The same with a new sign.
pub(super) fn renewed(lease: &Lease, now: Timestamp) -> Lease {
    let spec = lease.spec.clone().unwrap_or_default();
    Lease {
        metadata: lease.metadata.clone(),
        spec: Some(LeaseSpec { renew_time: Some(MicroTime(now)), ..spec }),
    }
}

/// The same in nobody's hands.
pub(super) fn released(lease: &Lease) -> Lease {
    let spec = lease.spec.clone().unwrap_or_default();
    Lease {
        metadata: lease.metadata.clone(),
        spec: Some(LeaseSpec { holder_identity: Some(String::new()), ..spec }),
    }
}

pub(super) fn is_held_by(lease: &Lease, identity: &str) -> bool {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()) == Some(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(identity: &str) -> Settings {
        Settings {
            namespace: "butler-system".to_owned(),
            name: "butler-reconciler".to_owned(),
            identity: identity.to_owned(),
            duration: Duration::from_millis(3500),
        }
    }

    fn held(version: &str) -> Lease {
        let mut lease = taken(None, &settings("a"), Timestamp::UNIX_EPOCH);
        lease.metadata.resource_version = Some(version.to_owned());
        lease
    }

    #[test]
    fn what_nobody_holds_is_taken_at_once() {
        let (mut seen, now) = (Seen::default(), Instant::now());
        assert_eq!(decide(None, &mut seen, now), Decision::Take);
        assert_eq!(decide(Some(&released(&held("1"))), &mut seen, now), Decision::Take);
        assert_eq!(decide(Some(&Lease::default()), &mut seen, now), Decision::Take);
    }

    #[test]
    fn what_somebody_holds_is_taken_after_a_whole_lease_without_a_change() {
        let (mut seen, start) = (Seen::default(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        // However old it looks by the wall clock.
        assert_eq!(decide(Some(&held("1")), &mut seen, start), Decision::Wait);
        assert_eq!(decide(Some(&held("1")), &mut seen, at(3900)), Decision::Wait);
        assert_eq!(decide(Some(&held("2")), &mut seen, at(3950)), Decision::Wait);
        assert_eq!(decide(Some(&held("2")), &mut seen, at(7950)), Decision::Wait);
        assert_eq!(decide(Some(&held("2")), &mut seen, at(7951)), Decision::Take);
    }

    #[test]
    fn a_lease_that_says_nonsense_is_waited_for_a_minute() {
        let (mut seen, start) = (Seen::default(), Instant::now());
        for seconds in [None, Some(0), Some(-5)] {
            let mut lease = held("1");
            lease.spec.as_mut().unwrap().lease_duration_seconds = seconds;
            assert_eq!(decide(Some(&lease), &mut seen, start), Decision::Wait);
            assert_eq!(decide(Some(&lease), &mut seen, start + Duration::from_secs(59)), Decision::Wait);
        }
    }

    #[test]
    fn a_holder_stops_before_anybody_may_begin() {
        let settings = settings("a");
        let written = taken(None, &settings, Timestamp::UNIX_EPOCH).spec.unwrap().lease_duration_seconds;
        assert_eq!(written, Some(4));
        assert!(settings.safe() + settings.renewal() <= settings.duration);
        assert!(settings.renewal() * 2 < settings.safe(), "one sign may be lost");
    }

    #[test]
    fn who_takes_it_counts_and_writes_over_what_was_seen_only() {
        let next = taken(Some(&held("7")), &settings("b"), Timestamp::UNIX_EPOCH);
        assert_eq!(next.metadata.resource_version.as_deref(), Some("7"));
        assert!(is_held_by(&next, "b") && next.spec.unwrap().lease_transitions == Some(1));
    }
}
