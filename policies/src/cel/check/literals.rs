//! What Kubernetes checks once types are known: literals of one type, and literal arguments that mean something.

use super::Checked;
use crate::cel::ast::{Ast, Expr, ExprId, Literal};
use crate::cel::diagnostic::Diagnostic;
use crate::cel::functions::conversions::{MAXIMUM_SECOND, MINIMUM_SECOND, parse_duration, parse_timestamp};
use crate::cel::functions::format::{Kind, Piece, pieces};
use crate::cel::functions::regex::Pattern;
use crate::cel::types::{Shape, TypeId};

/// Reports the first misfit of every list and map, and every literal that its function cannot read.
pub(super) fn validate(ast: &Ast, root: ExprId, checked: &Checked, diagnostics: &mut Vec<Diagnostic>) {
    // Arguments of `format` may differ in type, at any depth.
    let mut pending = vec![(root, false)];
    while let Some((id, free)) = pending.pop() {
        let mut free_below = free;
        match ast.expr(id) {
            Expr::List(elements) if !free => {
                let types = elements
                    .iter()
                    .map(|element| (element.value, part(checked, element.value, element.optional)));
                same(ast, checked, types, diagnostics);
            }
            Expr::Map(entries) if !free => {
                same(
                    ast,
                    checked,
                    entries.iter().map(|entry| (entry.key, part(checked, entry.key, false))),
                    diagnostics,
                );
                let values =
                    entries.iter().map(|entry| (entry.value, part(checked, entry.value, entry.optional)));
                same(ast, checked, values, diagnostics);
            }
            Expr::Call { function, target, arguments } => {
                if function == "format" {
                    free_below = true;
                    if let (Some(target), [list]) = (target, arguments.as_slice()) {
                        format(ast, checked, id, *target, *list, diagnostics);
                    }
                }
                argument(ast, function, arguments, diagnostics);
            }
            _ => {}
        }
        ast.expr(id).clone().for_each_child(|child| pending.push((*child, free_below)));
    }
}

/// The type of a part; nothing for a `?` before what is not known to be an optional.
fn part(checked: &Checked, id: ExprId, optional: bool) -> Option<TypeId> {
    let of = checked.of.get(id.index()).copied()?;
    match (checked.types.shape(of), optional) {
        (Shape::Optional(inner), true) => Some(*inner),
        (_, true) => None,
        _ => Some(of),
    }
}

fn same(
    ast: &Ast,
    checked: &Checked,
    parts: impl Iterator<Item = (ExprId, Option<TypeId>)>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut first = None;
    for (id, of) in parts {
        let Some(of) = of else {
            let message = "expected an optional but found 'dyn'; Kubernetes cannot check this entry";
            diagnostics.push(Diagnostic::new(ast.span(id), message));
            return;
        };
        let wanted = *first.get_or_insert(of);
        if wanted != of {
            let (wanted, given) = (checked.types.name(wanted), checked.types.name(of));
            let message = format!("expected type '{wanted}' but found '{given}'");
            diagnostics.push(Diagnostic::new(ast.span(id), message));
            return;
        }
    }
}

/// Reports clauses of a written format that do not fit the written values.
fn format(
    ast: &Ast,
    checked: &Checked,
    call: ExprId,
    target: ExprId,
    list: ExprId,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let (Expr::Literal(Literal::String(text)), Expr::List(values)) = (ast.expr(target), ast.expr(list))
    else {
        return;
    };
    let mut report = |at: ExprId, message: String| diagnostics.push(Diagnostic::new(ast.span(at), message));
    let mut next = 0;
    for piece in pieces(text) {
        let clause = match piece {
            Ok(Piece::Plain(_)) => continue,
            Ok(Piece::Clause(clause)) => clause,
            Err(message) => return report(call, message),
        };
        let Some(value) = values.get(next) else { return report(call, format!("index {next} out of range")) };
        next += 1;
        if let Some(bad) = misfit(ast, checked, clause.kind, value.value) {
            let given = checked.of.get(bad.index()).map_or_else(String::new, |of| checked.types.name(*of));
            return report(bad, clause.kind.refusal(&given));
        }
    }
    if values.len() > next {
        let given = values.len();
        report(call, format!("too many arguments supplied to string.format (expected {next}, got {given})"));
    }
}

/// The value, or the part of a written container, that a clause does not take.
fn misfit(ast: &Ast, checked: &Checked, kind: Kind, value: ExprId) -> Option<ExprId> {
    let mut pending = vec![value];
    while let Some(id) = pending.pop() {
        if !kind.takes(checked.shape(id)) {
            return Some(id);
        }
        if kind == Kind::Text && matches!(ast.expr(id), Expr::List(_) | Expr::Map(_)) {
            ast.expr(id).clone().for_each_child(|child| pending.push(*child));
        }
    }
    None
}

fn argument(ast: &Ast, function: &str, arguments: &[ExprId], diagnostics: &mut Vec<Diagnostic>) {
    let Some(first) = arguments.first() else { return };
    let Expr::Literal(literal) = ast.expr(*first) else { return };
    let readable = match (function, literal) {
        ("duration", Literal::String(text)) => parse_duration(text).is_some(),
        ("timestamp", Literal::String(text)) => parse_timestamp(text).is_some(),
        ("matches", Literal::String(text)) => Pattern::check(text).is_ok(),
        ("timestamp", Literal::Int(seconds)) => (MINIMUM_SECOND..=MAXIMUM_SECOND).contains(seconds),
        ("duration" | "timestamp", _) => false,
        _ => true,
    };
    if !readable {
        diagnostics.push(Diagnostic::new(ast.span(*first), format!("invalid {function} argument")));
    }
}
