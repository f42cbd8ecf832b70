//! A checked tree into a flat program, with constants folded where Kubernetes folds them and nowhere else: what it
//! folds costs nothing, and what it does not fold costs something.

mod build;
mod constants;
mod fold;

use std::collections::HashMap;

use super::ast::{Ast, Expr, ExprId, Literal};
use super::check::{Checked, Meaning};
use super::cost::Rule;
use super::diagnostic::Diagnostic;
use super::functions::regex::Pattern;
use super::functions::{Function, Overload};
use super::program::{Code, Mode, Op, Site};
use super::types::Shape;
use super::value::Value;

pub(crate) use constants::Set;

/// Compiles the checked expression `root`.
pub(crate) fn compile(ast: &Ast, root: ExprId, checked: &Checked) -> Result<Code, Diagnostic> {
    let mut compiler = Compiler {
        ast,
        checked,
        code: Code::default(),
        constants: HashMap::new(),
        folded: vec![None; ast.len()],
        scope: Vec::new(),
        jump: 0,
    };
    compiler.value(root).map_err(|diagnostic| *diagnostic)?;
    Ok(compiler.code)
}

type Result<T = (), E = Box<Diagnostic>> = std::result::Result<T, E>;

/// A name that is in scope: its slot, and the block that computes it if it is bound lazily.
#[derive(Clone, Copy)]
struct Known {
    slot: u32,
    block: Option<u32>,
}

struct Compiler<'c> {
    ast: &'c Ast,
    checked: &'c Checked,
    code: Code,
    /// Where text constants are, so that each is kept once.
    constants: HashMap<String, u32>,
    /// The constant a node is, once asked for.
    folded: Vec<Option<Option<Value<'static>>>>,
    scope: Vec<Known>,
    jump: u32,
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl Compiler<'_> {
    fn emit(&mut self, op: Op) -> usize {
        self.code.operations.push(op);
        self.code.operations.len() - 1
    }

    fn here(&self) -> u32 {
        number(self.code.operations.len())
    }

    /// Lets the jump at `at` go to what is emitted next.
    fn land(&mut self, at: usize) {
        let here = self.here();
        if let Some(
            Op::Guard { to, .. }
            | Op::Combine { to, .. }
            | Op::First { to, .. }
            | Op::Branch { end: to, .. }
            | Op::Jump { to }
            | Op::Bail { to, .. }
            | Op::Require { to, .. }
            | Op::Or { to, .. }
            | Op::Begin { to, .. }
            | Op::Next { to }
            | Op::While { to },
        ) = self.code.operations.get_mut(at)
        {
            *to = here;
        }
    }

    fn land_all(&mut self, all: &[usize]) {
        for at in all {
            self.land(*at);
        }
    }

    fn refuse<T>(&self, at: ExprId, message: impl Into<String>) -> Result<T> {
        Err(Box::new(Diagnostic::new(self.ast.span(at), message)))
    }

    fn constant(&mut self, value: Value<'static>) -> u32 {
        if let Value::String(text) = &value {
            if let Some(known) = self.constants.get(&**text) {
                return *known;
            }
            self.constants.insert((**text).to_owned(), number(self.code.constants.len()));
        }
        self.code.constants.push(value);
        number(self.code.constants.len() - 1)
    }

    /// Emits what pushes the value of `id`, with all it costs.
    fn value(&mut self, id: ExprId) -> Result {
        if let Some(value) = self.folded(id)? {
            let place = self.constant(value);
            self.emit(Op::Constant(place));
            return Ok(());
        }
        match self.ast.expr(id) {
            Expr::Literal(_) => Ok(()),
            Expr::Message { name, fields } => self.message(name, fields),
            Expr::Ident(_) | Expr::Select { .. } => self.attribute(id, true, false),
            Expr::Call { function, .. } if is_attribute_call(function) => self.attribute(id, true, false),
            Expr::Call { .. } => self.call(id),
            Expr::List(elements) => self.list(elements),
            Expr::Map(entries) => self.map(entries),
            Expr::Comprehension(fold) => self.fold(fold),
        }
    }

    /// Emits `id` where Kubernetes resolves names and selections without counting the chain itself.
    fn resolved(&mut self, id: ExprId) -> Result {
        if self.is_attribute(id)? { self.attribute(id, false, false) } else { self.value(id) }
    }

    /// Emits `id` where a selection follows.
    fn operand(&mut self, id: ExprId) -> Result {
        if self.is_attribute(id)? { self.attribute(id, false, true) } else { self.value(id) }
    }

    fn is_attribute(&mut self, id: ExprId) -> Result<bool> {
        if self.folded(id)?.is_some() {
            return Ok(false);
        }
        Ok(match self.ast.expr(id) {
            Expr::Ident(_) | Expr::Select { .. } => true,
            Expr::Call { function, .. } => is_attribute_call(function),
            _ => false,
        })
    }

    /// Whether a chain of selections begins with a condition, which makes the chain itself free.
    fn begins_with_condition(&self, id: ExprId) -> bool {
        let mut at = id;
        loop {
            match self.ast.expr(at) {
                Expr::Select { operand, .. } => at = *operand,
                Expr::Call { function, arguments, .. } if function == "_?_:_" => {
                    return !arguments.is_empty();
                }
                Expr::Call { function, arguments, .. } if is_attribute_call(function) => {
                    match arguments.first() {
                        Some(operand) => at = *operand,
                        None => return false,
                    }
                }
                _ => return false,
            }
        }
    }

    fn attribute(&mut self, id: ExprId, charge: bool, followed: bool) -> Result {
        match self.ast.expr(id) {
            Expr::Ident(_) => {
                self.name(id, charge);
                Ok(())
            }
            Expr::Select { .. } if self.checked.meaning(id).is_some() => {
                self.name(id, charge);
                Ok(())
            }
            Expr::Select { operand, field, test } => {
                self.operand(*operand)?;
                let key = self.constant(Value::text(field.as_ref()));
                let free = self.begins_with_condition(*operand);
                let mode = Mode { optional: false, test: *test, charge: charge && !test && !free, followed };
                self.emit(Op::Select { key, mode });
                // Kubernetes takes what a chain costs itself off again for `has`, also if the chain costs nothing.
                if charge && *test && free {
                    self.emit(Op::Refund);
                }
                Ok(())
            }
            Expr::Call { function, arguments, .. } => match (function.as_ref(), arguments.as_slice()) {
                ("_?_:_", [condition, then, otherwise]) => {
                    self.condition(*condition, [*then, *otherwise], followed)
                }
                (_, [operand, key]) => {
                    let mode = Mode { optional: function != "_[_]", test: false, charge, followed };
                    self.index(*operand, *key, mode)
                }
                _ => Ok(()),
            },
            _ => self.value(id),
        }
    }

    fn name(&mut self, id: ExprId, charge: bool) {
        match self.checked.meaning(id) {
            Some(Meaning::Variable(place)) => {
                self.emit(Op::Variable { place: number(place), charge });
            }
            Some(Meaning::Local(place)) => {
                if let Some(Known { slot, block }) = self.scope.get(place).copied() {
                    self.emit(match block {
                        Some(block) => Op::Bound { slot, block, charge },
                        None => Op::Local { slot, charge },
                    });
                }
            }
            _ => {}
        }
    }

    fn condition(&mut self, condition: ExprId, [then, otherwise]: [ExprId; 2], followed: bool) -> Result {
        self.value(condition)?;
        let branch = self.emit(Op::Branch { otherwise: self.jump, end: self.jump });
        self.chosen(then, followed)?;
        let over = self.emit(Op::Jump { to: self.jump });
        let here = self.here();
        if let Some(Op::Branch { otherwise, .. }) = self.code.operations.get_mut(branch) {
            *otherwise = here;
        }
        self.chosen(otherwise, followed)?;
        self.land_all(&[branch, over]);
        Ok(())
    }

    /// A branch of a condition.
    fn chosen(&mut self, id: ExprId, followed: bool) -> Result {
        let computed = !self.is_attribute(id)?;
        if followed {
            self.operand(id)?
        } else {
            self.resolved(id)?
        }
        if computed && matches!(self.checked.shape(id), Shape::Optional(_) | Shape::Dyn) {
            self.emit(Op::Reread);
        }
        Ok(())
    }

    fn index(&mut self, operand: ExprId, key: ExprId, mut mode: Mode) -> Result {
        self.operand(operand)?;
        mode.charge &= !self.begins_with_condition(operand);
        if let Some(value) = self.folded(key)? {
            if !matches!(
                value,
                Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_)
            ) {
                return self.refuse(key, format!("invalid qualifier type: {}", value.type_name()));
            }
            let key = self.constant(value);
            self.emit(Op::Select { key, mode });
            return Ok(());
        }
        let guard = self.emit(Op::Guard { to: self.jump, charge: mode.charge });
        self.resolved(key)?;
        self.emit(Op::Index(mode));
        self.land(guard);
        Ok(())
    }

    fn call(&mut self, id: ExprId) -> Result {
        let (Expr::Call { target, arguments, .. }, Some(Meaning::Call(function, overload))) =
            (self.ast.expr(id), self.checked.meaning(id))
        else {
            return Ok(());
        };
        // A function whose name holds dots has no target, whatever its text looks like.
        let target = target
            .filter(|_| overload.is_none_or(|overload| overload.member) && !function.name.contains('.'));
        let all: Vec<ExprId> = target.into_iter().chain(arguments.iter().copied()).collect();
        match (function.name, all.as_slice()) {
            ("_&&_", terms) => self.terms(terms, false),
            ("_||_", terms) => self.terms(terms, true),
            ("_==_" | "_!=_", [left, right]) => {
                self.value(*left)?;
                self.value(*right)?;
                self.emit(Op::Equal { negate: function.name == "_!=_" });
                Ok(())
            }
            ("or" | "orValue", [left, right]) => {
                self.value(*left)?;
                let or = self.emit(Op::Or { unwrap: function.name == "orValue", to: self.jump });
                self.value(*right)?;
                self.land(or);
                Ok(())
            }
            ("@in", [element, list]) if overload.is_some_and(|overload| overload.id == "in_list") => {
                if let Some(set) = self.set(*list)? {
                    self.value(*element)?;
                    self.code.sets.push(set);
                    let set = number(self.code.sets.len() - 1);
                    self.emit(Op::Among(set));
                    return Ok(());
                }
                self.invoke(function, overload, false, &all)
            }
            _ => self.invoke(function, overload, target.is_some(), &all),
        }
    }

    /// A chain of `&&`, or of `||`, which ends early with a term that is `stop`.
    fn terms(&mut self, terms: &[ExprId], stop: bool) -> Result {
        let mut ends = Vec::new();
        for (at, term) in terms.iter().enumerate() {
            self.value(*term)?;
            let to = self.jump;
            ends.push(self.emit(if at == 0 { Op::First { stop, to } } else { Op::Combine { stop, to } }));
        }
        self.land_all(&ends);
        Ok(())
    }

    fn invoke(
        &mut self,
        function: &'static Function,
        overload: Option<&'static Overload>,
        member: bool,
        arguments: &[ExprId],
    ) -> Result {
        let pattern = match (function.name, arguments.get(1)) {
            ("matches" | "find" | "findAll", Some(pattern)) => self.pattern(*pattern)?,
            _ => None,
        };
        // With more than two arguments, or an implementation of any number of them, the first error ends the call
        // before the rest is computed, and the call is not charged for.
        let any_number = arguments.len() > 2
            || pattern.is_some()
            || function.name == "format"
            || (overload.is_none() && !function.single && function.overloads.len() > 1);
        let mut ends = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            self.value(*argument)?;
            if any_number && at + 1 < arguments.len() {
                ends.push(self.emit(Op::Bail { below: number(at), to: self.jump, charge: 0 }));
            }
        }
        self.code.sites.push(Site {
            function,
            member,
            call: overload.map(|overload| overload.call),
            // Always: a type found out from use may be another one than the value's, once `dyn` was between.
            guard: overload.filter(|_| !function.single),
            rule: Rule::of(function.name, overload.map(|overload| overload.id)),
            arguments: arguments.len(),
            pattern,
            lenient: function.name == "@not_strictly_false",
        });
        let site = number(self.code.sites.len() - 1);
        self.emit(Op::Call(site));
        self.land_all(&ends);
        Ok(())
    }

    /// The pattern written as a constant, compiled.
    fn pattern(&mut self, id: ExprId) -> Result<Option<Pattern>> {
        let Some(Value::String(text)) = self.folded(id)? else { return Ok(None) };
        match Pattern::compile(&text) {
            Ok(pattern) => Ok(Some(pattern)),
            Err(message) => self.refuse(id, message),
        }
    }

    fn is_type(&self, id: ExprId) -> bool {
        matches!(self.checked.shape(id), Shape::Type(_))
    }

    fn literal(literal: &Literal) -> Value<'static> {
        match literal {
            Literal::Null => Value::Null,
            Literal::Bool(value) => Value::Bool(*value),
            Literal::Int(value) => Value::Int(*value),
            Literal::Uint(value) => Value::Uint(*value),
            Literal::Double(value) => Value::Double(*value),
            Literal::String(text) => Value::text(text.clone()),
            Literal::Bytes(bytes) => Value::Bytes(bytes.clone()),
        }
    }
}

/// Calls that look into a value or choose between two.
fn is_attribute_call(function: &str) -> bool {
    matches!(function, "_[_]" | "_[?_]" | "_?._" | "_?_:_")
}
