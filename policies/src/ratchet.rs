//! Lowering a limit, adding a policy or switching a mode never freezes what exists.
//!
//! Applied once, above the rules, so that no rule has to think of it:
//!
//! - An update that leaves alone everything a rule could look at passes unjudged: finalizers, owner references,
//!   labels and annotations of others. So does any update of an object that is being deleted.
//! - Any other update is denied only for what the object did not already have, or had less of. What it already had is
//!   found by judging the old object, as it stands, with the same rules and the same facts.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, NetworkPool, ProviderConfig, Team, TenantAddon,
    TenantCluster,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::finding::{Finding, Found};
use crate::review::Change;

/// The prefix of the labels and annotations that rules look at.
const OWN_KEYS: &str = "butler.butlerlabs.dev/";

/// An object of which two versions can be compared.
pub trait Ratcheted {
    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;
    /// Whether both ask for the same.
    fn same_spec(&self, other: &Self) -> bool;
}

macro_rules! ratcheted {
    ($($kind:ident),*) => {$(
        impl Ratcheted for $kind {
            fn metadata(&self) -> &ObjectMeta {
                &self.metadata
            }
            fn same_spec(&self, other: &Self) -> bool {
                self.spec == other.spec
            }
        }
    )*};
}

ratcheted!(
    TenantCluster,
    TenantAddon,
    Team,
    ButlerConfig,
    ProviderConfig,
    NetworkPool,
    AddonDefinition,
    ClusterCreationPolicy
);

/// Whether a change is nothing to judge: the object is on its way out, or nothing changes that a rule looks at.
pub fn passes<T: Ratcheted>(change: &Change<T>) -> bool {
    let Change::Update { old, new } = change else { return false };
    new.metadata().deletion_timestamp.is_some() || is_same(old, new)
}

/// Whether nothing is changed that a rule looks at.
pub fn is_same<T: Ratcheted>(old: &T, new: &T) -> bool {
    old.same_spec(new) && own_keys(old.metadata()).eq(own_keys(new.metadata()))
}

/// Our own labels, then our own annotations. A key that moves from one to the other changes its place in the sequence
/// or its flag.
fn own_keys(metadata: &ObjectMeta) -> impl Iterator<Item = (bool, &String, &String)> {
    let labels = metadata.labels.iter().flatten().map(|(key, value)| (true, key, value));
    let annotations = metadata.annotations.iter().flatten().map(|(key, value)| (false, key, value));
    labels.chain(annotations).filter(|(_, key, _)| key.starts_with(OWN_KEYS))
}

/// Leaves out what the old object, as `standing` judges it, deserves as well. Of what was too much to keep nobody can say
/// that any more, so then the change is judged once more, by `again`, which leaves it out as it comes.
pub fn forgive(
    mut found: Found,
    standing: impl FnOnce() -> Standing,
    again: impl FnOnce(Standing) -> Found,
) -> Found {
    if !found.denies() {
        return found;
    }
    let before = standing();
    if found.more_denials + found.more_warnings > 0 {
        return again(before);
    }
    found.kept.retain(|finding| !before.covers(finding));
    found
}

/// What was wrong with an object before a change: all of it, and little of each, because an object that predates a rule may
/// have any number of findings.
#[derive(Debug, Default)]
pub struct Standing {
    /// By rule, reason, field and message. Numbers that nobody outside can foresee stand for the texts.
    found: HashSet<u64>,
    /// By rule, reason and field, the worst.
    measured: HashMap<u64, i128>,
    numbers: RandomState,
}

impl Standing {
    /// Takes a finding of the old object.
    pub fn remember(&mut self, finding: &Finding) {
        match finding.measure {
            Some(measure) => {
                let worst = self.measured.entry(self.numbers.hash_one(field(finding))).or_insert(measure);
                *worst = measure.max(*worst);
            }
            None => {
                self.found.insert(self.numbers.hash_one((field(finding), &finding.message)));
            }
        }
    }

    /// Whether the old object already had that finding, or a worse one. Places in lists are ignored: removing the first
    /// of two bad entries moves the second, and makes nothing worse.
    pub fn covers(&self, finding: &Finding) -> bool {
        match finding.measure {
            Some(_) if self.measured.is_empty() => false,
            None if self.found.is_empty() => false,
            Some(measure) => self
                .measured
                .get(&self.numbers.hash_one(field(finding)))
                .is_some_and(|worst| measure <= *worst),
            None => self.found.contains(&self.numbers.hash_one((field(finding), &finding.message))),
        }
    }
}

fn field(finding: &Finding) -> (&'static str, &'static str, bool, String) {
    (finding.rule, finding.reason, finding.denies(), without_places(&finding.path).collect())
}

fn without_places(path: &str) -> impl Iterator<Item = char> {
    path.chars().filter(|character| !character.is_ascii_digit() || !path.contains('['))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Fault, Findings};

    fn finding(path: &'static str, message: &str) -> Finding {
        Finding::deny(Fault::Invalid, "Reason", path, message)
    }

    fn forgiven(findings: Vec<Finding>, before: impl FnOnce() -> Vec<Finding>) -> Vec<Finding> {
        let standing = || standing_of(before());
        forgive(findings.into(), standing, |_| panic!("judged again")).kept
    }

    fn standing_of(before: Vec<Finding>) -> Standing {
        let mut findings = Findings::before();
        before.into_iter().for_each(|finding| findings.add(finding));
        findings.into_standing()
    }

    #[test]
    fn what_the_old_object_already_had_is_forgiven() {
        let old = finding("spec.a", "same");
        assert_eq!(forgiven(vec![old.clone()], || vec![old.clone()]), []);
        let other_value = finding("spec.a", "other");
        assert_eq!(forgiven(vec![other_value.clone()], || vec![old.clone()]), [other_value]);
        let other_place = finding("spec.b", "same");
        assert_eq!(forgiven(vec![other_place.clone()], || vec![old]), [other_place]);
    }

    #[test]
    fn a_measured_finding_is_forgiven_unless_it_gets_worse() {
        let at = |measure: i128| finding("spec.a", &measure.to_string()).measuring(measure);
        assert_eq!(forgiven(vec![at(5)], || vec![at(9)]), []);
        assert_eq!(forgiven(vec![at(9)], || vec![at(9)]), []);
        assert_eq!(forgiven(vec![at(10)], || vec![at(9)]), [at(10)]);
    }

    #[test]
    fn places_in_lists_are_ignored() {
        let old = [finding("spec.list[0]", "a"), finding("spec.list[1]", "b")];
        assert_eq!(forgiven(vec![finding("spec.list[0]", "b")], || old.to_vec()), []);
        let added = finding("spec.list[2]", "c");
        assert_eq!(forgiven(vec![added.clone()], || old.to_vec()), [added]);
    }

    #[test]
    fn the_old_object_is_not_judged_when_nothing_is_denied() {
        let warning = Finding::warn("Old", "spec.a", "old");
        assert_eq!(forgiven(vec![warning.clone()], || panic!("judged")), [warning]);
    }

    /// An object with more findings than are kept is neither frozen, nor gets away with one more.
    #[test]
    fn what_is_not_kept_is_forgiven_and_denied_like_the_rest() {
        let many: Vec<Finding> = (0..5000).map(|at| finding("spec.list[0]", &at.to_string())).collect();
        let judged = |findings: &[Finding], mut into: Findings| {
            findings.iter().cloned().for_each(|finding| into.add(finding));
            into.into_found()
        };
        let of_update = |old: &[Finding], new: &[Finding]| {
            let again = |standing| judged(new, Findings::forgiving(standing));
            forgive(judged(new, Findings::default()), || standing_of(old.to_vec()), again)
        };
        assert_eq!(of_update(&many, &many), Found::default());
        let worse = [many.clone(), vec![finding("spec.list[1]", "worse")]].concat();
        assert_eq!(of_update(&many, &worse).kept, [finding("spec.list[1]", "worse")]);
        let found = of_update(&[], &many);
        assert_eq!((found.kept.len(), found.more_denials, found.more_warnings), (1000, 4000, 0));
        // Warnings take no denial's place.
        let warnings = vec![Finding::warn("Old", "spec.a", "old"); 5000];
        let found = judged(&[warnings, vec![finding("spec.b", "bad")]].concat(), Findings::default());
        assert!(found.denies());
        assert_eq!((found.kept.len(), found.more_denials, found.more_warnings), (1001, 0, 4000));
    }
}
