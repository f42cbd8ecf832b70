//! Does what was planned for a team.

use super::plan::{Access, Plan};
use crate::frame::child::Step;
use crate::frame::{Error, Hand};
use crate::known::Known;

/// How far it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The namespace is as it should be.
    pub namespace: bool,
    /// And so is what members may do.
    pub access: bool,
}

pub(super) async fn apply(
    known: &Known,
    plan: &Plan,
    hand: &Hand,
    applied: &mut Applied,
) -> Result<(), Error> {
    match plan {
        Plan::Wait { .. } => {}
        Plan::Stay { namespace, access } => {
            let Ok(namespace) = namespace else { return Ok(()) };
            hand.carry_out(namespace, &known.namespaces).await?;
            applied.namespace = true;
            give_access(known, access, hand).await?;
            applied.access = true;
        }
        Plan::Clear { cluster_bindings, cluster_roles, namespace, going_since: _ } => {
            for step in cluster_bindings {
                hand.carry_out(step, &known.cluster_role_bindings).await?;
            }
            for step in cluster_roles {
                hand.carry_out(step, &known.cluster_roles).await?;
            }
            if let Some(step) = namespace {
                hand.carry_out(step, &known.namespaces).await?;
            }
        }
    }
    Ok(())
}

/// First whatever takes access away, then roles before what binds them: nobody may bind what they could not give.
async fn give_access(known: &Known, access: &Access, hand: &Hand) -> Result<(), Error> {
    let Access { roles, bindings, cluster_roles, cluster_bindings, in_the_way: _ } = access;
    for step in cluster_bindings.iter().filter(|step| is_removal(step)) {
        hand.carry_out(step, &known.cluster_role_bindings).await?;
    }
    for step in bindings.iter().filter(|step| is_removal(step)) {
        hand.carry_out(step, &known.role_bindings).await?;
    }
    for step in roles {
        hand.carry_out(step, &known.roles).await?;
    }
    for step in bindings.iter().filter(|step| !is_removal(step)) {
        hand.carry_out(step, &known.role_bindings).await?;
    }
    for step in cluster_roles {
        hand.carry_out(step, &known.cluster_roles).await?;
    }
    for step in cluster_bindings.iter().filter(|step| !is_removal(step)) {
        hand.carry_out(step, &known.cluster_role_bindings).await?;
    }
    Ok(())
}

fn is_removal<L>(step: &Step<L>) -> bool {
    matches!(step, Step::Remove(_))
}
