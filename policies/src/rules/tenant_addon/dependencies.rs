//! What an addon waits for.

use std::collections::{HashMap, HashSet};

use butler_api::TenantAddon;
use butler_api::excerpt::excerpt;
use butler_api::reference::NsRef;

use super::super::{Case, name_of};
use super::cluster_of;
use crate::facts::FactKey;
use crate::finding::{Fault, Finding, Findings};

/// The addon that is waited for is not in the cluster.
const DEPENDENCY_NOT_FOUND: &str = "DependencyNotFound";
/// The addon waits for itself.
const CYCLE: &str = "Cycle";

pub(super) fn check(case: &Case<'_, TenantAddon>, findings: &mut Findings) {
    let own = case.object;
    if own.spec.depends_on.is_empty() {
        return;
    }
    let at = cluster_of(own);
    let siblings: HashMap<&str, &TenantAddon> = case
        .facts
        .addons_of_cluster(&at)
        .filter(|sibling| sibling.metadata.name != own.metadata.name)
        .map(|sibling| (name_of(&sibling.metadata), sibling))
        .collect();
    let sibling = |name: &str| siblings.get(name).copied();
    let waits_for = |name: &str| -> Vec<&str> {
        let sibling = sibling(name).into_iter();
        sibling.flat_map(|addon| &addon.spec.depends_on).map(|next| next.name.as_str()).collect()
    };
    for (place, dependency) in own.spec.depends_on.iter().enumerate() {
        let path = format!("spec.dependsOn[{place}].name");
        let name = dependency.name.as_str();
        let key = || FactKey::Addon(NsRef { name: name.to_owned(), namespace: at.namespace.clone() });
        if name == name_of(&own.metadata) {
            let message = format!("`{}` would wait for itself; remove it", excerpt(name));
            findings.invalid(CYCLE, path, message);
        } else if sibling(name).is_none() {
            let message = format!(
                "there is no TenantAddon `{}` for the cluster `{}`; create it first, or remove it here",
                excerpt(name),
                excerpt(&at.name)
            );
            findings
                .add(Finding::deny(Fault::NotFound, DEPENDENCY_NOT_FOUND, path, message).resting_on(key()));
        } else if let Some(chain) = way_back(name, name_of(&own.metadata), waits_for) {
            let message =
                format!("`{}` waits for this addon already ({chain}); remove one of the two", excerpt(name));
            findings.add(Finding::deny(Fault::Invalid, CYCLE, path, message).resting_on(key()));
        }
    }
}

/// How `from` comes to wait for `goal`, if it does. Each addon is visited once, so a cycle among others ends.
pub(in crate::rules) fn way_back<'a>(
    from: &'a str,
    goal: &str,
    waits_for: impl Fn(&str) -> Vec<&'a str>,
) -> Option<String> {
    let mut visited = HashSet::from([from]);
    let mut open = vec![(from, format!("`{}`", excerpt(from)))];
    while let Some((name, chain)) = open.pop() {
        for next in waits_for(name) {
            let chain = format!("{chain} waits for `{}`", excerpt(next));
            if next == goal {
                return Some(chain);
            }
            if visited.insert(next) {
                open.push((next, chain));
            }
        }
    }
    None
}
