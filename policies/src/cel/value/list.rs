//! Lists: of a document, of the program, made while evaluating, or two joined.

use std::sync::Arc;

use super::{MAXIMUM_DEPTH, Value, too_deep};
use crate::cel::tree::{Children, Tree};

/// A list.
#[derive(Clone, Debug)]
pub struct List<'a>(Kind<'a>);

#[derive(Clone, Debug)]
enum Kind<'a> {
    Document {
        tree: &'a Tree<'a>,
        children: Children,
    },
    Constant(&'a [Value<'a>]),
    Made(Arc<Made<'a>>),
    /// The numbers from 0 on.
    Range(usize),
    Joined(Arc<Joined<'a>>),
}

#[derive(Clone, Debug)]
struct Made<'a> {
    items: Vec<Value<'a>>,
    depth: u32,
}

/// Two lists read as one. Joining is cheap by cost, so it must be cheap in memory too: doubling a list a hundred
/// times makes a hundred of these.
#[derive(Debug)]
struct Joined<'a> {
    first: List<'a>,
    second: List<'a>,
    length: usize,
    depth: u32,
}

impl<'a> List<'a> {
    pub(crate) fn document(tree: &'a Tree<'a>, children: Children) -> Self {
        Self(Kind::Document { tree, children })
    }

    /// The list without counting references.
    pub(crate) fn borrowed(&'a self) -> Self {
        match &self.0 {
            Kind::Made(made) => Self(Kind::Constant(&made.items)),
            _ => self.clone(),
        }
    }

    pub(crate) fn range(length: usize) -> Self {
        Self(Kind::Range(length))
    }

    /// A list of `items`, or an error when they nest too deeply.
    pub(crate) fn made(items: Vec<Value<'a>>) -> Value<'a> {
        let depth = items.iter().map(Value::depth).max().unwrap_or(0) + 1;
        if depth > MAXIMUM_DEPTH {
            return too_deep();
        }
        Value::List(Self(Kind::Made(Arc::new(Made { items, depth }))))
    }

    /// The list with one more item; in place when nobody else holds it.
    pub(crate) fn pushed(self, item: Value<'a>) -> Value<'a> {
        let added = item.depth() + 1;
        if added > MAXIMUM_DEPTH {
            return too_deep();
        }
        let mut made = match self.0 {
            Kind::Made(made) => made,
            other => Arc::new(Made {
                items: Self(other.clone()).iter().collect(),
                depth: Self(other).depth().max(1),
            }),
        };
        let list = Arc::make_mut(&mut made);
        list.items.push(item);
        list.depth = list.depth.max(added);
        Value::List(Self(Kind::Made(made)))
    }

    /// Both lists as one.
    pub(crate) fn joined(first: &Self, second: &Self) -> Value<'a> {
        if first.is_empty() {
            return Value::List(second.clone());
        }
        if second.is_empty() {
            return Value::List(first.clone());
        }
        let Some(length) =
            first.len().checked_add(second.len()).filter(|length| i64::try_from(*length).is_ok())
        else {
            return Value::error("integer overflow");
        };
        let (first, second) = (first.clone(), second.clone());
        let depth = first.depth().max(second.depth()) + 1;
        if depth > MAXIMUM_DEPTH {
            return too_deep();
        }
        Value::List(Self(Kind::Joined(Arc::new(Joined { first, second, length, depth }))))
    }

    /// Whether it is part of a document, and not made by an expression.
    pub(crate) fn is_document(&self) -> bool {
        matches!(self.0, Kind::Document { .. })
    }

    /// How many items it has.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Document { children, .. } => children.len(),
            Kind::Constant(items) => items.len(),
            Kind::Made(made) => made.items.len(),
            Kind::Range(length) => *length,
            Kind::Joined(joined) => joined.length,
        }
    }

    /// Whether it has no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn depth(&self) -> u32 {
        match &self.0 {
            Kind::Document { .. } | Kind::Range(_) => 0,
            Kind::Constant(items) => items.iter().map(Value::depth).max().unwrap_or(0) + 1,
            Kind::Made(made) => made.depth,
            Kind::Joined(joined) => joined.depth,
        }
    }

    /// How many lists may lie between it and an item: those it was joined of.
    pub(crate) fn hops(&self) -> u32 {
        match &self.0 {
            Kind::Joined(joined) => joined.depth,
            _ => 0,
        }
    }

    /// The item at `index`, counted from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        let mut list = self;
        let mut index = index;
        loop {
            match &list.0 {
                Kind::Document { tree, children } => {
                    return tree.children(*children).get(index).map(|node| Value::node(tree, node));
                }
                Kind::Constant(items) => return items.get(index).map(Value::borrowed),
                Kind::Made(made) => return made.items.get(index).cloned(),
                Kind::Range(length) => {
                    return (index < *length).then(|| Value::Int(i64::try_from(index).unwrap_or(i64::MAX)));
                }
                Kind::Joined(joined) => match index.checked_sub(joined.first.len()) {
                    Some(rest) => (list, index) = (&joined.second, rest),
                    None => list = &joined.first,
                },
            }
        }
    }

    /// All items in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}
