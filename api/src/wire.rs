//! How absence is read and written on the wire.

/// Whether a block carries nothing, so that it is left out when the object is written.
pub(crate) fn is_default<T: Default + PartialEq>(block: &T) -> bool {
    *block == T::default()
}

/// The text the user gave, if any. Clients written in Go send `""` for a field that was never set, so empty
/// text means absent everywhere.
pub(crate) fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}
