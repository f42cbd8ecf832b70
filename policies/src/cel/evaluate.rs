//! Runs a program: one loop over its operations, with stacks of its own.

mod build;
mod loops;
mod select;
mod variables;

use std::sync::Arc;

use super::compose::Computed;
use super::cost::{Meter, Rule, SELECT, too_much};
use super::functions::unfit::unfit;
use super::functions::{Scene, no_such_overload};
use super::program::{Code, Op, Site};
use super::value::{Equality, Value, equal};
use loops::Loop;
use variables::Caller;

/// The error of an expression that costs more than it may.
const OVER: &str = "operation cancelled: actual cost limit exceeded";

/// Evaluates `code` with these bindings, and its variables as they are computed; gives the value and its cost.
pub(crate) fn evaluate<'a>(
    code: &'a Code,
    bindings: &'a [Value<'a>],
    computed: Option<&mut Computed<'a>>,
    limit: u64,
) -> (Value<'a>, u64) {
    let mut machine = Machine {
        code,
        bindings,
        computed,
        meter: Meter::new(limit),
        counted: 0,
        stack: Vec::with_capacity(16),
        slots: vec![None; code.slots as usize],
        loops: Vec::new(),
        returns: Vec::new(),
        at: 0,
        callers: Vec::new(),
    };
    loop {
        machine.run();
        let value = machine.result();
        if !machine.goes_on_with(&value) {
            return (value, machine.meter.cost);
        }
    }
}

/// The state of an evaluation: of the expression, or of a variable that it needs and that others wait for.
struct Machine<'a, 'm> {
    code: &'a Code,
    bindings: &'a [Value<'a>],
    computed: Option<&'m mut Computed<'a>>,
    meter: Meter,
    /// What of its cost the variables have counted already.
    counted: u64,
    stack: Vec<Value<'a>>,
    slots: Vec<Option<Value<'a>>>,
    loops: Vec<Loop<'a>>,
    returns: Vec<usize>,
    at: usize,
    callers: Vec<Caller<'a>>,
}

impl<'a> Machine<'a, '_> {
    fn run(&mut self) {
        while let Some(op) = self.code.operations.get(self.at) {
            self.at += 1;
            self.step(*op);
            if self.meter.ends() {
                return;
            }
        }
    }

    /// What running came to.
    fn result(&mut self) -> Value<'a> {
        if let Some(reason) = self.meter.broken {
            return Value::error(reason);
        }
        if self.meter.ends() {
            return Value::error(OVER);
        }
        self.stack.pop().unwrap_or(Value::Null)
    }

    fn pop(&mut self) -> Value<'a> {
        self.stack.pop().unwrap_or(Value::Null)
    }

    fn push(&mut self, value: Value<'a>) {
        self.stack.push(value);
    }

    fn go(&mut self, to: u32) {
        self.at = to as usize;
    }

    fn charge_if(&mut self, charge: bool) {
        if charge {
            self.meter.charge(SELECT);
        }
    }

    fn set(&mut self, slot: u32, value: Option<Value<'a>>) {
        if let Some(place) = self.slots.get_mut(slot as usize) {
            *place = value;
        }
    }

    fn slot(&self, slot: u32) -> Option<&Value<'a>> {
        self.slots.get(slot as usize).and_then(Option::as_ref)
    }

    fn take(&mut self, slot: u32) -> Value<'a> {
        self.slots.get_mut(slot as usize).and_then(Option::take).unwrap_or(Value::Null)
    }

    fn constant(&self, place: u32) -> Value<'a> {
        let code: &'a Code = self.code;
        code.constants.get(place as usize).map_or(Value::Null, Value::borrowed)
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Constant(place) => {
                let value = self.constant(place);
                self.push(value);
            }
            Op::Variable { place, charge } => {
                let value = self.bindings.get(place as usize).cloned();
                self.push(value.map_or_else(|| Value::error("no such attribute(s)"), Value::reread));
                self.charge_if(charge);
            }
            Op::Local { slot, charge } => {
                let value = self.slot(slot).cloned().unwrap_or(Value::Null);
                self.push(value.reread());
                self.charge_if(charge);
            }
            Op::Bound { slot, block, charge } => match self.slot(slot).cloned() {
                Some(value) => {
                    self.push(value.reread());
                    self.charge_if(charge);
                }
                None => {
                    // The block comes back here, where the name is known then.
                    self.returns.push(self.at - 1);
                    self.go(block);
                }
            },
            Op::EndBlock { slot } => {
                let value = self.pop();
                self.set(slot, Some(value));
                self.at = self.returns.pop().unwrap_or(usize::MAX);
            }
            Op::Select { key, mode } => self.select(key, mode),
            Op::Guard { to, charge } => {
                if matches!(self.stack.last(), Some(Value::Error(_) | Value::Optional(None))) {
                    self.charge_if(charge);
                    self.go(to);
                }
            }
            Op::Index(mode) => self.index(mode),
            Op::First { stop, to } => self.first(stop, to),
            Op::Combine { stop, to } => self.combine(stop, to),
            Op::Branch { otherwise, end } => match self.pop() {
                Value::Bool(true) => {}
                Value::Bool(false) => self.go(otherwise),
                Value::Error(message) => {
                    self.push(Value::Error(message));
                    self.go(end);
                }
                _ => {
                    self.push(no_such_overload());
                    self.go(end);
                }
            },
            Op::Jump { to } => self.go(to),
            Op::Bail { below, to, charge } => {
                if matches!(self.stack.last(), Some(Value::Error(_))) {
                    self.bail(below, to, charge);
                }
            }
            Op::Require { below, to, charge } => self.require(below, to, charge),
            Op::List { count, optional } => self.list(count as usize, optional),
            Op::Map { count, optional } => self.map(count as usize, optional),
            Op::Message(message) => self.message(message),
            Op::Call(site) => self.call(site),
            Op::Equal { negate } => self.equal(negate),
            Op::Among(set) => self.among(set),
            Op::Or { unwrap, to } => self.or(unwrap, to),
            Op::Begin { fold, to } => self.begin(fold as usize, to),
            Op::Next { to } => self.next(to),
            Op::While { to } => {
                if matches!(self.pop(), Value::Bool(false)) {
                    self.go(to);
                }
            }
            Op::Gather { slot, to } => {
                let value = self.pop();
                self.set(slot, Some(value));
                self.go(to);
            }
            Op::End => {
                self.loops.pop();
            }
            Op::Append { slot, charge } => self.append(slot, charge),
            Op::Reread => {
                let value = self.pop();
                self.push(value.reread());
            }
            Op::Refund => self.meter.cost = self.meter.cost.saturating_sub(SELECT),
            Op::Drop => {
                self.stack.pop();
            }
            Op::Insert { slot } => self.insert(slot),
            Op::InsertAll { slot } => self.insert_all(slot),
        }
    }

    fn first(&mut self, stop: bool, to: u32) {
        match self.stack.last() {
            Some(Value::Bool(value)) => {
                if *value == stop {
                    self.go(to);
                }
            }
            Some(Value::Error(_)) => {}
            _ => {
                self.pop();
                self.push(no_such_overload());
            }
        }
    }

    fn combine(&mut self, stop: bool, to: u32) {
        let value = self.pop();
        match value {
            Value::Bool(value) if value == stop => {
                self.pop();
                self.push(Value::Bool(stop));
                self.go(to);
            }
            Value::Bool(_) => {}
            // The first error is the one that remains.
            value => {
                if matches!(self.stack.last(), Some(Value::Bool(_))) {
                    self.pop();
                    self.push(if value.is_error() { value } else { no_such_overload() });
                }
            }
        }
    }

    fn bail(&mut self, below: u32, to: u32, charge: u32) {
        let error = self.pop();
        let rest = self.stack.len().saturating_sub(below as usize);
        self.stack.truncate(rest);
        self.push(error);
        self.meter.charge(u64::from(charge));
        self.go(to);
    }

    fn require(&mut self, below: u32, to: u32, charge: u32) {
        match self.stack.last() {
            Some(Value::Optional(_)) => {}
            Some(Value::Error(_)) => self.bail(below, to, charge),
            _ => {
                self.pop();
                self.push(Value::error("cannot initialize optional entry from non-optional value"));
                self.bail(below, to, charge);
            }
        }
    }

    fn call(&mut self, site: u32) {
        let code: &'a Code = self.code;
        let Some(site) = code.sites.get(site as usize) else { return };
        let start = self.stack.len().saturating_sub(site.arguments);
        let arguments = self.stack.get(start..).unwrap_or_default();
        let result = Self::called(site, arguments, &mut self.meter);
        if site.rule.breaks(arguments) {
            self.meter.broken = Some("internal error: the list to compare is none");
            return;
        }
        self.meter.charge(site.rule.cost(arguments, &result));
        self.stack.truncate(start);
        self.stack.push(result);
    }

    fn called(site: &'a Site, arguments: &[Value<'a>], meter: &mut Meter) -> Value<'a> {
        if !site.lenient
            && let Some(error) = arguments.iter().find(|argument| argument.is_error())
        {
            return error.clone();
        }
        // Where the pattern is known beforehand, Kubernetes has put another function into the place of this one.
        let unfit = || match site.pattern {
            Some(_) => no_such_overload(),
            None => unfit(site.function.name, arguments),
        };
        if site.guard.is_some_and(|overload| !overload.takes(arguments)) {
            return unfit();
        }
        if !arguments.iter().all(|argument| meter.read(argument.bytes())) {
            return too_much();
        }
        let mut scene = Scene { meter, pattern: site.pattern.as_ref() };
        let result = match site.call {
            Some(call) => call(&mut scene, arguments),
            None => site.function.dispatch(site.member, &mut scene, arguments).unwrap_or_else(unfit),
        };
        if result.is_error() { site.function.told(arguments, result) } else { result }
    }

    fn equal(&mut self, negate: bool) {
        let right = self.pop();
        let left = self.pop();
        let pair = [left, right];
        let rule = if negate { Rule::ReadShorter } else { Rule::Equality };
        let [left, right] = &pair;
        let result = match (left, right) {
            (Value::Error(_), _) => left.clone(),
            (_, Value::Error(_)) => right.clone(),
            _ => match equal(left, right, &mut self.meter.allowance.work) {
                Equality::Equal => Value::Bool(!negate),
                Equality::Different => Value::Bool(negate),
                Equality::NotComparable if negate => Value::Bool(true),
                Equality::NotComparable => no_such_overload(),
                Equality::TooMuch => too_much(),
            },
        };
        self.meter.charge(rule.cost(&pair, &result));
        self.push(result);
    }

    fn among(&mut self, set: u32) {
        if matches!(self.stack.last(), Some(Value::Error(_))) {
            return;
        }
        let value = self.pop();
        if !self.meter.read(value.bytes()) {
            return self.push(too_much());
        }
        let found = self.code.sets.get(set as usize).is_some_and(|set| set.contains(&value));
        self.push(Value::Bool(found));
    }

    fn or(&mut self, unwrap: bool, to: u32) {
        match self.stack.last() {
            Some(Value::Optional(None)) => {
                self.pop();
            }
            Some(Value::Optional(Some(value))) => {
                if unwrap {
                    let value = Arc::clone(value);
                    self.pop();
                    self.push((*value).clone());
                }
                self.go(to);
            }
            _ => self.go(to),
        }
    }
}
