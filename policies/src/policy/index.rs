//! Which policies may be about a request, without looking at the others.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::matching::{Matching, Operations};
use super::request::Request;
use crate::review::Operation;

/// Policies by number, in their order, for each operation.
type Numbers = [Vec<u32>; 4];

/// The policies by group, resource and operation.
#[derive(Debug, Default)]
pub(crate) struct Index {
    exact: HashMap<Box<str>, HashMap<Box<str>, Numbers, RandomState>, RandomState>,
    /// Those that name no group, or no resource.
    wide: Numbers,
}

impl Index {
    pub(crate) fn of<'a>(policies: impl Iterator<Item = &'a Matching>) -> Self {
        let mut index = Self::default();
        for (number, matching) in policies.enumerate() {
            let Ok(number) = u32::try_from(number) else { break };
            for rule in &matching.rules {
                for (resource, _) in &rule.resources {
                    for group in &rule.groups {
                        let numbers = if group == "*" || resource == "*" {
                            &mut index.wide
                        } else {
                            let resources = index.exact.entry(group.as_str().into()).or_default();
                            resources.entry(resource.as_str().into()).or_default()
                        };
                        add(numbers, rule.operations, number);
                    }
                }
            }
        }
        index
    }

    /// The policies whose rules may match, in their order.
    pub(crate) fn candidates(&self, request: &Request<'_>) -> impl Iterator<Item = usize> + use<'_> {
        let place = Operations::place(request.operation());
        let numbers = self.exact.get(request.group()).and_then(|resources| resources.get(request.resource()));
        let exact = numbers.and_then(|numbers| numbers.get(place));
        let (mut exact, mut wide) = (all(exact), all(self.wide.get(place)));
        std::iter::from_fn(move || {
            let next = match (exact.first(), wide.first()) {
                (Some(one), Some(other)) => *one.min(other),
                (one, other) => *one.or(other)?,
            };
            exact = if exact.first() == Some(&next) { exact.get(1..)? } else { exact };
            wide = if wide.first() == Some(&next) { wide.get(1..)? } else { wide };
            Some(next as usize)
        })
    }
}

fn all(numbers: Option<&Vec<u32>>) -> &[u32] {
    numbers.map_or(&[], Vec::as_slice)
}

fn add(numbers: &mut Numbers, operations: Operations, number: u32) {
    let all = [Operation::Create, Operation::Update, Operation::Delete, Operation::Connect];
    for operation in all.into_iter().filter(|operation| operations.has(*operation)) {
        if let Some(numbers) = numbers.get_mut(Operations::place(operation))
            && numbers.last() != Some(&number)
        {
            numbers.push(number);
        }
    }
}
