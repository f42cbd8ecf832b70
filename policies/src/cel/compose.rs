//! The variables of a policy, `variables.NAME`: expressions with names, each evaluated when it is first looked at, and
//! only once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::cost::Allowance;
use super::declare::{Declarations, ObjectType};
use super::diagnostic::Diagnostic;
use super::program::Code;
use super::types::Type;
use super::value::Value;
use super::{Outcome, Program};

/// The name of the type of `variables`.
pub(crate) const TYPE: &str = "kubernetes.variables";

/// The variables of one policy, compiled.
#[derive(Debug, Default)]
pub struct Composition {
    programs: Vec<(Arc<str>, Program)>,
    places: HashMap<Arc<str>, usize>,
}

impl Composition {
    /// Compiles a variable and adds it to these and, under its type, to `declarations`, so that what is compiled with
    /// them from then on may use it. Gives its [`Program::weight`].
    ///
    /// # Errors
    ///
    /// Everything that is wrong with `text`; nothing is added then.
    pub fn add(
        &mut self,
        name: &str,
        text: &str,
        declarations: &mut Declarations,
    ) -> Result<u64, Vec<Diagnostic>> {
        let program = Program::compile(text, declarations)?;
        let weight = program.weight();
        declarations.add_field(TYPE, name, program.value_type().clone());
        let name: Arc<str> = name.into();
        self.places.insert(Arc::clone(&name), self.programs.len());
        self.programs.push((name, program));
        Ok(weight)
    }

    /// Each variable with its name, in the order in which they were added.
    pub fn programs(&self) -> impl Iterator<Item = (&str, &Program)> {
        self.programs.iter().map(|(name, program)| (name.as_ref(), program))
    }
}

impl Declarations {
    /// Adds `variables`, of which there are none yet. Its value is [`Value::Variables`].
    #[must_use]
    pub fn composed(self) -> Self {
        self.variable("variables", Type::Object(TYPE.into()))
            .object(TYPE, ObjectType { fields: BTreeMap::new() })
    }
}

/// Where the evaluation of a variable is.
#[derive(Debug)]
enum State<'a> {
    Unseen,
    Running,
    Known(Value<'a>),
}

/// The variables of one policy for one request, as far as they have been looked at. Kubernetes forgets them between
/// validations, messages and audit annotations; a new one does.
#[derive(Debug)]
pub struct Computed<'a> {
    composition: &'a Composition,
    states: Vec<State<'a>>,
    cost: u64,
    budget: u64,
    pub(crate) allowance: Allowance,
}

impl<'a> Computed<'a> {
    /// Variables that have not been looked at.
    #[must_use]
    pub fn new(composition: &'a Composition) -> Self {
        let states = composition.programs.iter().map(|_| State::Unseen).collect();
        Self { composition, states, cost: 0, budget: 0, allowance: Allowance::default() }
    }

    pub(crate) fn count(&mut self, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
    }

    /// Whether variables have cost more than all that is left.
    pub(crate) fn is_spent(&self) -> bool {
        self.cost > self.budget
    }

    /// The place and code of the variable of this name if it has to be evaluated, which it then is.
    pub(crate) fn begin(&mut self, name: &str) -> Option<(usize, &'a Code)> {
        let composition = self.composition;
        let place = *composition.places.get(name)?;
        let (_, program) = composition.programs.get(place)?;
        match self.states.get_mut(place)? {
            state @ State::Unseen => {
                *state = State::Running;
                Some((place, &program.code))
            }
            State::Running | State::Known(_) => None,
        }
    }

    pub(crate) fn end(&mut self, place: usize, value: &Value<'a>) {
        let name = self.composition.programs.get(place).map_or("", |(name, _)| name);
        let value = match value {
            Value::Error(message) => {
                Value::error(format!("composited variable {name:?} fails to evaluate: {message}"))
            }
            value => value.clone(),
        };
        if let Some(state) = self.states.get_mut(place) {
            *state = State::Known(value);
        }
    }

    /// The value of a variable that was evaluated.
    pub(crate) fn value(&self, name: &str) -> Option<Value<'a>> {
        match self.states.get(*self.composition.places.get(name)?)? {
            State::Known(value) => Some(value.clone()),
            // Only by way of `dyn(variables)`, which hides from the check what is looked at.
            State::Running => Some(Value::error(format!("composited variable {name:?} needs itself"))),
            State::Unseen => None,
        }
    }
}

impl Program {
    /// Evaluates with one value for each declared name, in their order, and with variables.
    ///
    /// Like Kubernetes, `limit` bounds this expression alone; each variable has the limit of an expression of its own,
    /// and what those evaluated now have cost is in [`Outcome::variables`]. When that comes to more than `budget`, the
    /// value is an error.
    pub fn evaluate_composed<'a>(
        &'a self,
        bindings: &'a [Value<'a>],
        computed: &mut Computed<'a>,
        limit: u64,
        budget: u64,
    ) -> Outcome<'a> {
        (computed.cost, computed.budget) = (0, budget);
        let (value, cost) = super::evaluate::evaluate(&self.code, bindings, Some(computed), limit);
        Outcome { value: value.into_result(), cost, variables: computed.cost }
    }
}

#[cfg(test)]
mod tests;
