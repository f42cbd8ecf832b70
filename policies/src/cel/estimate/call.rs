//! Calls: what they cost, and how large what they give is.

use super::{Estimator, Part, sum};
use crate::cel::ast::{Expr, ExprId, Literal};
use crate::cel::check::Meaning;
use crate::cel::cost::Rule;
use crate::cel::functions::format::{Piece, pieces};
use crate::cel::schema::MAXIMUM_REQUEST;
use crate::cel::types::Shape;

/// Characters of a number or a time written out, at most.
const WRITTEN: u64 = 40;

impl<'e> Estimator<'e> {
    pub(super) fn call(&mut self, id: ExprId, target: Option<ExprId>, arguments: &[ExprId]) -> Part<'e> {
        let Some(Meaning::Call(function, overload)) = self.checked.meaning(id) else {
            // `a.?b`, whose field the check looks up itself.
            return match arguments {
                [operand, key] => self.index(id, *operand, *key),
                _ => self.unknown(id),
            };
        };
        let target = target
            .filter(|_| overload.is_none_or(|overload| overload.member) && !function.name.contains('.'));
        let all: Vec<ExprId> = target.into_iter().chain(arguments.iter().copied()).collect();
        match (function.name, all.as_slice()) {
            ("_[_]" | "_[?_]" | "_?._", [operand, key]) => return self.index(id, *operand, *key),
            ("_&&_" | "_||_", terms) => {
                return Part::sized(1).costing(sum(terms.iter().map(|term| self.part(*term).cost)));
            }
            ("_?_:_", [condition, then, otherwise]) => {
                let chosen = self.part(*then).either(self.part(*otherwise));
                return chosen.costing(self.part(*condition).cost.saturating_add(chosen.cost));
            }
            ("or" | "orValue", [left, right]) => {
                let (left, right) = (self.part(*left), self.part(*right));
                return left.either(right).costing(left.cost.saturating_add(right.cost));
            }
            ("@in", [element, list]) if self.is_set(*list) => {
                return Part::sized(1).costing(self.part(*element).cost.saturating_add(1));
            }
            _ => {}
        }
        let parts: Vec<Part<'e>> = all.iter().map(|argument| self.part(*argument)).collect();
        let given = self.given(id, function.name, &all, &parts);
        let mut sizes: Vec<u64> = parts.iter().map(|part| part.size).collect();
        let rule = Rule::of(function.name, overload.map(|overload| overload.id));
        if rule == Rule::Flatten
            && let (Some(depth), Some(size)) = (all.get(1), sizes.get_mut(1))
        {
            *size = self.whole(*depth).unwrap_or(u64::MAX);
        }
        let each = match all.first() {
            Some(first) if rule == Rule::Walk && self.holds_more(*first) => MAXIMUM_REQUEST,
            _ => parts.first().map_or(1, |part| part.each),
        };
        let own = rule.worst(&sizes, each, given.size);
        given.costing(sum(parts.iter().map(|part| part.cost)).saturating_add(own))
    }

    fn index(&mut self, id: ExprId, operand: ExprId, key: ExprId) -> Part<'e> {
        let (inside, key_part) = (self.part(operand), self.part(key));
        let named = match self.ast.expr(key) {
            Expr::Literal(Literal::String(field)) => inside.bound.and_then(|bound| bound.field(field)),
            _ => None,
        };
        let found = match named {
            Some(bound) => Part::bounded(bound),
            None if inside.bound.is_some_and(|bound| bound.each().is_some()) => inside.element(),
            None => self.unknown(id),
        };
        found.costing(self.selected(operand, inside.cost).saturating_add(key_part.cost))
    }

    /// Whether it is a list whose elements have elements, or may have.
    fn holds_more(&self, id: ExprId) -> bool {
        match self.checked.shape(id) {
            Shape::List(of) => {
                let of = self.checked.types.shape(*of);
                !(of.is_scalar() || matches!(of, Shape::String | Shape::Bytes))
            }
            _ => false,
        }
    }

    /// Whether it is a list of scalars, among which an element is found at once.
    fn is_set(&self, id: ExprId) -> bool {
        match self.ast.expr(id) {
            Expr::List(elements) => elements
                .iter()
                .all(|element| !element.optional && matches!(self.ast.expr(element.value), Expr::Literal(_))),
            _ => false,
        }
    }

    /// The number that is written as `id`.
    fn whole(&self, id: ExprId) -> Option<u64> {
        match self.ast.expr(id) {
            Expr::Literal(Literal::Int(value)) => u64::try_from(*value).ok(),
            Expr::Literal(Literal::Uint(value)) => Some(*value),
            _ => None,
        }
    }

    /// Characters of a text that is made by this format.
    fn formatted(&self, format: ExprId, values: ExprId, parts: &[Part<'e>]) -> u64 {
        let Expr::Literal(Literal::String(format)) = self.ast.expr(format) else { return u64::MAX };
        let elements = match self.ast.expr(values) {
            Expr::List(elements) if elements.iter().all(|element| !element.optional) => elements.as_slice(),
            _ => &[],
        };
        let each = parts.get(1).map_or(u64::MAX, |values| values.each);
        let mut values = elements.iter().map(|element| self.checked.shape(element.value));
        sum(pieces(format).map(|piece| match piece {
            Ok(Piece::Plain(text)) => text.chars().count() as u64,
            Ok(Piece::Clause(clause)) => clause.longest(values.next().unwrap_or(&Shape::Dyn), each),
            // Nothing is written where nothing is understood.
            Err(_) => 0,
        }))
    }

    /// What a function gives.
    fn given(&self, id: ExprId, function: &str, all: &[ExprId], parts: &[Part<'e>]) -> Part<'e> {
        let part = |at: usize| parts.get(at).copied().unwrap_or_default();
        let (first, second, third) = (part(0), part(1), part(2));
        let text = first.size;
        match function {
            "_+_" => Part {
                size: match self.unknown(id).size {
                    1 => 1,
                    _ => first.size.saturating_add(second.size),
                },
                each: first.each.max(second.each),
                key: first.key.max(second.key),
                ..Part::default()
            },
            "dyn"
            | "value"
            | "optional.of"
            | "optional.ofNonZeroValue"
            | "reverse"
            | "distinct"
            | "sort"
            | "slice"
            | "@sortByAssociatedKeys" => first,
            "first" | "last" => first.element(),
            "lowerAscii" | "upperAscii" | "trim" | "substring" | "charAt" | "find" => Part::sized(text),
            "jsonpatch.escapeKey" => Part::sized(text.saturating_mul(2)),
            "strings.quote" => Part::sized(text.saturating_mul(2).saturating_add(2)),
            "bytes" => Part::sized(text.saturating_mul(4)),
            "string" => Part::sized(text.max(WRITTEN)),
            "replace" => {
                let shortest = match all.get(1).map(|from| self.ast.expr(*from)) {
                    Some(Expr::Literal(Literal::String(from))) => from.chars().count() as u64,
                    _ => 0,
                };
                let times = text.checked_div(shortest).unwrap_or(text.saturating_add(1));
                Part::sized(times.saturating_mul(third.size).saturating_add(text))
            }
            "split" => {
                let most = all.get(2).and_then(|limit| self.whole(*limit)).unwrap_or(u64::MAX);
                Part { each: text, ..Part::sized(most.min(text.saturating_add(1))) }
            }
            "findAll" => Part { each: text, ..Part::sized(text.saturating_add(1)) },
            "join" => Part::sized(text.saturating_mul(first.each.saturating_add(second.size))),
            "format" => Part::sized(match all {
                [format, values] => self.formatted(*format, *values, parts),
                _ => u64::MAX,
            }),
            "flatten" => Part { size: text.saturating_mul(first.each), ..first },
            "lists.range" => {
                let most = all.first().and_then(|limit| self.whole(*limit)).unwrap_or(u64::MAX);
                Part { each: 1, ..Part::sized(most) }
            }
            "cel.@mapInsert" => match parts {
                [map, key, value] => {
                    Part { key: map.key.max(key.size), each: map.each.max(value.size), ..*map }
                }
                [map, entries] => map.either(*entries),
                _ => self.unknown(id),
            },
            _ => self.unknown(id),
        }
    }
}
