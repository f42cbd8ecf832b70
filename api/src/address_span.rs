//! Consecutive addresses, as users write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::{AddressError, AddressRange};

/// Consecutive addresses, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddressSpan {
    /// First address.
    pub start: String,
    /// Last address.
    pub end: String,
}

impl AddressSpan {
    /// Reads `first-last`; a text without a hyphen is a span of that one address. The addresses are not
    /// checked.
    pub fn parse(text: &str) -> Self {
        let (start, end) = text.split_once('-').unwrap_or((text, text));
        Self { start: start.trim().to_owned(), end: end.trim().to_owned() }
    }

    /// The addresses meant.
    pub fn range(&self) -> Result<AddressRange, AddressError> {
        AddressRange::parse_ends(&self.start, &self.end)
    }

    /// Whether both mean the same addresses, however they are written.
    pub fn agrees_with(&self, other: &Self) -> bool {
        match (self.range(), other.range()) {
            (Ok(own), Ok(others)) => own == others,
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_written_with_a_hyphen() {
        let span = |start: &str, end: &str| AddressSpan { start: start.into(), end: end.into() };
        assert_eq!(AddressSpan::parse("10.0.0.1-10.0.0.9"), span("10.0.0.1", "10.0.0.9"));
        assert_eq!(AddressSpan::parse("fd00::1 - fd00::9"), span("fd00::1", "fd00::9"));
        assert_eq!(AddressSpan::parse("10.0.0.1"), span("10.0.0.1", "10.0.0.1"));
    }

    #[test]
    fn spans_agree_when_they_mean_the_same_addresses() {
        let short = AddressSpan::parse("fd00::1-fd00::9");
        assert!(short.agrees_with(&AddressSpan::parse("fd00:0::1-fd00:0::9")));
        assert!(!short.agrees_with(&AddressSpan::parse("fd00::1-fd00::8")));
        assert!(AddressSpan::parse("here-there").agrees_with(&AddressSpan::parse("here - there")));
    }
}
