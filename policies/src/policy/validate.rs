//! What the policies say of a request, in Kubernetes' order and words.

use std::sync::Arc;

use super::definition::{Action, Binding, Reason, ValidatingPolicy, Validation};
use super::evaluate::{
    Budget, Conditions, Invocation, OVER_BUDGET, Unprepared, Values, conditions, invocations, rests_on,
    values, with_params,
};
use super::judged::{Decision, Denial, Evaluation, Judged, Outcome, Warning};
use super::request::Request;
use super::set::PolicySet;
use super::surroundings::Surroundings;
use crate::cel::{Computed, EXPRESSION_LIMIT, POLICY_LIMIT, Value};

/// The key under which the audit log finds validations that did not hold.
pub const VALIDATION_FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";
/// Messages longer than this are not taken from an expression.
const LONGEST_MESSAGE: usize = 5 * 1024;
/// Audit annotations are cut after this.
const LONGEST_ANNOTATION: usize = 10 * 1024;

/// Judges a request by all policies that are about it.
pub fn validate(set: &PolicySet, request: &Request<'_>, surroundings: &dyn Surroundings) -> Judged {
    let mut judged = Judged::default();
    for number in set.validating_index.candidates(request) {
        let Some(policy) = set.validating.get(number) else { continue };
        let before = judged.denials.len();
        judge(policy, set, request, surroundings, &mut judged);
        if judged.denials.len() > before {
            let keys = rests_on(&policy.definition, &set.params, request, surroundings);
            judged.rests_on.extend(keys);
        }
    }
    judged
}

/// The same as the gate has it: Kubernetes would let a policy stop whoever takes the last finalizer off an object that is
/// on its way out. Here that only warns, or the object would never go.
pub(crate) fn validate_at_the_gate(
    set: &PolicySet,
    request: &Request<'_>,
    surroundings: &dyn Surroundings,
) -> Judged {
    let mut judged = validate(set, request, surroundings);
    if !judged.denials.is_empty() && request.is_of_leaving_object() {
        judged.warn_only();
    }
    judged
}

fn judge(
    policy: &ValidatingPolicy,
    set: &PolicySet,
    request: &Request<'_>,
    surroundings: &dyn Surroundings,
    judged: &mut Judged,
) {
    let definition = &policy.definition;
    let mut annotations: Vec<(&str, Vec<String>)> = Vec::new();
    let mut prepared: Option<Result<Values<'_>, Unprepared>> = None;
    for invocation in invocations(definition, &set.params, request, surroundings) {
        let Invocation { binding, params } = match invocation {
            Ok(invocation) => invocation,
            Err(misconfigured) => {
                let binding = misconfigured.binding.map(|binding| Arc::clone(&binding.name));
                let result = if definition.fails_open { Outcome::Ignored } else { Outcome::Error };
                let policy = Arc::clone(&definition.name);
                judged.evaluations.push(Evaluation { policy, binding: binding.clone(), result, cost: 0 });
                if !definition.fails_open {
                    judged.denials.push(Denial {
                        policy: Arc::clone(&definition.name),
                        binding,
                        detail: misconfigured.message,
                        reason: Reason::Invalid,
                    });
                }
                continue;
            }
        };
        let prepared = prepared.get_or_insert_with(|| values(definition.uses, request, surroundings));
        let mut run =
            Run { policy, binding, judged, annotations: &mut annotations, result: Outcome::Skipped, cost: 0 };
        match prepared {
            Ok(values) => {
                for params in &params {
                    // Each param has Kubernetes' budgets; however many there are, together they have one more.
                    if run.cost >= POLICY_LIMIT {
                        run.decide(&[Decided::Failed(OVER_BUDGET.to_owned())]);
                        break;
                    }
                    match params {
                        None => run.evaluate(values),
                        Some(params) => run.evaluate(&with_params(values, Some(params))),
                    }
                }
            }
            Err(Unprepared::Object(message)) => {
                let message = message.clone();
                params.iter().for_each(|_| run.decide(&[Decided::Failed(message.clone())]));
            }
            Err(Unprepared::Namespace(message)) => {
                run.result = Outcome::Error;
                let (detail, reason) = (message.clone(), Reason::NotFound);
                let binding = Some(Arc::clone(&binding.name));
                run.judged.denials.push(Denial {
                    policy: Arc::clone(&definition.name),
                    binding,
                    detail,
                    reason,
                });
            }
        }
        let Run { result, cost, .. } = run;
        judged.evaluations.push(Evaluation {
            policy: Arc::clone(&definition.name),
            binding: Some(Arc::clone(&binding.name)),
            result,
            cost,
        });
    }
    for (key, values) in annotations {
        annotate(judged, format!("{}/{key}", definition.name), values.join(", "));
    }
}

/// What a validation came to.
enum Decided {
    Held,
    Broken { message: String, reason: Reason },
    Failed(String),
}

/// One policy with one of its bindings.
struct Run<'r, 'p> {
    policy: &'p ValidatingPolicy,
    binding: &'p Binding,
    judged: &'r mut Judged,
    annotations: &'r mut Vec<(&'p str, Vec<String>)>,
    result: Outcome,
    cost: u64,
}

impl<'p> Run<'_, 'p> {
    fn evaluate(&mut self, values: &Values<'_>) {
        let (met, cost) = conditions(&self.policy.definition, values);
        self.cost += cost;
        match met {
            Conditions::Unmet => return,
            Conditions::Failed(error) => return self.decide(&[Decided::Failed(error)]),
            Conditions::Met => {}
        }
        let decided = match self.validations(values) {
            Ok(decided) => decided,
            Err(error) => return self.decide(&[Decided::Failed(error)]),
        };
        let annotated = self.audit_annotations(values);
        for (number, decided) in decided.iter().enumerate() {
            let held = match decided {
                Decided::Held => Some(true),
                Decided::Broken { .. } => Some(false),
                Decided::Failed(_) => None,
            };
            let policy = Arc::clone(&self.policy.definition.name);
            self.judged.decisions.push(Decision { policy, number, held });
        }
        match annotated {
            // An audit annotation that uses up its budget takes the place of everything else, as in Kubernetes.
            Err(error) => self.decide(&[Decided::Failed(error)]),
            Ok(errors) => {
                self.decide(&decided);
                self.publish(errors);
            }
        }
    }

    /// Evaluates all validations, then the messages of those that do not hold.
    fn validations(&mut self, values: &Values<'_>) -> Result<Vec<Decided>, String> {
        let definition = &self.policy.definition;
        let mut computed = Computed::new(&definition.variables);
        let mut budget = Budget::new(POLICY_LIMIT);
        let mut results = Vec::with_capacity(self.policy.validations.len());
        for validation in &self.policy.validations {
            match budget.run(&validation.expression, values, Some(&mut computed)) {
                Ok(result) => results.push(result.map(|value| matches!(value, Value::Bool(true)))),
                Err(_) => {
                    self.cost += POLICY_LIMIT;
                    return Err(OVER_BUDGET.to_owned());
                }
            }
        }
        self.cost += POLICY_LIMIT - budget.left;
        let messages = self.messages(values, &results, budget.left);
        let decided = results.into_iter().zip(&self.policy.validations).enumerate();
        let decided = decided.map(|(number, (result, validation))| match (result, &messages) {
            (Err(error), _) => Decided::Failed(error),
            (Ok(_), Err(error)) => Decided::Failed(format!("failed messageExpression: {error}")),
            (Ok(true), Ok(_)) => Decided::Held,
            (Ok(false), Ok(messages)) => Decided::Broken {
                message: messages
                    .get(number)
                    .cloned()
                    .flatten()
                    .unwrap_or_else(|| validation.message.clone()),
                reason: validation.reason,
            },
        });
        Ok(decided.collect())
    }

    /// What the message expressions come to, where they come to a message.
    ///
    /// Kubernetes evaluates all of them, and fails all validations when that uses up the budget. Where it cannot, those
    /// that nobody will read are left out.
    fn messages(
        &mut self,
        values: &Values<'_>,
        results: &[Result<bool, String>],
        left: u64,
    ) -> Result<Vec<Option<String>>, &'static str> {
        let expressions =
            || self.policy.validations.iter().filter_map(|validation| validation.message_expression.as_ref());
        let most = (expressions().count() + self.policy.definition.variables.programs().count()) as u64;
        let could_be_over = most.saturating_mul(EXPRESSION_LIMIT) > left;
        if most == 0 || (!could_be_over && results.iter().all(|result| *result != Ok(false))) {
            return Ok(Vec::new());
        }
        let mut computed = Computed::new(&self.policy.definition.variables);
        let mut budget = Budget::new(left);
        let mut messages = Vec::with_capacity(results.len());
        for (validation, result) in self.policy.validations.iter().zip(results) {
            let Validation { message_expression: Some(expression), .. } = validation else {
                messages.push(None);
                continue;
            };
            if !could_be_over && *result != Ok(false) {
                messages.push(None);
                continue;
            }
            match budget.run(expression, values, Some(&mut computed)) {
                Ok(result) => messages.push(result.ok().as_ref().and_then(message)),
                Err(_) => return Err(OVER_BUDGET),
            }
        }
        self.cost += left - budget.left;
        Ok(messages)
    }

    /// What the audit annotations come to: those to publish are kept, those that fail are given.
    fn audit_annotations(&mut self, values: &Values<'_>) -> Result<Vec<String>, String> {
        let mut failed = Vec::new();
        if self.policy.audit_annotations.is_empty() {
            return Ok(failed);
        }
        let mut computed = Computed::new(&self.policy.definition.variables);
        let mut budget = Budget::new(POLICY_LIMIT);
        let mut found = Vec::new();
        for annotation in &self.policy.audit_annotations {
            match budget.run(&annotation.expression, values, Some(&mut computed)) {
                Err(_) => {
                    self.cost += POLICY_LIMIT;
                    return Err(OVER_BUDGET.to_owned());
                }
                Ok(Err(error)) => failed.push(error),
                Ok(Ok(Value::String(text))) => found.push((annotation.key.as_str(), text.trim().to_owned())),
                Ok(Ok(_)) => {}
            }
        }
        self.cost += POLICY_LIMIT - budget.left;
        for (key, value) in found.into_iter().filter(|(_, value)| !value.is_empty()) {
            self.annotate(key, cut(value, LONGEST_ANNOTATION));
        }
        Ok(if self.policy.definition.fails_open { Vec::new() } else { failed })
    }

    fn annotate(&mut self, key: &'p str, value: String) {
        match self.annotations.iter_mut().find(|(own, _)| *own == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => self.annotations.push((key, vec![value])),
        }
    }

    /// Does with each decision what the binding says.
    fn decide(&mut self, decided: &[Decided]) {
        self.result = self.result.max(Outcome::Allowed);
        for (number, decided) in decided.iter().enumerate() {
            let (message, reason, failed) = match decided {
                Decided::Held => continue,
                Decided::Broken { message, reason } => (message, *reason, false),
                Decided::Failed(_) if self.policy.definition.fails_open => {
                    self.result = self.result.max(Outcome::Ignored);
                    continue;
                }
                Decided::Failed(message) => (message, Reason::Invalid, true),
            };
            for action in &self.binding.actions {
                self.act(*action, number, message, reason);
                let result = match action {
                    Action::Deny => Outcome::Denied,
                    Action::Warn => Outcome::Warned,
                    Action::Audit => Outcome::Audited,
                };
                self.result = self.result.max(if failed { Outcome::Error } else { result });
            }
        }
    }

    fn act(&mut self, action: Action, number: usize, message: &str, reason: Reason) {
        let (policy, binding) = (Arc::clone(&self.policy.definition.name), Arc::clone(&self.binding.name));
        match action {
            Action::Deny => {
                self.judged.denials.push(Denial {
                    policy,
                    binding: Some(binding),
                    detail: message.to_owned(),
                    reason,
                });
            }
            Action::Warn => {
                self.judged.warnings.push(Warning { policy, binding, detail: message.to_owned() })
            }
            Action::Audit => {
                let actions: Vec<&str> = self.binding.actions.iter().map(|action| action.as_str()).collect();
                let failure = serde_json::json!([{
                    "message": message,
                    "policy": &*policy,
                    "binding": &*binding,
                    "expressionIndex": number,
                    "validationActions": actions,
                }]);
                annotate(self.judged, VALIDATION_FAILURE.to_owned(), failure.to_string());
            }
        }
    }

    /// Audit annotations that cannot be evaluated deny, whatever the binding says, as in Kubernetes.
    fn publish(&mut self, errors: Vec<String>) {
        for detail in errors {
            self.result = Outcome::Error;
            self.judged.denials.push(Denial {
                policy: Arc::clone(&self.policy.definition.name),
                binding: Some(Arc::clone(&self.binding.name)),
                detail,
                reason: Reason::Invalid,
            });
        }
    }
}

/// An annotation is written once; who comes later does not change it.
fn annotate(judged: &mut Judged, key: String, value: String) {
    if !judged.annotations.iter().any(|(own, _)| *own == key) {
        judged.annotations.push((key, value));
    }
}

/// The value of a message expression, if it is a message.
fn message(value: &Value<'_>) -> Option<String> {
    let Value::String(text) = value else { return None };
    let text = text.trim();
    (!text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n')).then(|| text.to_owned())
}

/// The first bytes of a text. kube-apiserver cuts through a letter, too, and for each byte that is left of it the log has
/// the sign for what cannot be read.
fn cut(mut text: String, longest: usize) -> String {
    let longest = longest.min(text.len());
    let end = text.floor_char_boundary(longest);
    text.truncate(end);
    text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, longest - end));
    text
}

#[cfg(test)]
mod tests;
