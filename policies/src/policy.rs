//! Policies as files: Kubernetes' own ValidatingAdmissionPolicies and MutatingAdmissionPolicies, judged as Kubernetes
//! judges them.
//!
//! Follow a file by opening the modules in this order: `yaml` reads it with the place of every value, `fields` and
//! `read` make objects of it, `load` holds them against each other, `compile` makes programs of their expressions.
//! Follow a request: `index` finds the policies that may be about it, `matching` those that are, `params` what their
//! bindings give them, `evaluate` runs expressions, and `validate` says what they came to.

mod asked;
pub mod cases;
mod compile;
mod definition;
mod evaluate;
mod fields;
mod index;
mod inspect;
mod judged;
mod known;
mod load;
mod matching;
mod mutate;
mod mutation;
mod names;
mod params;
mod problem;
mod read;
mod request;
mod selector;
mod set;
mod surroundings;
pub mod trial;
mod validate;
mod yaml;

#[cfg(test)]
mod fixtures;

pub use asked::Asked;
pub use definition::{Action, Reason};
pub use judged::{Decision, Denial, Evaluation, Judged, Outcome, Warning};
pub use known::{Known, Shown};
pub use load::{LARGEST_FILE, LARGEST_LOAD, hash};
pub use mutate::{Completed, Mutated, Refusal, complete as complete_by_policies, mutate};
pub use mutation::{fill_definition_defaults, patched};
pub use params::{ParamKind, ParamScope, WantedParams};
pub use problem::{Problem, Severity, SourceFile};
pub use request::{Document, Request, complete, complete_namespace};
pub use set::{Bound, Kind, Loaded, OursOnly, Policy, PolicySet, Stated};
pub use surroundings::{Extra, Nothing, Surroundings};
pub(crate) use validate::validate_at_the_gate;
pub use validate::{VALIDATION_FAILURE, validate};
