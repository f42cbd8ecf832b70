//! What mutating policies make of a request, in Kubernetes' order and words.
//!
//! As in kube-apiserver, all policies run once, each over what those before left. When the object changed meanwhile,
//! policies with `reinvocationPolicy: IfNeeded` run a second time, and that is the end of it: there is no third time,
//! whatever they change.

mod complete;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;

pub use self::complete::{Completed, complete};
use super::definition::{Binding, MutatingPolicy, Mutation, Reason};
use super::evaluate::{
    Budget, Conditions, Invocation, Misconfigured, OVER_BUDGET, Unprepared, Values, conditions, invocations,
    rests_on, values, with_params,
};
use super::judged::{Decision, Denial, Evaluation, Outcome};
use super::mutation::{Failed, Schema, mutate_by};
use super::request::{Document, Request};
use super::set::PolicySet;
use super::surroundings::Surroundings;
use crate::cel::{Computed, POLICY_LIMIT, Tree, Value};
use crate::facts::FactKey;
use crate::review::Operation;

/// What mutating policies came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mutated {
    /// The object as they leave it; nothing if they change nothing.
    pub object: Option<Json>,
    /// What stops the request. Kubernetes shows the first.
    pub refusals: Vec<Refusal>,
    /// Each policy with each of its bindings that was about the request, once for every time it ran.
    pub evaluations: Vec<Evaluation>,
    /// Whether each mutation changed the object, once for every time its policy was about the request.
    pub decisions: Vec<Decision>,
    /// The objects that the refusals rest on.
    pub rests_on: Vec<FactKey>,
}

/// Why mutating policies stop a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A policy could not be applied.
    Policy(Denial),
    /// Nothing could be applied, whatever `failurePolicy` says.
    Request {
        /// Why.
        message: String,
        /// Why, in one word.
        reason: Reason,
    },
}

impl Refusal {
    /// The message, as Kubernetes words it.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Policy(Denial { policy, binding: Some(binding), detail, .. }) => {
                format!("policy '{policy}' with binding '{binding}' denied request: {detail}")
            }
            Self::Policy(Denial { policy, detail, .. }) => {
                format!("policy \"{policy}\" denied request: {detail}")
            }
            Self::Request { message, .. } => message.clone(),
        }
    }

    /// Why, without the names of the policy and the binding.
    #[must_use]
    pub fn detail(&self) -> &str {
        match self {
            Self::Policy(denial) => &denial.detail,
            Self::Request { message, .. } => message,
        }
    }

    /// Why, in one word.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Policy(denial) => denial.reason,
            Self::Request { reason, .. } => *reason,
        }
    }

    /// The code of the answer. Kubernetes forbids whatever a policy fails at, also where the reason says otherwise.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::Policy(_) => Reason::Forbidden.code(),
            Self::Request { reason, .. } => reason.code(),
        }
    }
}

/// Changes the object of a request by all policies that are about it.
pub fn mutate(set: &PolicySet, request: &Request<'_>, surroundings: &dyn Surroundings) -> Mutated {
    mutate_with(set, request, surroundings, |_| None)
}

/// The same with something that changes the object after the policies, as a webhook does after kube-apiserver's own.
/// It gives nothing if it changes nothing.
pub(crate) fn mutate_with(
    set: &PolicySet,
    request: &Request<'_>,
    surroundings: &dyn Surroundings,
    mut afterwards: impl FnMut(&Json) -> Option<Json>,
) -> Mutated {
    let mut mutated = Mutated::default();
    // What is deleted cannot be changed any more.
    if request.operation() == Operation::Delete || set.mutating_index.candidates(request).next().is_none() {
        return mutated;
    }
    let Some(text) = request.object_text() else { return mutated };
    let mut refuse = |why: &str| {
        let message = format!("the object {why} to be changed by a policy");
        mutated.refusals.push(Refusal::Request { message, reason: Reason::Invalid });
    };
    if has_too_many_parts(text) {
        refuse("has too many parts");
        return mutated;
    }
    let Ok(object) = serde_json::from_str::<Json>(text) else {
        refuse("nests too deeply");
        return mutated;
    };
    let mut run = Run {
        set,
        request,
        surroundings,
        object,
        text: None,
        mutated: &mut mutated,
        again: Again::default(),
    };
    let done = run.both_times(&mut afterwards);
    let (object, is_changed) = (std::mem::take(&mut run.object), run.text.is_some());
    if let Err(refusal) = done {
        // It takes the place of everything else.
        mutated.refusals = vec![refusal];
    }
    if mutated.refusals.is_empty() && is_changed {
        mutated.object = Some(object);
    }
    if !mutated.refusals.is_empty() {
        let policies = set.mutating_index.candidates(request).filter_map(|number| set.mutating.get(number));
        let keys =
            policies.flat_map(|policy| rests_on(&policy.definition, &set.params, request, surroundings));
        mutated.rests_on = keys.collect();
    }
    mutated
}

/// Lists and objects within an object that can still be changed. Each takes hundreds of bytes while it is changed, as
/// often as there are states of it, and no object of ours has a hundredth of them.
const MOST_PARTS: usize = 20_000;

fn has_too_many_parts(text: &str) -> bool {
    let brackets = text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
    // Those within texts count for nothing, so whoever has many is read first.
    brackets > MOST_PARTS && Tree::parse(text).is_ok_and(|tree| tree.containers() > MOST_PARTS)
}

/// A policy with a binding and a param, by which a second run knows what ran before.
type Key = (Arc<str>, Arc<str>, String);

/// What runs again.
#[derive(Debug, Default)]
struct Again {
    /// Policies that ran and may run again, since the object last changed.
    since: BTreeSet<Key>,
    due: BTreeSet<Key>,
    /// Whether there is a second time at all.
    wanted: bool,
}

impl Again {
    fn changed(&mut self) {
        self.due.append(&mut self.since);
        self.wanted = true;
    }
}

struct Run<'r, 'q> {
    set: &'r PolicySet,
    request: &'r Request<'q>,
    surroundings: &'r dyn Surroundings,
    object: Json,
    /// The object as text, once it is another than the request's.
    text: Option<String>,
    mutated: &'r mut Mutated,
    again: Again,
}

/// One of what a request's policies, bindings and params come to.
struct Due<'p> {
    policy: &'p MutatingPolicy,
    binding: &'p Binding,
    param: Option<Document>,
}

impl<'r> Run<'r, '_> {
    fn both_times(&mut self, afterwards: &mut impl FnMut(&Json) -> Option<Json>) -> Result<(), Refusal> {
        self.all(None)?;
        // What a policy refuses goes no further: neither to webhooks, nor to policies a second time.
        if !self.mutated.refusals.is_empty() {
            return Ok(());
        }
        self.after(afterwards);
        if self.again.wanted {
            let due = std::mem::take(&mut self.again.due);
            let before = self.object.clone();
            self.all(Some(&due))?;
            if self.object != before {
                self.after(afterwards);
            }
        }
        Ok(())
    }

    fn after(&mut self, afterwards: &mut impl FnMut(&Json) -> Option<Json>) {
        if let Some(object) = afterwards(&self.object) {
            self.replace(object);
            self.again.changed();
        }
    }

    fn replace(&mut self, object: Json) {
        self.text = Some(object.to_string());
        self.object = object;
    }

    /// Runs all policies, or those that are due again. Which of them are about the request is decided before any of
    /// them changes it.
    fn all(&mut self, due: Option<&BTreeSet<Key>>) -> Result<(), Refusal> {
        let mut was_applied = false;
        // What each policy has spent with each binding, over all mutations and params.
        let mut spent: BTreeMap<(Arc<str>, Arc<str>), u64> = BTreeMap::new();
        for invocation in self.invocations() {
            let Due { policy, binding, .. } = &invocation;
            let names = (Arc::clone(&policy.definition.name), Arc::clone(&binding.name));
            was_applied |= self.invoke(&invocation, due, spent.entry(names).or_default())?;
        }
        // Kubernetes takes an object for changed as soon as a policy was applied to it, whatever came of it.
        if was_applied {
            self.again.changed();
        }
        Ok(())
    }

    fn invocations(&mut self) -> Vec<Due<'r>> {
        let (set, surroundings) = (self.set, self.surroundings);
        let found = self.now(|request| {
            let policies =
                set.mutating_index.candidates(request).filter_map(|number| set.mutating.get(number));
            policies
                .flat_map(|policy| {
                    let found = invocations(&policy.definition, &set.params, request, surroundings);
                    found.into_iter().map(move |invocation| (policy, invocation))
                })
                .collect::<Vec<_>>()
        });
        let mut due = Vec::new();
        for (policy, invocation) in found {
            match invocation {
                Ok(Invocation { binding, params }) => {
                    if params.is_empty() {
                        note(self.mutated, policy, Some(binding), Outcome::Skipped, 0);
                    }
                    due.extend(params.into_iter().map(|param| Due { policy, binding, param }));
                }
                Err(Misconfigured { binding, message }) => {
                    let outcome = refuse(self.mutated, policy, binding, message, Reason::Forbidden);
                    note(self.mutated, policy, binding, outcome, 0);
                }
            }
        }
        due
    }

    /// Runs one policy with one param; says whether any mutation was applied.
    fn invoke(
        &mut self,
        invocation: &Due<'r>,
        due: Option<&BTreeSet<Key>>,
        spent: &mut u64,
    ) -> Result<bool, Refusal> {
        let Due { policy, binding, param } = invocation;
        if *spent >= POLICY_LIMIT {
            let outcome = self.too_many(invocation, spent);
            note(self.mutated, policy, Some(binding), outcome, 0);
            return Ok(false);
        }
        let (met, mut cost) = self.conditions(invocation)?;
        *spent += cost;
        match met {
            Conditions::Met => {}
            Conditions::Unmet => {
                note(self.mutated, policy, Some(binding), Outcome::Skipped, cost);
                (0..policy.mutations.len())
                    .for_each(|number| decide(self.mutated, policy, number, Some(false)));
                return Ok(false);
            }
            Conditions::Failed(message) => {
                let outcome = refuse(self.mutated, policy, Some(binding), message, Reason::Invalid);
                note(self.mutated, policy, Some(binding), outcome, cost);
                return Ok(false);
            }
        }
        let key = (Arc::clone(&policy.definition.name), Arc::clone(&binding.name), identity(param.as_ref()));
        if due.is_some_and(|due| !due.contains(&key)) {
            return Ok(false);
        }
        let before = self.object.clone();
        let mut was_applied = false;
        let mut outcome = Outcome::Allowed;
        for (number, mutation) in policy.mutations.iter().enumerate() {
            if *spent >= POLICY_LIMIT {
                outcome = outcome.max(self.too_many(invocation, spent));
                break;
            }
            let before = cost;
            let result = self.mutation(invocation, mutation, &mut cost);
            *spent += cost - before;
            match result {
                Ok(object) => {
                    was_applied = true;
                    let changed = object.filter(|object| *object != self.object);
                    decide(self.mutated, policy, number, Some(changed.is_some()));
                    if let Some(object) = changed {
                        self.replace(object);
                    }
                }
                // The ones after it are applied all the same.
                Err(Stop::Policy(message)) => {
                    decide(self.mutated, policy, number, None);
                    outcome =
                        outcome.max(refuse(self.mutated, policy, Some(binding), message, Reason::Invalid));
                }
                Err(Stop::Request(refusal)) => return Err(refusal),
            }
        }
        if self.object != before {
            outcome = outcome.max(Outcome::Changed);
            self.again.changed();
        }
        if policy.reinvokes {
            self.again.since.insert(key);
        }
        note(self.mutated, policy, Some(binding), outcome, cost);
        Ok(was_applied)
    }

    /// Refuses what comes after mutations and params that have used up what a policy and a binding may spend together. Each
    /// has Kubernetes' own budget, but however many there are, they cannot keep the gate busy. It is told once.
    fn too_many(&mut self, invocation: &Due<'r>, spent: &mut u64) -> Outcome {
        if std::mem::replace(spent, u64::MAX) == u64::MAX {
            return Outcome::Skipped;
        }
        let Due { policy, binding, .. } = invocation;
        refuse(self.mutated, policy, Some(binding), OVER_BUDGET.to_owned(), Reason::Invalid)
    }

    fn conditions(&self, invocation: &Due<'_>) -> Result<(Conditions, u64), Refusal> {
        let definition = &invocation.policy.definition;
        let met = self.seen(invocation, |values| conditions(definition, values));
        match met {
            Ok(met) => Ok(met),
            Err(Stop::Policy(message)) => Ok((Conditions::Failed(message), 0)),
            Err(Stop::Request(refusal)) => Err(refusal),
        }
    }

    /// The object after one mutation; nothing if it is to stay as it is.
    fn mutation(
        &self,
        invocation: &Due<'_>,
        mutation: &Mutation,
        cost: &mut u64,
    ) -> Result<Option<Json>, Stop> {
        let text = |name: &str| self.object.get(name).and_then(Json::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let Some(schema) = Schema::of(group, version, kind) else {
            let message = format!(
                "Resource kind {api_version}, Kind={kind} not found. There can be a delay between when \
                 CustomResourceDefinitions are created and when they are available."
            );
            return Err(Stop::Request(Refusal::Request { message, reason: Reason::ServiceUnavailable }));
        };
        // Each mutation has a budget and variables of its own, since the one before may have changed what they see.
        self.seen(invocation, |values| {
            let mut computed = Computed::new(&invocation.policy.definition.variables);
            let mut budget = Budget::new(POLICY_LIMIT);
            let value = budget.run(&mutation.expression, values, Some(&mut computed));
            *cost += POLICY_LIMIT - value.as_ref().map_or(0, |_| budget.left);
            let value = value.map_err(|_| Stop::Policy(OVER_BUDGET.to_owned()))?.map_err(Stop::Policy)?;
            mutate_by(mutation.patch, schema, &self.object, &value).map_err(|failed| match failed {
                Failed::Policy(message) => Stop::Policy(message),
                Failed::Request(message) => {
                    Stop::Request(Refusal::Request { message, reason: Reason::InternalError })
                }
            })
        })?
    }

    /// What expressions see of the object as it is now.
    fn seen<T>(
        &self,
        invocation: &Due<'_>,
        then: impl for<'v> FnOnce(&'v Values<'v>) -> T,
    ) -> Result<T, Stop> {
        self.now(|request| match values(invocation.policy.definition.uses, request, self.surroundings) {
            Ok(values) => Ok(then(&with_params(&values, invocation.param.as_ref()))),
            Err(Unprepared::Object(message)) => Err(Stop::Policy(message)),
            Err(Unprepared::Namespace(message)) => {
                Err(Stop::Request(Refusal::Request { message, reason: Reason::NotFound }))
            }
        })
    }

    /// The request with the object as it is now.
    fn now<T>(&self, then: impl FnOnce(&Request<'_>) -> T) -> T {
        match &self.text {
            Some(text) => then(&self.request.with_object(text)),
            None => then(self.request),
        }
    }
}

/// Why a mutation is not applied.
enum Stop {
    Policy(String),
    Request(Refusal),
}

/// Takes down an error as `failurePolicy` has it.
fn refuse(
    mutated: &mut Mutated,
    policy: &MutatingPolicy,
    binding: Option<&Binding>,
    detail: String,
    reason: Reason,
) -> Outcome {
    if policy.definition.fails_open {
        return Outcome::Ignored;
    }
    let (policy, binding) =
        (Arc::clone(&policy.definition.name), binding.map(|binding| Arc::clone(&binding.name)));
    mutated.refusals.push(Refusal::Policy(Denial { policy, binding, detail, reason }));
    Outcome::Error
}

fn note(
    mutated: &mut Mutated,
    policy: &MutatingPolicy,
    binding: Option<&Binding>,
    result: Outcome,
    cost: u64,
) {
    let (policy, binding) =
        (Arc::clone(&policy.definition.name), binding.map(|binding| Arc::clone(&binding.name)));
    mutated.evaluations.push(Evaluation { policy, binding, result, cost });
}

fn decide(mutated: &mut Mutated, policy: &MutatingPolicy, number: usize, held: Option<bool>) {
    let policy = Arc::clone(&policy.definition.name);
    mutated.decisions.push(Decision { policy, number, held });
}

/// Namespace and name of a param.
fn identity(param: Option<&Document>) -> String {
    let Some(Value::Map(param)) = param.map(|param| Value::of(param)) else { return String::new() };
    let Some(Value::Map(metadata)) = param.get("metadata") else { return String::new() };
    let text = |name| match metadata.get(name) {
        Some(Value::String(text)) => (*text).to_owned(),
        _ => String::new(),
    };
    format!("{}/{}", text("namespace"), text("name"))
}
