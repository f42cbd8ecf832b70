//! What an expression can cost at most, before anything is known but types.
//!
//! Every part has a cost and a size; a loop costs its body as often as its range is long. What comes from outside is as
//! large as its schema says, or as what fits into a request. Branches count with the dearer one.

mod call;

use super::ast::{Ast, Comprehension, Entry, Expr, ExprId, Literal};
use super::check::{Checked, Meaning};
use super::cost::{LIST, MAP, MESSAGE, SELECT};
use super::declare::Declarations;
use super::schema::{Bound, MAXIMUM_REQUEST};
use super::types::Shape;

/// The cost of the checked expression `root`, at most.
pub(crate) fn estimate(ast: &Ast, root: ExprId, checked: &Checked, declarations: &Declarations) -> u64 {
    Estimator { ast, checked, declarations, scope: Vec::new() }.part(root).cost
}

/// What is known of a part of an expression.
#[derive(Clone, Copy, Debug, Default)]
struct Part<'b> {
    cost: u64,
    /// Characters, elements or entries.
    size: u64,
    /// The size of each element or value.
    each: u64,
    /// The size of each key.
    key: u64,
    bound: Option<&'b Bound>,
}

impl<'b> Part<'b> {
    /// A value of this size that nothing is known of otherwise.
    fn sized(size: u64) -> Self {
        Self { size, each: MAXIMUM_REQUEST, key: MAXIMUM_REQUEST, ..Self::default() }
    }

    fn bounded(bound: &'b Bound) -> Self {
        let each = bound.each().map_or(MAXIMUM_REQUEST, |each| each.size);
        Self { cost: 0, size: bound.size, each, key: bound.key(), bound: Some(bound) }
    }

    fn costing(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// Something that is one or the other.
    fn either(self, other: Self) -> Self {
        Self {
            cost: self.cost.max(other.cost),
            size: self.size.max(other.size),
            each: self.each.max(other.each),
            key: self.key.max(other.key),
            bound: self.bound.filter(|bound| other.bound == Some(bound)),
        }
    }

    /// An element or a value of it.
    fn element(self) -> Self {
        match self.bound.and_then(Bound::each) {
            Some(each) => Self::bounded(each),
            None => Self { size: self.each, ..Self::sized(self.each) },
        }
    }
}

struct Estimator<'e> {
    ast: &'e Ast,
    checked: &'e Checked,
    declarations: &'e Declarations,
    /// The variables of the loops around, outermost first.
    scope: Vec<Part<'e>>,
}

impl<'e> Estimator<'e> {
    /// A value of the type of `id`, which is as large as any.
    fn unknown(&self, id: ExprId) -> Part<'e> {
        match self.checked.shape(id) {
            shape if shape.is_scalar() => Part::sized(1),
            // The bytes of an address.
            Shape::Opaque(_) => Part::sized(16),
            _ => Part::sized(MAXIMUM_REQUEST),
        }
    }

    /// Whether it is computed once, before any evaluation.
    fn is_constant(&self, id: ExprId) -> bool {
        match self.ast.expr(id) {
            Expr::Literal(_) => true,
            Expr::List(elements) => {
                elements.iter().all(|element| !element.optional && self.is_constant(element.value))
            }
            Expr::Map(entries) => entries.iter().all(|Entry { key, value, optional }| {
                !optional && self.is_constant(*key) && self.is_constant(*value)
            }),
            _ => false,
        }
    }

    fn is_attribute(&self, id: ExprId) -> bool {
        match self.ast.expr(id) {
            Expr::Ident(_) | Expr::Select { .. } => true,
            Expr::Call { function, .. } => matches!(function.as_ref(), "_[_]" | "_[?_]" | "_?._"),
            _ => false,
        }
    }

    fn part(&mut self, id: ExprId) -> Part<'e> {
        let ast = self.ast;
        match ast.expr(id) {
            Expr::Literal(literal) => Part::sized(match literal {
                Literal::String(text) => text.chars().count() as u64,
                Literal::Bytes(bytes) => bytes.len() as u64,
                _ => 1,
            }),
            Expr::Ident(_) => self.name(id),
            Expr::Select { .. } if self.checked.meaning(id).is_some() => self.name(id),
            Expr::Select { operand, field, .. } => {
                let operand_part = self.part(*operand);
                let found = match operand_part.bound.and_then(|bound| bound.field(field)) {
                    Some(bound) => Part::bounded(bound),
                    None => self.unknown(id),
                };
                found.costing(self.selected(*operand, operand_part.cost))
            }
            Expr::List(elements) => {
                let parts: Vec<Part<'e>> = elements.iter().map(|element| self.part(element.value)).collect();
                let made = if self.is_constant(id) { 0 } else { LIST };
                Part {
                    cost: sum(parts.iter().map(|part| part.cost)).saturating_add(made),
                    size: elements.len() as u64,
                    each: parts.iter().map(|part| part.size).max().unwrap_or(0),
                    ..Part::sized(0)
                }
            }
            Expr::Map(entries) => self.map(id, entries),
            Expr::Message { fields, .. } => {
                let cost = sum(fields.iter().map(|field| self.part(field.value).cost));
                self.unknown(id).costing(cost.saturating_add(MESSAGE))
            }
            Expr::Comprehension(fold) => self.fold(fold),
            Expr::Call { target, arguments, .. } => self.call(id, *target, arguments),
        }
    }

    /// The cost of looking into an operand: one for the step, and one for the chain if it begins here.
    fn selected(&self, operand: ExprId, cost: u64) -> u64 {
        let chain = if self.is_attribute(operand) { 0 } else { SELECT };
        cost.saturating_add(SELECT).saturating_add(chain)
    }

    fn name(&self, id: ExprId) -> Part<'e> {
        let known = match self.checked.meaning(id) {
            Some(Meaning::Variable(place)) => self.declarations.bound(place).map(Part::bounded),
            Some(Meaning::Local(place)) => self.scope.get(place).copied(),
            Some(Meaning::Type(_)) => return Part::sized(1),
            _ => None,
        };
        known.unwrap_or_else(|| self.unknown(id)).costing(SELECT)
    }

    fn map(&mut self, id: ExprId, entries: &[Entry]) -> Part<'e> {
        let mut made = Part { size: entries.len() as u64, ..Part::default() };
        for entry in entries {
            let (key, value) = (self.part(entry.key), self.part(entry.value));
            made.cost = made.cost.saturating_add(key.cost).saturating_add(value.cost);
            made.key = made.key.max(key.size);
            made.each = made.each.max(value.size);
        }
        if !self.is_constant(id) {
            made.cost = made.cost.saturating_add(MAP);
        }
        made
    }

    fn fold(&mut self, fold: &Comprehension) -> Part<'e> {
        let range = self.part(fold.range);
        let initial = self.part(fold.initial);
        // A bound name is a loop over nothing.
        let binds = matches!(self.ast.expr(fold.range), Expr::List(elements) if elements.is_empty());
        let gathers = !binds && matches!(self.ast.expr(fold.initial), Expr::List(_) | Expr::Map(_));
        let accumulator =
            if gathers { Part { size: range.size, ..initial.costing(0) } } else { initial.costing(0) };
        let is_map = matches!(self.checked.shape(fold.range), Shape::Map(..));
        let is_list = matches!(self.checked.shape(fold.range), Shape::List(_));
        let (key, element) = (Part::sized(range.key), range.element());
        let first = match (&fold.second, is_map, is_list) {
            (Some(_), _, true) => Part::sized(1),
            (Some(_), _, false) | (None, true, _) => key,
            (None, false, true) => element,
            (None, false, false) => key.either(element),
        };
        self.scope.extend([accumulator, first, element]);
        let step = self.part(fold.step);
        let condition = self.part(fold.condition);
        self.scope.truncate(self.scope.len() - 2);
        let gathered =
            if gathers { Part { each: step.each, key: step.key, ..accumulator } } else { accumulator };
        if let Some(last) = self.scope.last_mut() {
            *last = gathered;
        }
        let result = self.part(fold.result);
        self.scope.pop();
        let body = range.size.saturating_mul(step.cost.saturating_add(condition.cost));
        result.costing(sum([range.cost, initial.cost, body, result.cost]))
    }
}

fn sum(costs: impl IntoIterator<Item = u64>) -> u64 {
    costs.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
