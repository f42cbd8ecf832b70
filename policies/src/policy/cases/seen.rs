//! What each validation and each mutation came to over many cases.

use std::collections::BTreeMap;

use super::run::Ran;
use crate::policy::judged::Decision;
use crate::policy::set::{Kind, PolicySet};

/// What was seen of every validation and mutation of a set.
#[derive(Debug, Default)]
pub struct Seen {
    both: BTreeMap<(Kind, String, usize), Both>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Both {
    held: bool,
    broken: bool,
}

/// One of the two things that can come of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A validation holds; a mutation changes the object.
    True,
    /// A validation does not hold; a mutation leaves the object as it is.
    False,
}

/// What no case has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// What the policy does.
    pub kind: Kind,
    /// Its name.
    pub policy: String,
    /// The file it is in.
    pub file: String,
    /// The line of the expression, from 1.
    pub line: usize,
    /// The number of the validation or mutation in the policy, from 0.
    pub number: usize,
    /// The expression.
    pub expression: String,
    /// What did not come of it.
    pub side: Side,
}

impl Seen {
    /// Takes in what came of one case.
    pub fn note(&mut self, ran: &Ran) {
        for Decision { policy, number, held } in &ran.validations {
            let both = self.both.entry((Kind::Validating, policy.to_string(), *number)).or_default();
            both.held |= *held == Some(true);
            both.broken |= *held == Some(false);
        }
        // A mutation that runs again because of what it changed itself has not left the object as it was.
        let mut changed: BTreeMap<(&str, usize), bool> = BTreeMap::new();
        for Decision { policy, number, held } in &ran.mutations {
            if let Some(held) = held {
                *changed.entry((policy, *number)).or_default() |= *held;
            }
        }
        for ((policy, number), changed) in changed {
            let both = self.both.entry((Kind::Mutating, policy.to_owned(), number)).or_default();
            both.held |= changed;
            both.broken |= !changed;
        }
    }

    /// What has not been seen, in the order of the policies.
    #[must_use]
    pub fn missing(&self, set: &PolicySet) -> Vec<Unseen> {
        let mut missing = Vec::new();
        for policy in set.policies() {
            for (number, stated) in policy.expressions.iter().enumerate() {
                let key = (policy.kind, policy.name.clone(), number);
                let Both { held, broken } = self.both.get(&key).copied().unwrap_or_default();
                let sides = [(held, Side::True), (broken, Side::False)];
                missing.extend(sides.into_iter().filter(|(seen, _)| !seen).map(|(_, side)| Unseen {
                    kind: policy.kind,
                    policy: policy.name.clone(),
                    file: policy.file.clone(),
                    line: stated.line,
                    number,
                    expression: stated.text.clone(),
                    side,
                }));
            }
        }
        missing
    }
}
