//! stub
use super::Case;
use crate::finding::Findings;
pub(super) fn check(_: &Case<'_, butler_api::AddonDefinition>, _: &mut Findings) {}
pub(super) fn protect(_: &crate::review::Review<'_>, _: &crate::facts::Facts, _: &mut Findings) {}
