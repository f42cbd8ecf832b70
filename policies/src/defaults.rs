//! What the user left out, one file per kind.
//!
//! A field that the user set is never touched. On an update, a field that is left out keeps its old value: a file that was
//! applied when the field still had another default must not change a running cluster.
//!
//! The user sees what was filled in as an annotation on the object, `butler.butlerlabs.dev/filled-in`. A warning would be
//! printed by every tool that creates clusters, where nothing is wrong, and would be gone with the terminal; the annotation is
//! there when somebody wonders where a value came from, and says nothing to those who do not.

pub mod patch;
pub mod team;
pub mod tenant_addon;
pub mod tenant_cluster;

use self::patch::Patch;
use crate::facts::FactKey;

/// The mutating stage's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// What to write into the object.
    pub patch: Patch,
    /// Objects that a default was looked for in and that are not known. A snapshot may lag behind, so these are read once
    /// more before the patch is given.
    pub missing: Vec<FactKey>,
}
