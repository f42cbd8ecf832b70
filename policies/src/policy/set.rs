//! Everything that was loaded, ready to judge.

use super::definition::{Action, MutatingPolicy, ValidatingPolicy};
use super::index::Index;
use super::load;
use super::params::{ParamKind, Params, WantedParams};
use super::problem::{Problem, SourceFile};
use super::request::RequestFields;
use super::surroundings::Extra;

/// All policies of a directory. It never changes; whoever judges by it holds it until done.
#[derive(Debug, Default)]
pub struct PolicySet {
    pub(crate) validating: Vec<ValidatingPolicy>,
    pub(crate) mutating: Vec<MutatingPolicy>,
    pub(crate) validating_index: Index,
    pub(crate) mutating_index: Index,
    /// What any expression looks at of a request.
    pub(crate) request_fields: RequestFields,
    pub(crate) params: Params,
    pub(crate) policies: Vec<Policy>,
    pub(crate) param_kinds: Vec<ParamKind>,
    pub(crate) wanted_params: Vec<WantedParams>,
    pub(crate) hash: String,
}

/// What was loaded, and what is worth knowing about it.
#[derive(Debug)]
pub struct Loaded {
    /// The policies.
    pub set: PolicySet,
    /// Warnings and notes, by file and place.
    pub problems: Vec<Problem>,
}

/// A policy, as tools list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: Kind,
    /// The file it is in.
    pub file: String,
    /// The line it begins at, from 1.
    pub line: usize,
    /// Its document, as it is written.
    pub text: String,
    /// Its bindings, by name.
    pub bindings: Vec<Bound>,
    /// What keeps it from being used in kube-apiserver, if anything.
    pub ours_only: Option<OursOnly>,
    /// The expressions of its validations or mutations, in their order.
    pub expressions: Vec<Stated>,
    /// What judging one object by it can cost at most, for each binding and param. Only [`PolicySet::check`] finds out.
    pub cost: Option<u64>,
}

/// An expression, as tools list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// As it is written.
    pub text: String,
    /// The line it begins at, from 1.
    pub line: usize,
}

/// A binding, as tools list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Its name.
    pub name: String,
    /// The file it is in.
    pub file: String,
    /// The line it begins at, from 1.
    pub line: usize,
    /// What happens when a validation does not hold; none of a policy that mutates.
    pub actions: Vec<Action>,
}

/// What a policy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It denies, warns or notes.
    Validating,
    /// It changes objects.
    Mutating,
}

/// Why a policy is ours only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OursOnly {
    /// What it looks at that Kubernetes does not have.
    pub extra: Extra,
    /// Line and column of the first use, from 1.
    pub place: (usize, usize),
}

impl PolicySet {
    /// Loads files, all or nothing.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them, warnings too, by file and place.
    pub fn load(files: &[SourceFile]) -> Result<Loaded, Vec<Problem>> {
        load::load(files, load::Care::Usual)
    }

    /// Loads files like [`PolicySet::load`], and looks closer: also warns of expressions that fit none of the kinds that
    /// their policy is about, and of those that can cost more than they may.
    ///
    /// # Errors
    ///
    /// As [`PolicySet::load`].
    pub fn check(files: &[SourceFile]) -> Result<Loaded, Vec<Problem>> {
        load::load(files, load::Care::Thorough)
    }

    /// What tells this set from any other: a hash over the names and texts of its files.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The policies, by name.
    #[must_use]
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// The kinds of params that have to be watched in the cluster, because a binding gives some that no file has.
    #[must_use]
    pub fn param_kinds(&self) -> &[ParamKind] {
        &self.param_kinds
    }

    /// The same with where they are: each kind everywhere, or in the namespaces that bindings name.
    #[must_use]
    pub fn wanted_params(&self) -> &[WantedParams] {
        &self.wanted_params
    }
}
