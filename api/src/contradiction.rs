//! Two spellings of one setting that disagree.

/// A setting given twice, under its newer and its older name, with different meanings. The newer one would
/// win, but nobody who wrote both can have meant that, so admission refuses the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Path of the field to keep, from `spec` on.
    pub newer: &'static str,
    /// Path of the field to remove, from `spec` on.
    pub older: &'static str,
}
