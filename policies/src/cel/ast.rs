//! An expression as a tree in an arena: nodes name each other by number, so that dropping one never recurses.

use std::borrow::Cow;
use std::sync::Arc;

use super::diagnostic::Span;

/// The number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExprId(u32);

impl ExprId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The name of a function or a variable; those that macros bring in are static.
pub(crate) type Name = Cow<'static, str>;

/// A constant as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

/// An element of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    pub(crate) value: ExprId,
    /// Written with `?`: left out when the optional is empty.
    pub(crate) optional: bool,
}

/// A key and a value of a map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) key: ExprId,
    pub(crate) value: ExprId,
    pub(crate) optional: bool,
}

/// A field of a message.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Name,
    pub(crate) value: ExprId,
    pub(crate) optional: bool,
}

/// The one loop the language has; every macro over lists and maps becomes one.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: ExprId,
    pub(crate) variable: Name,
    /// The second variable: element beside index, or value beside key.
    pub(crate) second: Option<Name>,
    pub(crate) accumulator: Name,
    pub(crate) initial: ExprId,
    pub(crate) condition: ExprId,
    pub(crate) step: ExprId,
    pub(crate) result: ExprId,
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Literal(Literal),
    Ident(Name),
    Select { operand: ExprId, field: Name, test: bool },
    Call { function: Name, target: Option<ExprId>, arguments: Vec<ExprId> },
    List(Vec<Element>),
    Map(Vec<Entry>),
    Message { name: Name, fields: Vec<Field> },
    Comprehension(Box<Comprehension>),
}

/// All nodes of one expression.
#[derive(Debug, Default)]
pub(crate) struct Ast {
    nodes: Vec<(Expr, Span)>,
}

/// Nodes one expression may have. A text within the size limit stays far below; only `optMap` of `optMap`, which
/// doubles its target each time, can pass it.
const MAXIMUM_NODES: usize = 120_000;

impl Ast {
    pub(crate) fn push(&mut self, expr: Expr, span: Span) -> ExprId {
        let id = ExprId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push((expr, span));
        id
    }

    /// The first place in the text at which a name stands by itself.
    pub(crate) fn first_use(&self, name: &str) -> Option<Span> {
        let uses = self.nodes.iter().filter(|(expr, _)| matches!(expr, Expr::Ident(own) if own == name));
        uses.map(|(_, span)| *span).min_by_key(|span| span.start)
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn expr(&self, id: ExprId) -> &Expr {
        // Every identity comes from `push` of the same arena; a stray one would read as null.
        self.nodes.get(id.index()).map_or(&Expr::Literal(Literal::Null), |(expr, _)| expr)
    }

    pub(crate) fn span(&self, id: ExprId) -> Span {
        self.nodes.get(id.index()).map(|(_, span)| *span).unwrap_or_default()
    }

    /// The dotted name that a chain of plain selections spells, such as `a.b.c`.
    pub(crate) fn qualified_name(&self, id: ExprId) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = id;
        loop {
            match self.expr(at) {
                Expr::Ident(name) => {
                    parts.push(name.as_ref());
                    break;
                }
                Expr::Select { operand, field, test: false } => {
                    parts.push(field.as_ref());
                    at = *operand;
                }
                _ => return None,
            }
        }
        parts.reverse();
        Some(parts.join("."))
    }

    /// A second copy of everything below `id`, or nothing when the expression would grow too large.
    pub(crate) fn copy(&mut self, id: ExprId) -> Option<ExprId> {
        // Children are copied before their parents: a list of what to copy, in order of discovery, read backwards.
        let mut order = vec![id];
        let mut at = 0;
        while let Some(next) = order.get(at).copied() {
            self.children(next, &mut order);
            if self.nodes.len() + order.len() > MAXIMUM_NODES {
                return None;
            }
            at += 1;
        }
        let mut copies = std::collections::HashMap::with_capacity(order.len());
        for original in order.iter().rev() {
            let (mut expr, span) = (self.expr(*original).clone(), self.span(*original));
            expr.for_each_child(|child| {
                if let Some(copy) = copies.get(child) {
                    *child = *copy;
                }
            });
            copies.insert(*original, self.push(expr, span));
        }
        copies.get(&id).copied()
    }

    fn children(&self, id: ExprId, into: &mut Vec<ExprId>) {
        self.expr(id).clone().for_each_child(|child| into.push(*child));
    }
}

impl Expr {
    /// Calls `visit` with each direct child, which it may replace.
    pub(crate) fn for_each_child(&mut self, mut visit: impl FnMut(&mut ExprId)) {
        match self {
            Self::Literal(_) | Self::Ident(_) => {}
            Self::Select { operand, .. } => visit(operand),
            Self::Call { target, arguments, .. } => {
                target.iter_mut().for_each(&mut visit);
                arguments.iter_mut().for_each(visit);
            }
            Self::List(elements) => elements.iter_mut().for_each(|element| visit(&mut element.value)),
            Self::Map(entries) => {
                for entry in entries {
                    visit(&mut entry.key);
                    visit(&mut entry.value);
                }
            }
            Self::Message { fields, .. } => fields.iter_mut().for_each(|field| visit(&mut field.value)),
            Self::Comprehension(fold) => {
                let Comprehension { range, initial, condition, step, result, .. } = fold.as_mut();
                [range, initial, condition, step, result].into_iter().for_each(visit);
            }
        }
    }
}
