//! Runs a program: one loop over its operations, with stacks of its own.

mod select;

use std::sync::Arc;

use super::cost::{LIST, MAP, MESSAGE, Meter, Rule, SELECT, too_much};
use super::functions::{Scene, no_such_overload};
use super::program::{Code, Op, Site};
use super::value::{Equality, List, Made, Map, Object, Text, Value, equal};

/// The error of an expression that costs more than it may.
const OVER: &str = "operation cancelled: actual cost limit exceeded";

/// Evaluates `code` with these variables; the cost is in `meter` afterwards.
pub(crate) fn evaluate<'a>(code: &'a Code, variables: &'a [Value<'a>], meter: &mut Meter) -> Value<'a> {
    let mut machine = Machine {
        code,
        variables,
        meter,
        stack: Vec::with_capacity(16),
        slots: vec![None; code.slots as usize],
        loops: Vec::new(),
        returns: Vec::new(),
        at: 0,
    };
    machine.run();
    if let Some(reason) = machine.meter.broken {
        return Value::error(reason);
    }
    if machine.meter.ends() {
        return Value::error(OVER);
    }
    machine.stack.pop().unwrap_or(Value::Null)
}

/// A loop that is running.
struct Loop<'a> {
    range: Range<'a>,
    at: usize,
    fold: usize,
}

enum Range<'a> {
    List(List<'a>),
    Map(Map<'a>),
}

struct Machine<'a, 'm> {
    code: &'a Code,
    variables: &'a [Value<'a>],
    meter: &'m mut Meter,
    stack: Vec<Value<'a>>,
    slots: Vec<Option<Value<'a>>>,
    loops: Vec<Loop<'a>>,
    returns: Vec<usize>,
    at: usize,
}

impl<'a> Machine<'a, '_> {
    fn run(&mut self) {
        let operations = &self.code.operations;
        while let Some(op) = operations.get(self.at) {
            self.at += 1;
            self.step(*op);
            if self.meter.ends() {
                return;
            }
        }
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
                let value = self.variables.get(place as usize).cloned();
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
            Op::Index { optional, charge } => self.index(optional, charge),
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
            Op::Drop => {
                self.stack.pop();
            }
            Op::Insert { slot } => self.insert(slot),
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

    fn list(&mut self, count: usize, optional: u32) {
        let items = self.stack.split_off(self.stack.len().saturating_sub(count));
        let items = match self.code.optionals.get(optional as usize) {
            None => items,
            Some(optional) => items
                .into_iter()
                .zip(optional)
                .filter_map(|(item, optional)| match item {
                    Value::Optional(inner) if *optional => inner.map(|inner| (*inner).clone()),
                    item => Some(item),
                })
                .collect(),
        };
        self.push(List::made(items));
        self.meter.charge(LIST);
    }

    fn map(&mut self, count: usize, optional: u32) {
        let parts = self.stack.split_off(self.stack.len().saturating_sub(2 * count));
        let optional = self.code.optionals.get(optional as usize);
        let mut made = Made::default();
        let mut parts = parts.into_iter();
        let mut at = 0;
        while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            let unwraps = optional.and_then(|optional| optional.get(at)).copied().unwrap_or(false);
            at += 1;
            match value {
                Value::Optional(Some(inner)) if unwraps => made.insert(key, (*inner).clone()),
                Value::Optional(None) if unwraps => made.remove(&key),
                value => made.insert(key, value),
            }
        }
        self.push(Map::made(made));
        self.meter.charge(MAP);
    }

    fn message(&mut self, message: u32) {
        let code: &'a Code = self.code;
        let Some(message) = code.messages.get(message as usize) else { return };
        let values = self.stack.split_off(self.stack.len().saturating_sub(message.fields.len()));
        let mut made = Made::default();
        for (value, (name, optional)) in values.into_iter().zip(&message.fields) {
            let name = Value::String(Text::Borrowed(name));
            match value {
                Value::Optional(Some(inner)) if *optional => made.insert(name, (*inner).clone()),
                Value::Optional(None) if *optional => made.remove(&name),
                value => made.insert(name, value),
            }
        }
        self.push(Object::made(&message.name, made));
        self.meter.charge(MESSAGE);
    }

    fn call(&mut self, site: u32) {
        let code: &'a Code = self.code;
        let Some(site) = code.sites.get(site as usize) else { return };
        let start = self.stack.len().saturating_sub(site.arguments);
        let arguments = self.stack.get(start..).unwrap_or_default();
        let result = Self::computed(site, arguments, self.meter);
        if site.rule.breaks(arguments) {
            self.meter.broken = Some("internal error: the list to compare is none");
            return;
        }
        self.meter.charge(site.rule.cost(arguments, &result));
        self.stack.truncate(start);
        self.stack.push(result);
    }

    fn computed(site: &'a Site, arguments: &[Value<'a>], meter: &mut Meter) -> Value<'a> {
        if !site.lenient
            && let Some(error) = arguments.iter().find(|argument| argument.is_error())
        {
            return error.clone();
        }
        if site.guard.is_some_and(|overload| !overload.takes(arguments)) {
            return no_such_overload();
        }
        let mut scene = Scene { meter, pattern: site.pattern.as_ref() };
        match site.call {
            Some(call) => call(&mut scene, arguments),
            None => site.function.dispatch(site.member, &mut scene, arguments),
        }
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
            _ => match equal(left, right, &mut self.meter.work) {
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

    fn begin(&mut self, fold: usize, to: u32) {
        let Some(places) = self.code.folds.get(fold).copied() else { return };
        let range = match self.pop() {
            Value::List(list) => Range::List(list),
            Value::Map(map) => Range::Map(map),
            Value::Error(message) => {
                self.push(Value::Error(message));
                return self.go(to);
            }
            other => {
                let name = other.type_name().to_owned();
                self.push(Value::error(format!("got '{name}', expected iterable type")));
                return self.go(to);
            }
        };
        let initial = places.initial.map(|place| self.constant(place));
        self.set(places.accumulator, initial);
        self.loops.push(Loop { range, at: 0, fold });
    }

    fn next(&mut self, to: u32) {
        let Some(running) = self.loops.last_mut() else { return };
        let at = running.at;
        running.at += 1;
        let Some(places) = self.code.folds.get(running.fold).copied() else { return };
        let index = || Value::Int(i64::try_from(at).unwrap_or(i64::MAX));
        let (first, second) = match (&running.range, places.second) {
            (Range::List(list), None) => (list.get(at), None),
            (Range::List(list), Some(_)) => match list.get(at) {
                Some(item) => (Some(index()), Some(item)),
                None => (None, None),
            },
            (Range::Map(map), second) => match map.entry(at) {
                Some((key, value)) => (Some(key), second.map(|_| value)),
                None => (None, None),
            },
        };
        let Some(first) = first else { return self.go(to) };
        self.set(places.first, Some(first));
        if let Some(slot) = places.second {
            self.set(slot, second);
        }
    }

    fn append(&mut self, slot: u32, charge: u32) {
        let item = self.pop();
        let so_far = self.take(slot);
        self.meter.charge(u64::from(charge));
        let result = match (so_far, item) {
            (Value::Error(message), _) | (_, Value::Error(message)) => Value::Error(message),
            (Value::List(list), item) => list.pushed(item),
            _ => no_such_overload(),
        };
        self.push(result);
    }

    fn insert(&mut self, slot: u32) {
        let value = self.pop();
        let key = self.pop();
        self.meter.charge(1);
        let result = match (self.take(slot), value) {
            (_, Value::Error(message)) => Value::Error(message),
            (Value::Map(map), value) => map.inserted(key, value),
            _ => no_such_overload(),
        };
        self.push(result);
    }
}
