//! Calls that are rewritten while parsing: `has`, the loops over lists and maps, and those over optionals.
//!
//! Every rewriting is the one Kubernetes makes, node for node, because each node has its cost.

use super::ast::{Ast, Comprehension, Element, Expr, ExprId, Literal, Name};
use super::diagnostic::{Diagnostic, Span};

/// The name under which a loop's body sees what has been gathered so far.
pub(crate) const ACCUMULATOR: &str = "__result__";
/// Stands where a loop has no variable; no identifier can be spelled so.
const UNUSED: &str = "#unused";
const SORT_INPUT: &str = "@__sortBy_input__";

/// Rewrites a call if it is one of a macro; `None` leaves it a call.
pub(crate) fn expand(
    ast: &mut Ast,
    function: &str,
    target: Option<ExprId>,
    arguments: &[ExprId],
    span: Span,
) -> Option<Result<ExprId, Box<Diagnostic>>> {
    let mut expansion = Expansion { ast, span };
    match (function, target, arguments) {
        ("has", None, [of]) => Some(expansion.has(*of)),
        ("all", Some(range), [first, body]) => {
            Some(expansion.quantifier(Quantifier::All, range, *first, None, *body))
        }
        ("exists", Some(range), [first, body]) => {
            Some(expansion.quantifier(Quantifier::Exists, range, *first, None, *body))
        }
        ("exists_one" | "existsOne", Some(range), [first, body]) => {
            Some(expansion.quantifier(Quantifier::ExistsOne, range, *first, None, *body))
        }
        ("all", Some(range), [first, second, body]) => {
            Some(expansion.quantifier(Quantifier::All, range, *first, Some(*second), *body))
        }
        ("exists", Some(range), [first, second, body]) => {
            Some(expansion.quantifier(Quantifier::Exists, range, *first, Some(*second), *body))
        }
        ("exists_one" | "existsOne", Some(range), [first, second, body]) => {
            Some(expansion.quantifier(Quantifier::ExistsOne, range, *first, Some(*second), *body))
        }
        ("map", Some(range), [first, body]) => Some(expansion.map(range, *first, None, *body)),
        ("map", Some(range), [first, filter, body]) => {
            Some(expansion.map(range, *first, Some(*filter), *body))
        }
        ("filter", Some(range), [first, filter]) => Some(expansion.map(range, *first, Some(*filter), *first)),
        ("transformList", Some(range), [first, second, rest @ ..]) => {
            expansion.transform(Transform::List, range, *first, *second, rest)
        }
        ("transformMap", Some(range), [first, second, rest @ ..]) => {
            expansion.transform(Transform::Map, range, *first, *second, rest)
        }
        ("transformMapEntry", Some(range), [first, second, rest @ ..]) => {
            expansion.transform(Transform::Entry, range, *first, *second, rest)
        }
        ("optMap", Some(of), [variable, body]) => Some(expansion.optional(of, *variable, *body, false)),
        ("optFlatMap", Some(of), [variable, body]) => Some(expansion.optional(of, *variable, *body, true)),
        ("sortBy", Some(list), [variable, body]) => Some(expansion.sort_by(list, *variable, *body)),
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

#[derive(Clone, Copy)]
enum Transform {
    List,
    Map,
    Entry,
}

struct Expansion<'a> {
    ast: &'a mut Ast,
    span: Span,
}

type Expanded = Result<ExprId, Box<Diagnostic>>;

impl Expansion<'_> {
    fn push(&mut self, expr: Expr) -> ExprId {
        self.ast.push(expr, self.span)
    }

    fn literal(&mut self, literal: Literal) -> ExprId {
        self.push(Expr::Literal(literal))
    }

    fn accumulator(&mut self) -> ExprId {
        self.push(Expr::Ident(ACCUMULATOR.into()))
    }

    fn call(&mut self, function: &'static str, arguments: Vec<ExprId>) -> ExprId {
        self.push(Expr::Call { function: function.into(), target: None, arguments })
    }

    fn member(&mut self, function: &'static str, target: ExprId, arguments: Vec<ExprId>) -> ExprId {
        self.push(Expr::Call { function: function.into(), target: Some(target), arguments })
    }

    fn refuse<T>(&self, at: ExprId, message: impl Into<String>) -> Result<T, Box<Diagnostic>> {
        Err(Box::new(Diagnostic::new(self.ast.span(at), message)))
    }

    fn variable(&self, id: ExprId, otherwise: &str) -> Result<Name, Box<Diagnostic>> {
        let Expr::Ident(name) = self.ast.expr(id) else { return self.refuse(id, otherwise) };
        if name == ACCUMULATOR {
            return self.refuse(id, "iteration variable overwrites accumulator variable");
        }
        Ok(name.clone())
    }

    fn variables(
        &self,
        first: ExprId,
        second: Option<ExprId>,
    ) -> Result<(Name, Option<Name>), Box<Diagnostic>> {
        let otherwise = "argument must be a simple name";
        let one = self.variable(first, otherwise)?;
        let Some(second) = second else { return Ok((one, None)) };
        let two = self.variable(second, otherwise)?;
        if one == two {
            return self.refuse(second, format!("duplicate variable name: {one}"));
        }
        Ok((one, Some(two)))
    }

    fn has(&mut self, of: ExprId) -> Expanded {
        let Expr::Select { operand, field, .. } = self.ast.expr(of) else {
            return self.refuse(of, "invalid argument to has() macro");
        };
        let (operand, field) = (*operand, field.clone());
        Ok(self.push(Expr::Select { operand, field, test: true }))
    }

    fn quantifier(
        &mut self,
        kind: Quantifier,
        range: ExprId,
        first: ExprId,
        second: Option<ExprId>,
        body: ExprId,
    ) -> Expanded {
        let (variable, second) = self.variables(first, second)?;
        let so_far = self.accumulator();
        let (initial, condition, step, result) = match kind {
            Quantifier::All => {
                let initial = self.literal(Literal::Bool(true));
                let condition = self.call("@not_strictly_false", vec![so_far]);
                let so_far = self.accumulator();
                let step = self.call("_&&_", vec![so_far, body]);
                (initial, condition, step, self.accumulator())
            }
            Quantifier::Exists => {
                let initial = self.literal(Literal::Bool(false));
                let not = self.call("!_", vec![so_far]);
                let condition = self.call("@not_strictly_false", vec![not]);
                let so_far = self.accumulator();
                let step = self.call("_||_", vec![so_far, body]);
                (initial, condition, step, self.accumulator())
            }
            Quantifier::ExistsOne => {
                let initial = self.literal(Literal::Int(0));
                let condition = self.literal(Literal::Bool(true));
                let one = self.literal(Literal::Int(1));
                let more = self.call("_+_", vec![so_far, one]);
                let same = self.accumulator();
                let step = self.call("_?_:_", vec![body, more, same]);
                let (count, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                (initial, condition, step, self.call("_==_", vec![count, one]))
            }
        };
        let accumulator = ACCUMULATOR.into();
        Ok(self.fold(Comprehension {
            range,
            variable,
            second,
            accumulator,
            initial,
            condition,
            step,
            result,
        }))
    }

    fn map(&mut self, range: ExprId, first: ExprId, filter: Option<ExprId>, body: ExprId) -> Expanded {
        let variable = self.variable(first, "argument is not an identifier")?;
        let initial = self.push(Expr::List(Vec::new()));
        let (so_far, list) =
            (self.accumulator(), self.push(Expr::List(vec![Element { value: body, optional: false }])));
        let step = self.call("_+_", vec![so_far, list]);
        Ok(self.gather(range, variable, None, initial, filter, step))
    }

    /// A loop that gathers into a list or a map, only from what passes the filter.
    fn gather(
        &mut self,
        range: ExprId,
        variable: Name,
        second: Option<Name>,
        initial: ExprId,
        filter: Option<ExprId>,
        step: ExprId,
    ) -> ExprId {
        let condition = self.literal(Literal::Bool(true));
        let step = match filter {
            Some(filter) => {
                let same = self.accumulator();
                self.call("_?_:_", vec![filter, step, same])
            }
            None => step,
        };
        let result = self.accumulator();
        let accumulator = ACCUMULATOR.into();
        self.fold(Comprehension { range, variable, second, accumulator, initial, condition, step, result })
    }

    fn transform(
        &mut self,
        kind: Transform,
        range: ExprId,
        first: ExprId,
        second: ExprId,
        rest: &[ExprId],
    ) -> Option<Expanded> {
        let (filter, body) = match rest {
            [body] => (None, *body),
            [filter, body] => (Some(*filter), *body),
            _ => return None,
        };
        let (variable, second) = match self.variables(first, Some(second)) {
            Ok(names) => names,
            Err(diagnostic) => return Some(Err(diagnostic)),
        };
        let so_far = self.accumulator();
        let (initial, step) = match kind {
            Transform::List => {
                let list = self.push(Expr::List(vec![Element { value: body, optional: false }]));
                (self.push(Expr::List(Vec::new())), self.call("_+_", vec![so_far, list]))
            }
            Transform::Map => {
                let key = self.push(Expr::Ident(variable.clone()));
                (self.push(Expr::Map(Vec::new())), self.call("cel.@mapInsert", vec![so_far, key, body]))
            }
            Transform::Entry => {
                (self.push(Expr::Map(Vec::new())), self.call("cel.@mapInsert", vec![so_far, body]))
            }
        };
        Some(Ok(self.gather(range, variable, second, initial, filter, step)))
    }

    fn optional(&mut self, of: ExprId, variable: ExprId, body: ExprId, flat: bool) -> Expanded {
        let Expr::Ident(name) = self.ast.expr(variable) else {
            let function = if flat { "optFlatMap" } else { "optMap" };
            return self.refuse(variable, format!("{function}() variable name must be a simple identifier"));
        };
        let name = name.clone();
        let Some(copy) = self.ast.copy(of) else { return self.refuse(of, "expression grows too large") };
        let present = self.member("hasValue", of, Vec::new());
        let value = self.member("value", copy, Vec::new());
        let bound = self.bind(name, value, body);
        let some = if flat { bound } else { self.call("optional.of", vec![bound]) };
        let none = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![present, some, none]))
    }

    /// A loop over nothing whose accumulator is the name: its first use computes the value.
    fn bind(&mut self, name: Name, value: ExprId, body: ExprId) -> ExprId {
        let range = self.push(Expr::List(Vec::new()));
        let condition = self.literal(Literal::Bool(false));
        let step = self.push(Expr::Ident(name.clone()));
        self.fold(Comprehension {
            range,
            variable: UNUSED.into(),
            second: None,
            accumulator: name,
            initial: value,
            condition,
            step,
            result: body,
        })
    }

    fn sort_by(&mut self, list: ExprId, variable: ExprId, body: ExprId) -> Expanded {
        if matches!(self.ast.expr(list), Expr::Literal(_) | Expr::Map(_) | Expr::Message { .. }) {
            return self.refuse(
                list,
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
            );
        }
        let input = self.push(Expr::Ident(SORT_INPUT.into()));
        let keys = self.map(input, variable, None, body)?;
        let input = self.push(Expr::Ident(SORT_INPUT.into()));
        let sorted = self.member("@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.bind(SORT_INPUT.into(), list, sorted))
    }

    fn fold(&mut self, fold: Comprehension) -> ExprId {
        self.push(Expr::Comprehension(Box::new(fold)))
    }
}
