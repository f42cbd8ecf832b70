//! Running the expressions of one policy over one request and one param, within Kubernetes' budgets.

use super::definition::{
    Binding, Definition, EXTRAS, Expression, NAMES, NAMESPACE, OBJECT, OLD_OBJECT, PARAMS, REQUEST, Uses,
    VARIABLES,
};
use super::matching::Matching;
use super::params::Params;
use super::request::{Document, Request};
use super::surroundings::{Extra, Surroundings};
use crate::cel::{Computed, EXPRESSION_LIMIT, MATCH_CONDITIONS_LIMIT, Malformed, Tree, Value};
use crate::facts::{FactKey, Lookup};

/// What Kubernetes says when a budget is used up.
pub(crate) const OVER_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The values that are bound to [`NAMES`], in their order.
pub(crate) type Values<'v> = [Value<'v>; NAMES.len()];

/// A binding that is about a request, with the params it gives: nothing for a policy that takes none.
#[derive(Debug)]
pub(crate) struct Invocation<'p> {
    pub(crate) binding: &'p Binding,
    pub(crate) params: Vec<Option<Document>>,
}

/// Why a policy cannot be applied, as it or its binding is configured.
#[derive(Debug)]
pub(crate) struct Misconfigured<'p> {
    /// The binding at fault, if it is not the policy itself.
    pub(crate) binding: Option<&'p Binding>,
    pub(crate) message: String,
}

/// The bindings of a policy that are about a request; nothing if the policy itself is not.
pub(crate) fn invocations<'p>(
    definition: &'p Definition,
    params: &Params,
    request: &Request<'_>,
    surroundings: &dyn Surroundings,
) -> Vec<Result<Invocation<'p>, Misconfigured<'p>>> {
    match definition.matching.matches(request, surroundings) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(error) => {
            let message = format!("failed to configure policy: {}", error.0);
            return vec![Err(Misconfigured { binding: None, message })];
        }
    }
    let bound = |binding: &'p Binding| {
        let failed = |error: &str| {
            let message = format!("failed to configure binding: {error}");
            Some(Err(Misconfigured { binding: Some(binding), message }))
        };
        match binding.matching.as_ref().map(|matching| matching.matches(request, surroundings)) {
            Some(Ok(false)) => return None,
            Some(Err(error)) => return failed(&error.0),
            None | Some(Ok(true)) => {}
        }
        let kind = definition.param_kind.as_ref();
        match params.collect(kind, binding.param_ref.as_ref(), request, surroundings) {
            Ok(params) => Some(Ok(Invocation { binding, params })),
            Err(error) => failed(&error),
        }
    };
    definition.bindings.iter().filter_map(bound).collect()
}

/// The objects that what a policy says of a request may rest on, beside the request.
pub(crate) fn rests_on(
    definition: &Definition,
    params: &Params,
    request: &Request<'_>,
    surroundings: &dyn Surroundings,
) -> Vec<FactKey> {
    let mut keys: Vec<FactKey> =
        definition.uses.extras().flat_map(|extra| surroundings.rests_on(extra, request)).collect();
    let bindings = || definition.bindings.iter();
    let matching = bindings().filter_map(|binding| binding.matching.as_ref());
    let selects = std::iter::once(&definition.matching).chain(matching).any(Matching::selects_namespaces);
    if (selects || definition.uses.has(NAMESPACE)) && !request.namespace().is_empty() {
        keys.push(FactKey::Namespace(request.namespace().to_owned()));
    }
    let kind = definition.param_kind.as_ref();
    keys.extend(
        bindings()
            .filter_map(|binding| params.rests_on(kind, binding.param_ref.as_ref(), request, surroundings)),
    );
    keys
}

/// Why a request cannot be shown to expressions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unprepared {
    /// There is no such Namespace, or nobody can say; this fails the request whatever `failurePolicy` says.
    Namespace(String),
    /// An object is no JSON that could be read.
    Object(String),
}

/// What expressions see, as far as any of them looks at it. Params come later, since they differ by binding.
pub(crate) fn values<'v>(
    uses: Uses,
    request: &'v Request<'_>,
    surroundings: &dyn Surroundings,
) -> Result<Values<'v>, Unprepared> {
    let mut values: Values<'v> = [const { Value::Null }; NAMES.len()];
    let mut set = |place: usize, value: Value<'v>| {
        if let Some(slot) = values.get_mut(place) {
            *slot = value;
        }
    };
    if uses.has(OBJECT) {
        set(OBJECT, part("object", request.object())?);
    }
    if uses.has(OLD_OBJECT) {
        set(OLD_OBJECT, part("oldObject", request.old_object())?);
    }
    if uses.has(REQUEST) {
        set(REQUEST, part("request", request.request())?);
    }
    if uses.has(NAMESPACE) && !request.namespace().is_empty() {
        set(NAMESPACE, namespace(request, surroundings)?);
    }
    for extra in uses.extras() {
        set(EXTRAS + extra as usize, beside(extra, request, surroundings));
    }
    set(VARIABLES, Value::Variables);
    Ok(values)
}

fn part<'v>(name: &str, tree: Result<Option<&'v Tree<'v>>, &Malformed>) -> Result<Value<'v>, Unprepared> {
    match tree {
        Ok(tree) => Ok(tree.map_or(Value::Null, Value::of)),
        Err(error) => {
            let message = format!("failed to prepare {name} variable for evaluation: {}", error.message);
            Err(Unprepared::Object(message))
        }
    }
}

fn namespace<'v>(request: &'v Request<'_>, surroundings: &dyn Surroundings) -> Result<Value<'v>, Unprepared> {
    match request.namespace_object(surroundings) {
        Lookup::Found(namespace) => Ok(Value::of(namespace)),
        Lookup::Absent => {
            Err(Unprepared::Namespace(format!("namespaces {:?} not found", request.namespace())))
        }
        Lookup::Unknown => {
            Err(Unprepared::Namespace(format!("namespaces {:?} cannot be read", request.namespace())))
        }
    }
}

/// What only we show: null if there is none, and an error if nobody can say.
fn beside<'v>(extra: Extra, request: &'v Request<'_>, surroundings: &dyn Surroundings) -> Value<'v> {
    match request.extra(extra, surroundings) {
        Lookup::Found(document) => Value::of(document),
        Lookup::Absent => Value::Null,
        Lookup::Unknown => Value::error(format!("`{}` cannot be read at the moment", extra.as_str())),
    }
}

/// The same values with a param.
pub(crate) fn with_params<'v>(values: &Values<'v>, params: Option<&'v Document>) -> Values<'v> {
    let mut values = values.clone();
    if let (Some(slot), Some(params)) = (values.get_mut(PARAMS), params) {
        *slot = Value::of(params);
    }
    values
}

/// Whether match conditions let a policy go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Conditions {
    /// All hold.
    Met,
    /// One does not, or one cannot be evaluated and `failurePolicy: Ignore` passes over it.
    Unmet,
    /// None fails to hold, but some cannot be evaluated.
    Failed(String),
}

/// Evaluates match conditions: all of them, since one that does not hold outweighs any that cannot be evaluated. They
/// do not see the Namespace, as in Kubernetes.
pub(crate) fn conditions(definition: &Definition, values: &Values<'_>) -> (Conditions, u64) {
    if definition.conditions.is_empty() {
        return (Conditions::Met, 0);
    }
    let mut values = values.clone();
    if let Some(slot) = values.get_mut(NAMESPACE) {
        *slot = Value::Null;
    }
    let mut budget = Budget::new(MATCH_CONDITIONS_LIMIT);
    let mut errors = Vec::new();
    let mut unmet = false;
    for condition in &definition.conditions {
        match budget.run(condition, &values, None) {
            Err(OverBudget) => {
                errors = vec![OVER_BUDGET.to_owned()];
                unmet = false;
                break;
            }
            Ok(Err(error)) => errors.push(error),
            Ok(Ok(Value::Bool(true))) => {}
            Ok(Ok(_)) => unmet = true,
        }
    }
    let outcome = if unmet || (!errors.is_empty() && definition.fails_open) {
        Conditions::Unmet
    } else if errors.is_empty() {
        Conditions::Met
    } else {
        Conditions::Failed(joined(errors))
    };
    (outcome, MATCH_CONDITIONS_LIMIT - budget.left)
}

/// Several errors as Go joins them, each once.
fn joined(errors: Vec<String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for error in errors {
        if !different.contains(&error) {
            different.push(error);
        }
    }
    match different.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// The budget was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OverBudget;

/// What expressions may cost together, and what is left of it.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) left: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { left: limit }
    }

    /// Evaluates an expression: its value, or what is wrong with it in Kubernetes' words.
    pub(crate) fn run<'v>(
        &mut self,
        expression: &'v Expression,
        values: &'v Values<'v>,
        computed: Option<&mut Computed<'v>>,
    ) -> Result<Result<Value<'v>, String>, OverBudget> {
        let program = &expression.program;
        let outcome = match computed {
            Some(computed) => program.evaluate_composed(values, computed, EXPRESSION_LIMIT, self.left),
            None => program.evaluate(values, EXPRESSION_LIMIT),
        };
        self.left = self.left.checked_sub(outcome.variables).ok_or(OverBudget)?;
        self.left = self.left.checked_sub(outcome.cost).ok_or(OverBudget)?;
        Ok(outcome
            .value
            .map_err(|error| format!("expression '{}' resulted in error: {error}", expression.text)))
    }
}
