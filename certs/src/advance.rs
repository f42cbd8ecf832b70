//! Carries a [`Step`] out on a state. Keys come from a [`Mint`], so that a search over many states need not make
//! any.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::decide::{Step, names_to_issue};
use crate::settings::Lifetimes;
use crate::state::{Authority, Leaf, State};

/// Makes keys and certificates.
pub(crate) trait Mint {
    type Error;

    fn authority(&mut self, now: Timestamp) -> Result<Authority, Self::Error>;

    /// A certificate that ends with its authority at the latest.
    fn leaf(
        &mut self,
        signer: &Authority,
        names: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<Leaf, Self::Error>;
}

/// The state after the step. A step that does not fit the state changes nothing.
pub(crate) fn advance<M: Mint>(
    mut state: State,
    step: &Step,
    names: &BTreeSet<String>,
    lifetimes: &Lifetimes,
    now: Timestamp,
    mint: &mut M,
) -> Result<State, M::Error> {
    match step {
        Step::Rest { .. } => {}
        Step::Issue => {
            let names = names_to_issue(&state, names, now);
            if let Some(signing) = &state.signing {
                state.serving = Some(mint.leaf(signing, &names, now)?);
            }
        }
        Step::Announce { carry } => {
            // An authority that ended signs no more, and nothing of it is valid.
            state.signing.take_if(|authority| authority.trusted.validity.is_over(now));
            state.retired.extend(carry.iter().cloned());
            if state.signing.is_none() && !state.retired.is_empty() {
                // Whose certificates these are is not known: they may be as long as ours are.
                let until = now.checked_add(lifetimes.serving).unwrap_or(Timestamp::MAX);
                let served = state.serving.as_ref().map(|leaf| leaf.validity.until);
                state.retired_until = state.retired_until.max(served).max(Some(until));
            }
            state.next = Some(mint.authority(now)?);
            state.next_trusted_since = None;
        }
        Step::Confirm => state.next_trusted_since = Some(now),
        Step::Doubt => state.next_trusted_since = None,
        Step::Promote => {
            let Some(next) = state.next.take() else { return Ok(state) };
            let names = names_to_issue(&state, names, now);
            state.serving = Some(mint.leaf(&next, &names, now)?);
            state.next_trusted_since = None;
            if let Some(old) = state.signing.replace(next) {
                // No certificate outlives its authority, so that end is the end of its last certificate, also
                // of one made under other settings. The key is dropped here: it has nothing left to sign.
                state.retired_until = state.retired_until.max(Some(old.trusted.validity.until));
                state.retired.push(old.trusted);
            }
        }
        Step::Forget { retired } => {
            state.retired.retain(|kept| !retired.contains(&kept.id));
            if state.retired.is_empty() {
                state.retired_until = None;
            }
        }
    }
    Ok(state)
}
