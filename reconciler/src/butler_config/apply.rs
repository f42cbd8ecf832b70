//! Does what was planned for the platform.

use super::plan::{DefaultNamespace, Plan};
use crate::frame::{Error, Hand};
use crate::known::Known;

/// How far it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The default namespace is as it should be.
    pub namespace: bool,
}

pub(super) async fn apply(
    known: &Known,
    plan: &Plan,
    hand: &Hand,
    applied: &mut Applied,
) -> Result<(), Error> {
    if let DefaultNamespace::Ours(step) = &plan.namespace {
        hand.carry_out(step, &known.namespaces).await?;
        applied.namespace = true;
    }
    Ok(())
}
