//! Policies and their bindings, compiled.

use std::sync::Arc;

use super::matching::Matching;
use super::params::{ParamKind, ParamRef};
use super::request::RequestFields;
use super::surroundings::Extra;
use crate::cel::{Composition, Program};

/// What is common to policies that validate and policies that mutate.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: Arc<str>,
    pub(crate) fails_open: bool,
    pub(crate) matching: Matching,
    pub(crate) param_kind: Option<ParamKind>,
    pub(crate) conditions: Vec<Expression>,
    pub(crate) variables: Composition,
    pub(crate) bindings: Vec<Binding>,
    /// What any of its expressions looks at.
    pub(crate) uses: Uses,
}

/// A ValidatingAdmissionPolicy.
#[derive(Debug)]
pub(crate) struct ValidatingPolicy {
    pub(crate) definition: Definition,
    pub(crate) validations: Vec<Validation>,
    pub(crate) audit_annotations: Vec<AuditAnnotation>,
}

/// A MutatingAdmissionPolicy.
#[derive(Debug)]
pub(crate) struct MutatingPolicy {
    pub(crate) definition: Definition,
    pub(crate) mutations: Vec<Mutation>,
    /// Whether it runs once more when a later one changed the object: `reinvocationPolicy: IfNeeded`.
    pub(crate) reinvokes: bool,
}

#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) expression: Expression,
    /// What is said when it does not hold, unless `message_expression` says something.
    pub(crate) message: String,
    pub(crate) message_expression: Option<Expression>,
    pub(crate) reason: Reason,
}

#[derive(Debug)]
pub(crate) struct AuditAnnotation {
    pub(crate) key: String,
    pub(crate) expression: Expression,
}

/// One of a policy's `mutations`.
#[derive(Debug)]
pub(crate) struct Mutation {
    pub(crate) patch: PatchType,
    pub(crate) expression: Expression,
}

/// What a mutation's expression makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    ApplyConfiguration,
    JsonPatch,
}

/// A binding of a policy.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) name: Arc<str>,
    pub(crate) matching: Option<Matching>,
    pub(crate) param_ref: Option<ParamRef>,
    pub(crate) actions: Vec<Action>,
}

/// What happens when a validation does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The request is denied.
    Deny,
    /// The user is warned.
    Warn,
    /// The audit log says so.
    Audit,
}

impl Action {
    /// As in `validationActions`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "Deny",
            Self::Warn => "Warn",
            Self::Audit => "Audit",
        }
    }
}

/// Why a request is denied, as Kubernetes tells it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the reason of its name")]
pub enum Reason {
    Forbidden,
    Invalid,
    RequestEntityTooLarge,
    /// Only for a namespace that is not there; no validation can have it.
    NotFound,
    /// Only for a mutation that leaves no object; no validation can have it.
    InternalError,
    /// Only for the mutation of a kind whose schema is not known; no validation can have it.
    ServiceUnavailable,
}

impl Reason {
    /// As in a status.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "Forbidden",
            Self::Invalid => "Invalid",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::NotFound => "NotFound",
            Self::InternalError => "InternalError",
            Self::ServiceUnavailable => "ServiceUnavailable",
        }
    }

    /// The code that goes with it.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Forbidden => 403,
            Self::Invalid => 422,
            Self::RequestEntityTooLarge => 413,
            Self::NotFound => 404,
            Self::InternalError => 500,
            Self::ServiceUnavailable => 503,
        }
    }
}

/// An expression, ready to run.
#[derive(Debug)]
pub(crate) struct Expression {
    /// As it is written.
    pub(crate) text: Arc<str>,
    pub(crate) program: Program,
}

/// The names that expressions see, by their places among the values that are bound.
pub(crate) const NAMES: [&str; 11] = [
    "object",
    "oldObject",
    "params",
    "request",
    "namespaceObject",
    "team",
    "config",
    "provider",
    "cluster",
    "usage",
    "variables",
];

pub(crate) const OBJECT: usize = 0;
pub(crate) const OLD_OBJECT: usize = 1;
pub(crate) const PARAMS: usize = 2;
pub(crate) const REQUEST: usize = 3;
pub(crate) const NAMESPACE: usize = 4;
pub(crate) const EXTRAS: usize = 5;
pub(crate) const VARIABLES: usize = 10;

/// Which of [`NAMES`] are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    names: u16,
    /// Of the request.
    pub(crate) fields: RequestFields,
}

impl Uses {
    pub(crate) fn of(program: &Program) -> Self {
        let names = (0..NAMES.len()).filter(|place| program.reads(*place));
        let fields =
            program.fields(REQUEST).map(|name| name.map_or(RequestFields::ALL, RequestFields::named));
        Self {
            names: names.fold(0, |names, place| names | 1 << place),
            fields: fields.fold(RequestFields::default(), RequestFields::and),
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { names: self.names | other.names, fields: self.fields.and(other.fields) }
    }

    pub(crate) fn has(self, place: usize) -> bool {
        self.names & 1 << place != 0
    }

    pub(crate) fn extras(self) -> impl Iterator<Item = Extra> {
        Extra::ALL.into_iter().filter(move |extra| self.has(EXTRAS + *extra as usize))
    }
}
