//! What a rule found.

use std::borrow::Cow;

use crate::facts::{FactKey, FactKind};
use crate::ratchet::Standing;

/// One thing that is wrong, or worth knowing, about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule found it: the name of the rule's file, and a metric label.
    pub rule: &'static str,
    /// Why, as one CamelCase word out of few: a metric label.
    pub reason: &'static str,
    /// Whether it stops the change.
    pub severity: Severity,
    /// What kind of mistake it is, as Kubernetes tells them apart.
    pub fault: Fault,
    /// The field, from the root of the object on.
    pub path: Cow<'static, str>,
    /// What is wrong with the actual value, what is allowed, and what to do. It begins behind the field's path.
    pub message: String,
    /// How bad it is, where that is a matter of more or less: an update that leaves it as bad, or makes it
    /// better, passes.
    pub measure: Option<i128>,
    /// The objects, present or missing, that it rests on.
    pub rests_on: Vec<FactKey>,
}

/// Whether a finding stops the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The change is denied.
    Deny,
    /// The change passes and the user is told.
    Warn,
}

/// The kinds of mistakes that Kubernetes tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The value is wrong.
    Invalid,
    /// There has to be a value.
    Required,
    /// The value is none of those there are.
    NotSupported,
    /// What the value refers to does not exist.
    NotFound,
    /// The value is taken.
    Duplicate,
    /// The value is fine, but not for this caller, team or object.
    Forbidden,
}

impl Fault {
    /// The word that `status.details.causes` has for it.
    pub fn cause(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Required => "FieldValueRequired",
            Self::NotSupported => "FieldValueNotSupported",
            Self::NotFound => "FieldValueNotFound",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
        }
    }
}

impl Finding {
    /// A finding that denies.
    pub fn deny(
        fault: Fault,
        reason: &'static str,
        path: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            rule: "",
            reason,
            severity: Severity::Deny,
            fault,
            path: path.into(),
            message: message.into(),
            measure: None,
            rests_on: Vec::new(),
        }
    }

    /// A finding that only warns.
    pub fn warn(
        reason: &'static str,
        path: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warn, ..Self::deny(Fault::Invalid, reason, path, message) }
    }

    /// It rests on that object, present or missing.
    pub fn resting_on(mut self, fact: FactKey) -> Self {
        self.rests_on.push(fact);
        self
    }

    /// How bad it is.
    pub fn measuring(mut self, measure: impl Into<i128>) -> Self {
        self.measure = Some(measure.into());
        self
    }

    /// Whether it stops the change.
    pub fn denies(&self) -> bool {
        self.severity == Severity::Deny
    }
}

/// How many denials, and how many warnings, are kept of one object. Nobody reads more, and each takes memory.
const MOST_KEPT: usize = 1000;

/// What the rules found so far.
#[derive(Debug, Default)]
pub struct Findings {
    rule: &'static str,
    found: Found,
    forgiven: Standing,
    /// Whether what is found goes to `forgiven`.
    is_before: bool,
}

/// What was found, and how much more than is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In the order of the rules. While there is any denial there is one here.
    pub kept: Vec<Finding>,
    /// Denials that are not kept.
    pub more_denials: usize,
    /// Warnings that are not kept.
    pub more_warnings: usize,
}

impl Found {
    /// Whether anything stops the change.
    pub fn denies(&self) -> bool {
        self.kept.iter().any(Finding::denies)
    }

    fn add(&mut self, finding: Finding) {
        let denies = finding.denies();
        let more = if denies { &mut self.more_denials } else { &mut self.more_warnings };
        // Once there is one too many, all that follow are.
        let is_full = *more > 0
            || self.kept.len() >= MOST_KEPT
                && self.kept.iter().filter(|kept| kept.denies() == denies).take(MOST_KEPT).count()
                    == MOST_KEPT;
        if is_full {
            *more += 1;
        } else {
            self.kept.push(finding);
        }
    }
}

impl From<Vec<Finding>> for Found {
    fn from(kept: Vec<Finding>) -> Self {
        Self { kept, ..Self::default() }
    }
}

impl Findings {
    /// Takes what is wrong with an object before a change.
    pub(crate) fn before() -> Self {
        Self { is_before: true, ..Self::default() }
    }

    /// Leaves out what was wrong before.
    pub(crate) fn forgiving(forgiven: Standing) -> Self {
        Self { forgiven, ..Self::default() }
    }

    /// What follows was found by that rule.
    pub(crate) fn of_rule(&mut self, rule: &'static str) {
        self.rule = rule;
    }

    /// Adds a finding.
    pub fn add(&mut self, finding: Finding) {
        let finding = Finding { rule: self.rule, ..finding };
        if self.is_before {
            self.forgiven.remember(&finding);
        } else if !self.forgiven.covers(&finding) {
            self.found.add(finding);
        }
    }

    /// The value at that field is wrong.
    pub fn invalid(
        &mut self,
        reason: &'static str,
        path: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) {
        self.add(Finding::deny(Fault::Invalid, reason, path, message));
    }

    /// That field may not be set, or not like this, by this caller or for this object.
    pub fn forbidden(
        &mut self,
        reason: &'static str,
        path: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) {
        self.add(Finding::deny(Fault::Forbidden, reason, path, message));
    }

    /// The user should know something about that field.
    pub fn warn(
        &mut self,
        reason: &'static str,
        path: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) {
        self.add(Finding::warn(reason, path, message));
    }

    /// Nobody can say whether that object exists. Not knowing denies; trying again is all a user can do.
    pub fn unknown(&mut self, path: impl Into<Cow<'static, str>>, fact: FactKey) {
        let message = format!(
            "the {fact} cannot be read at the moment; try again, and tell the platform's administrators if it stays so"
        );
        self.add(Finding::deny(Fault::Invalid, "Unknown", path, message).resting_on(fact));
    }

    /// Nobody can say which objects of that kind there are.
    pub fn unknown_kind(&mut self, path: impl Into<Cow<'static, str>>, kind: FactKind) {
        let message = format!(
            "not every {kind} can be read at the moment; try again, and tell the platform's administrators if it stays so"
        );
        self.add(Finding::deny(Fault::Invalid, "Unknown", path, message));
    }

    /// What was found.
    pub fn into_found(self) -> Found {
        self.found
    }

    /// What was wrong before.
    pub(crate) fn into_standing(self) -> Standing {
        self.forgiven
    }
}
