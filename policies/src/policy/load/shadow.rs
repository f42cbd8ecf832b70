//! Policies that say nothing, because another says all of it already.

use std::collections::HashSet;

use super::super::fields::Written;
use super::super::problem::Problems;
use super::super::read::{RawBinding, RawPolicy};
use super::super::set::Kind;
use super::check::Checked;
use super::{Bindings, named};

/// Warns of validating policies whose every validation is one of another policy, for the same requests and with at least
/// the same consequences. Whoever means to change a rule would have to change both.
pub(super) fn tell(checked: &Checked, problems: &mut Problems) {
    let is_validating = |policy: &&RawPolicy| policy.kind == Kind::Validating;
    let all: Vec<&RawPolicy> = checked.policies.iter().filter(is_validating).collect();
    for (place, policy) in all.iter().enumerate() {
        let other = all.iter().enumerate().find(|(other_place, other)| {
            // Of two that are the same, the second is told.
            *other_place != place
                && says_all_of(other, policy, &checked.bindings)
                && (*other_place < place || !says_all_of(policy, other, &checked.bindings))
        });
        if let Some((_, other)) = other {
            let message = format!(
                "{} says nothing that {} does not say, too",
                named(policy.kind, &policy.name.text),
                named(other.kind, &other.name.text)
            );
            problems.warn(&policy.name.place, "shadowed-policy", message, "remove one of them");
        }
    }
}

/// Whether whatever `policy` finds is found by `other`.
fn says_all_of(other: &RawPolicy, policy: &RawPolicy, bindings: &Bindings) -> bool {
    let kind = |policy: &RawPolicy| policy.param_kind.as_ref().map(|(kind, _)| kind.clone());
    let stated: HashSet<&str> = other.validations.iter().map(|one| &*one.expression.text).collect();
    !policy.validations.is_empty()
        && policy.audit_annotations.is_empty()
        && policy.matching == other.matching
        && policy.fails_open == other.fails_open
        && kind(policy) == kind(other)
        && same_texts(policy.conditions.iter(), other.conditions.iter())
        && same_texts(named_texts(&policy.variables), named_texts(&other.variables))
        && policy.validations.iter().all(|one| stated.contains(&*one.expression.text))
        && {
            let of = |policy: &RawPolicy| bindings.get(&(policy.kind, policy.name.text.to_string()));
            let (own, others) = (of(policy).into_iter().flatten(), || of(other).into_iter().flatten());
            let mut own = own.peekable();
            own.peek().is_some() && own.all(|own| others().any(|other| binds_all_of(other, own)))
        }
}

fn binds_all_of(other: &RawBinding, binding: &RawBinding) -> bool {
    let reference = |binding: &RawBinding| binding.param_ref.as_ref().map(|(reference, _)| reference.clone());
    binding.matching == other.matching
        && reference(binding) == reference(other)
        && binding.actions.iter().all(|action| other.actions.contains(action))
}

fn named_texts(variables: &[(Written, Written)]) -> impl Iterator<Item = &Written> {
    variables.iter().flat_map(|(name, expression)| [name, expression])
}

fn same_texts<'w>(one: impl Iterator<Item = &'w Written>, other: impl Iterator<Item = &'w Written>) -> bool {
    one.map(|written| &*written.text).eq(other.map(|written| &*written.text))
}

#[cfg(test)]
mod tests {
    use crate::policy::PolicySet;
    use crate::policy::fixtures::{FILE, files, told, tweaked};

    fn shadowed(second: &str) -> Vec<String> {
        let second = second.replace("few-workers", "other").replace("everywhere", "elsewhere");
        let files = files(&format!("{FILE}---\n{second}"));
        told(&PolicySet::check(&files).unwrap().problems, &files)
    }

    #[test]
    fn a_policy_that_repeats_another_is_told() {
        let expected = "26:9 warning shadowed-policy: ValidatingAdmissionPolicy `other` says nothing that \
                        ValidatingAdmissionPolicy `few-workers` does not say, too (remove one of them)";
        assert_eq!(shadowed(FILE), [expected]);
        let both = "  validations:\n  - expression: object.spec.workers.replicas >= 1";
        let wider = tweaked(FILE, "  validations:", both);
        assert!(shadowed(&wider)[0].starts_with("4:9 warning shadowed-policy"), "{:?}", shadowed(&wider));
    }

    #[test]
    fn a_policy_that_differs_is_not() {
        for (from, to) in [("<= 5", "<= 6"), ("[CREATE, UPDATE]", "[CREATE]"), ("[Deny]", "[Audit]")] {
            assert_eq!(shadowed(&tweaked(FILE, from, to)), Vec::<String>::new(), "{to}");
        }
    }
}
