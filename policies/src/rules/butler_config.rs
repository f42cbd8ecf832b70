//! stub
use super::Case;
use crate::finding::Findings;
pub(super) fn check(_: &Case<'_, butler_api::ButlerConfig>, _: &mut Findings) {}
