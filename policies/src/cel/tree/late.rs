//! The part of every object that is largest and that hardly any expression looks at: who manages which field.

use std::sync::OnceLock;

use super::Tree;

/// Where it is, in the metadata of an object.
pub(super) const FIELD: &str = "managedFields";

/// A value that is well-formed, and not read before somebody looks at it.
#[derive(Debug)]
pub(crate) struct Late<'a> {
    text: &'a str,
    tree: OnceLock<Option<Tree<'static>>>,
}

impl<'a> Late<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, tree: OnceLock::new() }
    }

    /// The value; nothing if it holds a number that no number can be.
    pub(crate) fn tree(&self) -> Option<&Tree<'static>> {
        self.tree.get_or_init(|| Tree::parse(self.text).ok().map(Tree::into_owned)).as_ref()
    }

    /// The same, borrowing nothing.
    pub(super) fn into_owned(self) -> Late<'static> {
        self.tree();
        Late { text: "", tree: self.tree }
    }
}
