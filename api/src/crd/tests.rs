//! What every generated definition must hold, and that nothing upstream or in the documents is refused.

use super::*;

#[test]
fn every_kind_is_generated() {
    assert_eq!(all().len(), 11);
}
