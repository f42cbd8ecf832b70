//! Does what was planned for a team.
//!
//! What takes something away comes first, and waits for nothing: not for a namespace that is stuck, and not for another
//! child that cannot be written. Whoever is not a member any more, or less than before, must not keep what they had because
//! something else is wrong.

use std::fmt::Debug;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use serde::de::DeserializeOwned;

use super::plan::{Access, Plan};
use crate::frame::child::Step;
use crate::frame::{Cache, Error, Hand, Reachable};
use crate::known::Known;

/// How many children of one team are written at the same time. One that does not answer must not hold up the others.
const AT_ONCE: usize = 4;

/// How far it came. Nothing where nothing was tried.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// Whether the namespace is as it should be.
    pub namespace: Option<Result<(), Error>>,
    /// Whether what members may do is.
    pub access: Option<Result<(), Error>>,
}

pub(super) async fn apply(
    known: &Known,
    plan: &Plan,
    hand: &Hand,
    applied: &mut Applied,
) -> Result<(), Error> {
    match plan {
        Plan::Stay { namespace, access, .. } => {
            let taken = take_access(known, access, hand).await;
            let made = match namespace {
                // Members get their access once there is a namespace.
                Err(_) => Ok(()),
                Ok(namespace) => {
                    let done = hand.carry_out(namespace, &known.namespaces).await;
                    applied.namespace = Some(done.clone());
                    match done {
                        Ok(()) => give_access(known, access, hand).await,
                        Err(_) => Ok(()),
                    }
                }
            };
            let access = worst([taken, made]);
            applied.access = Some(access.clone());
            worst([access, applied.namespace.clone().unwrap_or(Ok(()))])
        }
        Plan::Unseen { access, error } => {
            let taken = take_access(known, access, hand).await;
            applied.access = Some(taken.clone());
            worst([taken, Err(error.clone())])
        }
        Plan::Clear { cluster_bindings, cluster_roles, namespace, going_since: _ } => {
            let mut firsts = Vec::new();
            set_right(&mut firsts, cluster_bindings, &known.cluster_role_bindings, hand);
            set_right(&mut firsts, cluster_roles, &known.cluster_roles, hand);
            let taken = all(firsts).await;
            applied.access = Some(taken.clone());
            if let Some(step) = namespace {
                applied.namespace = Some(hand.carry_out(step, &known.namespaces).await);
            }
            worst([taken, applied.namespace.clone().unwrap_or(Ok(()))])
        }
    }
}

/// Everything that is there and should not be, or not so.
async fn take_access(known: &Known, access: &Access, hand: &Hand) -> Result<(), Error> {
    let Access { roles, bindings, cluster_roles, cluster_bindings, in_the_way: _ } = access;
    let mut firsts = Vec::new();
    set_right(&mut firsts, bindings, &known.role_bindings, hand);
    set_right(&mut firsts, cluster_bindings, &known.cluster_role_bindings, hand);
    set_right(&mut firsts, roles, &known.roles, hand);
    set_right(&mut firsts, cluster_roles, &known.cluster_roles, hand);
    all(firsts).await
}

/// Everything that is not there yet: roles before what binds them, since nobody may bind what they could not give. One
/// that fails keeps no other from being made.
async fn give_access(known: &Known, access: &Access, hand: &Hand) -> Result<(), Error> {
    let Access { roles, bindings, cluster_roles, cluster_bindings, in_the_way: _ } = access;
    worst([
        make(roles, &known.roles, hand).await,
        make(bindings, &known.role_bindings, hand).await,
        make(cluster_roles, &known.cluster_roles, hand).await,
        make(cluster_bindings, &known.cluster_role_bindings, hand).await,
    ])
}

fn set_right<'a, L>(
    into: &mut Vec<BoxFuture<'a, Result<(), Error>>>,
    steps: &'a [Step<L>],
    cache: &'a Cache<L>,
    hand: &'a Hand,
) where
    L: Reachable + Clone + Debug + DeserializeOwned + Send + Sync,
{
    let due = steps.iter().filter(|step| !matches!(step, Step::Keep(_) | Step::Make(_)));
    into.extend(due.map(|step| hand.set_right(step, cache).boxed()));
}

async fn make<L>(steps: &[Step<L>], cache: &Cache<L>, hand: &Hand) -> Result<(), Error>
where
    L: Reachable + Clone + Debug + DeserializeOwned,
{
    let mut made = Ok(());
    for step in steps {
        made = worst([made, hand.make(step, cache).await]);
    }
    made
}

async fn all(writes: Vec<BoxFuture<'_, Result<(), Error>>>) -> Result<(), Error> {
    let mut written = stream::iter(writes).buffer_unordered(AT_ONCE);
    let mut result = Ok(());
    while let Some(one) = written.next().await {
        result = worst([result, one]);
    }
    result
}

/// Of several results the first that failed; that something was not the newest is the least of troubles.
fn worst<const COUNT: usize>(results: [Result<(), Error>; COUNT]) -> Result<(), Error> {
    let mut stale = Ok(());
    for result in results {
        match result {
            Err(error) if !error.is_stale() => return Err(error),
            Err(error) => stale = stale.and(Err(error)),
            Ok(()) => {}
        }
    }
    stale
}

#[cfg(test)]
mod tests {
    use butler_program::Failure;

    use super::*;

    #[test]
    fn what_is_not_only_stale_is_what_is_told() {
        let failed = |what: &str, label| Err(Error::api("apply", what, Failure::new(label, "no")));
        let shown = |it: Result<(), Error>| it.err().map(|error| error.to_string());
        assert_eq!(shown(worst([Ok(()), Ok(())])), None);
        let stale = || failed("A", Failure::CONFLICT);
        assert_eq!(shown(worst([Ok(()), stale()])).as_deref(), Some("cannot apply A: no"));
        let three = [stale(), failed("B", Failure::FORBIDDEN), failed("C", "ServerError")];
        assert_eq!(shown(worst(three)).as_deref(), Some("cannot apply B: no"));
    }
}
