//! What has to be done next, from what is stored, what the registrations trust, and the time.
//!
//! The rule everything serves: **at every moment, every certificate a replica may be serving with is trusted by
//! every registration.** Hence the order of a rotation: a new authority is announced (stored and put into every
//! `caBundle`), seen there, left to settle, and only then signs; the old one stays trusted until nothing it
//! signed can be valid.
//!
//! A Secret that is lost takes the same path: what the registrations trust is carried over as retired, since
//! replicas go on serving from memory.

#[cfg(test)]
mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::certificate::Fingerprint;
use crate::settings::Lifetimes;
use crate::state::{Authority, Leaf, State, Trusted};

/// How many unknown authorities are carried over from registrations when the Secret is lost. We never have more
/// than three; a bundle somebody filled with the world's public authorities is not worth keeping.
const CARRIED: usize = 8;

/// One change of the stored state, or none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Nothing to do before this moment, if nobody changes anything.
    Rest {
        /// `None` when only somebody else's change can make work.
        until: Option<Timestamp>,
    },
    /// A new serving certificate from the signing authority.
    Issue,
    /// A new authority, to be trusted before it signs.
    Announce {
        /// Authorities that registrations trust and the Secret no longer knows.
        carry: Vec<Trusted>,
    },
    /// Every registration trusts the next authority: the settling begins.
    Confirm,
    /// A registration trusts it no longer: the settling begins anew later.
    Doubt,
    /// The next authority becomes the signing one, with a serving certificate of its own.
    Promote,
    /// These retired authorities need no trust any more.
    Forget {
        /// Which.
        retired: Vec<Fingerprint>,
    },
}

impl Step {
    /// For logs and metrics.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Rest { .. } => "rest",
            Self::Issue => "issue",
            Self::Announce { .. } => "announce",
            Self::Confirm => "confirm",
            Self::Doubt => "doubt",
            Self::Promote => "promote",
            Self::Forget { .. } => "forget",
        }
    }
}

/// One `caBundle` that is ours, as it was read. One that cannot be read is an empty one, so that nothing is
/// promoted past it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) trusted: Vec<Trusted>,
    /// The API server did not let us write it: waiting for it may be waiting for ever.
    pub(crate) is_refused: bool,
}

impl Seen {
    fn has(&self, authority: &Authority) -> bool {
        self.trusted.iter().any(|trusted| trusted.id == authority.trusted.id)
    }
}

pub(crate) fn decide(
    state: &State,
    bundles: &[Seen],
    names: &BTreeSet<String>,
    lifetimes: &Lifetimes,
    now: Timestamp,
) -> Step {
    let signing = alive(state.signing.as_ref(), now);
    let next = alive(state.next.as_ref(), now);

    if let Some(signing) = signing
        && needs_issue(state.serving.as_ref(), signing, names, lifetimes, now)
    {
        return Step::Issue;
    }
    let mut wake: Vec<Timestamp> = Vec::new();
    match (signing, next) {
        (None, None) => return Step::Announce { carry: unknown(state, bundles, now) },
        (Some(signing), None) if now >= signing.trusted.validity.due() => {
            return Step::Announce { carry: Vec::new() };
        }
        (Some(signing), None) => wake.push(signing.trusted.validity.due()),
        (_, Some(next)) => {
            // With no other authority alive nobody is served by anything: no settling, and no waiting for a
            // registration that we may not write.
            let is_alone =
                signing.is_none() && state.retired.iter().all(|retired| retired.validity.is_over(now));
            if is_alone && bundles.iter().all(|seen| seen.is_refused || seen.has(next)) {
                return Step::Promote;
            }
            let everywhere = bundles.iter().all(|seen| seen.has(next));
            match (everywhere, state.next_trusted_since) {
                (true, None) => return Step::Confirm,
                (false, Some(_)) => return Step::Doubt,
                (false, None) => {}
                (true, Some(since)) => {
                    let settled = since.checked_add(lifetimes.settling).unwrap_or(Timestamp::MAX);
                    // Seen later than now: a clock was set back, or another replica's is ahead.
                    if now >= settled {
                        return Step::Promote;
                    }
                    wake.push(settled);
                }
            }
        }
    }

    let (retired, kept): (Vec<_>, Vec<_>) =
        state.retired.iter().partition(|retired| is_forgettable(state, retired, now));
    if !retired.is_empty() {
        return Step::Forget { retired: retired.into_iter().map(|retired| retired.id).collect() };
    }
    wake.extend(kept.iter().map(|retired| retired.validity.until));
    wake.extend(state.retired_until.filter(|_| !kept.is_empty()));
    wake.extend(state.serving.as_ref().map(|leaf| leaf.validity.due()));
    wake.extend(signing.map(|authority| authority.trusted.validity.until));
    Step::Rest { until: wake.into_iter().filter(|moment| *moment > now).min() }
}

/// The names a new certificate is for. One that is not due keeps its names: during a rolling update that renames
/// the Service, old and new replicas would otherwise replace each other's certificate for ever.
pub(crate) fn names_to_issue(state: &State, names: &BTreeSet<String>, now: Timestamp) -> BTreeSet<String> {
    let kept = state.serving.as_ref().filter(|leaf| now < leaf.validity.due()).map(|leaf| &leaf.names);
    names.iter().chain(kept.into_iter().flatten()).cloned().collect()
}

fn alive(authority: Option<&Authority>, now: Timestamp) -> Option<&Authority> {
    authority.filter(|authority| !authority.trusted.validity.is_over(now))
}

fn needs_issue(
    serving: Option<&Leaf>,
    signing: &Authority,
    names: &BTreeSet<String>,
    lifetimes: &Lifetimes,
    now: Timestamp,
) -> bool {
    let Some(leaf) = serving else { return true };
    if leaf.issuer != signing.trusted.id || !leaf.names.is_superset(names) {
        return true;
    }
    // A certificate ends with its authority at the latest. Where a rotation is stuck, issuing again would gain
    // nothing, faster and faster as the end comes near.
    let end = now.checked_add(lifetimes.serving).unwrap_or(Timestamp::MAX);
    let gains = end.min(signing.trusted.validity.until) > leaf.validity.until;
    now >= leaf.validity.due() && gains
}

fn unknown(state: &State, bundles: &[Seen], now: Timestamp) -> Vec<Trusted> {
    let mut carry: Vec<Trusted> = Vec::new();
    for trusted in bundles.iter().flat_map(|seen| &seen.trusted) {
        let is_known = state.trusted().chain(&carry).any(|known| known.id == trusted.id);
        if !is_known && !trusted.validity.is_over(now) && carry.len() < CARRIED {
            carry.push(trusted.clone());
        }
    }
    carry
}

fn is_forgettable(state: &State, retired: &Trusted, now: Timestamp) -> bool {
    let in_service = state.serving.as_ref().is_some_and(|leaf| leaf.issuer == retired.id);
    retired.validity.is_over(now) || (state.retired_until.is_some_and(|until| now >= until) && !in_service)
}
