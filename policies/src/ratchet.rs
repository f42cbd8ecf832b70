//! Lowering a limit, adding a policy or switching a mode never freezes what exists.
//!
//! Applied once, above the rules, so that no rule has to think of it:
//!
//! - An update that leaves alone everything a rule could look at passes unjudged: finalizers, owner references,
//!   labels and annotations of others. So does any update of an object that is being deleted.
//! - Any other update is denied only for what the object did not already have, or had less of. What it already had is
//!   found by judging the old object, as it stands, with the same rules and the same facts.

use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, NetworkPool, ProviderConfig, Team, TenantAddon,
    TenantCluster,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::finding::Finding;
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
    new.metadata().deletion_timestamp.is_some()
        || (old.same_spec(new) && own_keys(old.metadata()).eq(own_keys(new.metadata())))
}

/// Our own labels, then our own annotations. A key that moves from one to the other changes its place in the sequence
/// or its flag.
fn own_keys(metadata: &ObjectMeta) -> impl Iterator<Item = (bool, &String, &String)> {
    let labels = metadata.labels.iter().flatten().map(|(key, value)| (true, key, value));
    let annotations = metadata.annotations.iter().flatten().map(|(key, value)| (false, key, value));
    labels.chain(annotations).filter(|(_, key, _)| key.starts_with(OWN_KEYS))
}

/// Leaves out the denials that the old object, as `standing` judges it, deserves as well.
pub fn forgive(findings: Vec<Finding>, standing: impl FnOnce() -> Vec<Finding>) -> Vec<Finding> {
    if !findings.iter().any(Finding::denies) {
        return findings;
    }
    let before = standing();
    findings.into_iter().filter(|finding| !before.iter().any(|old| covers(old, finding))).collect()
}

/// Whether the old object already had that finding, or a worse one. Places in lists are ignored: removing the first of
/// two bad entries moves the second, and makes nothing worse.
fn covers(old: &Finding, new: &Finding) -> bool {
    if (old.rule, old.reason, old.severity) != (new.rule, new.reason, new.severity)
        || !without_places(&old.path).eq(without_places(&new.path))
    {
        return false;
    }
    match (old.measure, new.measure) {
        (Some(old), Some(new)) => new <= old,
        _ => old.message == new.message,
    }
}

fn without_places(path: &str) -> impl Iterator<Item = char> {
    path.chars().filter(|character| !character.is_ascii_digit() || !path.contains('['))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Fault;

    fn finding(path: &'static str, message: &str) -> Finding {
        Finding::deny(Fault::Invalid, "Reason", path, message)
    }

    #[test]
    fn what_the_old_object_already_had_is_forgiven() {
        let old = finding("spec.a", "same");
        assert_eq!(forgive(vec![old.clone()], || vec![old.clone()]), []);
        let other_value = finding("spec.a", "other");
        assert_eq!(forgive(vec![other_value.clone()], || vec![old.clone()]), [other_value]);
        let other_place = finding("spec.b", "same");
        assert_eq!(forgive(vec![other_place.clone()], || vec![old]), [other_place]);
    }

    #[test]
    fn a_measured_finding_is_forgiven_unless_it_gets_worse() {
        let at = |measure: i128| finding("spec.a", &measure.to_string()).measuring(measure);
        assert_eq!(forgive(vec![at(5)], || vec![at(9)]), []);
        assert_eq!(forgive(vec![at(9)], || vec![at(9)]), []);
        assert_eq!(forgive(vec![at(10)], || vec![at(9)]), [at(10)]);
    }

    #[test]
    fn places_in_lists_are_ignored() {
        let old = [finding("spec.list[0]", "a"), finding("spec.list[1]", "b")];
        assert_eq!(forgive(vec![finding("spec.list[0]", "b")], || old.to_vec()), []);
        let added = finding("spec.list[2]", "c");
        assert_eq!(forgive(vec![added.clone()], || old.to_vec()), [added]);
    }

    #[test]
    fn the_old_object_is_not_judged_when_nothing_is_denied() {
        let warning = Finding::warn("Old", "spec.a", "old");
        assert_eq!(forgive(vec![warning.clone()], || panic!("judged")), [warning]);
    }
}
