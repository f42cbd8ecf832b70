//! What is served: one table for the router, for discovery, for OpenAPI and for rights, so that none can forget the other.

use schemars::{Schema, SchemaGenerator};

use super::table::Column;
use super::{policies, reviews};

/// One resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    pub(super) plural: &'static str,
    pub(super) singular: &'static str,
    pub(super) kind: &'static str,
    pub(super) is_namespaced: bool,
    /// In the order of the alphabet, as discovery shows them.
    pub(super) verbs: &'static [&'static str],
    /// What it is, for OpenAPI.
    pub(super) about: &'static str,
    /// How kubectl prints it.
    pub(super) columns: &'static [Column],
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
}

/// All of them, by name.
pub(super) const RESOURCES: &[Resource] = &[reviews::LOCAL, policies::RESOURCE, reviews::EVERYWHERE];

impl Resource {
    pub(super) fn named(plural: &str) -> Option<&'static Self> {
        RESOURCES.iter().find(|resource| resource.plural == plural)
    }

    pub(super) fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    pub(super) fn has(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_and_their_verbs_are_in_order() {
        assert!(RESOURCES.is_sorted_by_key(|resource| resource.plural));
        for resource in RESOURCES {
            assert!(resource.verbs.is_sorted(), "{}", resource.plural);
            assert_eq!(resource.singular, resource.kind.to_lowercase());
        }
    }
}
