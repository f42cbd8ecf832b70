//! Constants: literals, types, lists and maps of constants, conversions of constants, and sets to look into.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use super::{Compiler, Result};
use crate::cel::ast::{Expr, ExprId};
use crate::cel::check::Meaning;
use crate::cel::cost::{EXPRESSION_LIMIT, Meter};
use crate::cel::functions::Scene;
use crate::cel::functions::unfit::unfit;
use crate::cel::value::{List, Made, Map, Value, double_to_int, double_to_uint};

/// Scalars, by exact type and value, that an element can be among.
#[derive(Debug, Default)]
pub(crate) struct Set {
    texts: HashSet<Box<str>, RandomState>,
    others: HashSet<Member, RandomState>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Member {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(u64),
}

fn double(value: f64) -> Member {
    // Both zeros are one member.
    Member::Double((value + 0.0).to_bits())
}

impl Set {
    /// Adds a scalar and the numbers of other types that count as the same; false for what is no scalar.
    #[expect(clippy::cast_precision_loss, reason = "as Kubernetes converts them, exact or not")]
    fn add(&mut self, value: &Value<'_>) -> bool {
        match value {
            Value::Bool(value) => {
                self.others.insert(Member::Bool(*value));
            }
            Value::String(text) => {
                self.texts.insert((**text).into());
            }
            Value::Int(value) => {
                self.others.extend([Member::Int(*value), double(*value as f64)]);
                self.others.extend(u64::try_from(*value).ok().map(Member::Uint));
            }
            Value::Uint(value) => {
                self.others.extend([Member::Uint(*value), double(*value as f64)]);
                self.others.extend(i64::try_from(*value).ok().map(Member::Int));
            }
            Value::Double(value) => {
                if !value.is_nan() {
                    self.others.insert(double(*value));
                }
                self.others.extend(double_to_int(*value).map(Member::Int));
                self.others.extend(double_to_uint(*value).map(Member::Uint));
            }
            _ => return false,
        }
        true
    }

    pub(crate) fn contains(&self, value: &Value<'_>) -> bool {
        let member = match value {
            Value::Bool(value) => Member::Bool(*value),
            Value::Int(value) => Member::Int(*value),
            Value::Uint(value) => Member::Uint(*value),
            Value::Double(value) if !value.is_nan() => double(*value),
            Value::String(text) => return self.texts.contains(&**text),
            _ => return false,
        };
        self.others.contains(&member)
    }
}

/// Functions of one argument that are computed once if it is constant.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

impl Compiler<'_> {
    /// The constant that `id` is, if it is one.
    pub(super) fn folded(&mut self, id: ExprId) -> Result<Option<Value<'static>>> {
        if let Some(Some(known)) = self.folded.get(id.index()) {
            return Ok(known.clone());
        }
        let value = self.fold_constant(id)?;
        if let Some(place) = self.folded.get_mut(id.index()) {
            *place = Some(value.clone());
        }
        Ok(value)
    }

    fn fold_constant(&mut self, id: ExprId) -> Result<Option<Value<'static>>> {
        let ast = self.ast;
        match ast.expr(id) {
            Expr::Literal(literal) => Ok(Some(Self::literal(literal))),
            Expr::Ident(_) | Expr::Select { .. } => match self.checked.meaning(id) {
                Some(Meaning::Type(name)) => Ok(Some(Value::Type(name.into()))),
                // Kubernetes looks up whatever is a type by name, and finds no type under a variable's name.
                Some(_) if self.is_type(id) => self.refuse(id, "reference to undefined type"),
                _ => Ok(None),
            },
            Expr::List(elements) => {
                let mut items = Vec::with_capacity(elements.len());
                for element in elements {
                    match self.folded(element.value)? {
                        Some(item) if !element.optional => items.push(item),
                        _ => return Ok(None),
                    }
                }
                Ok(Some(List::made(items)))
            }
            Expr::Map(entries) => {
                let mut made = Made::default();
                for entry in entries {
                    match (self.folded(entry.key)?, self.folded(entry.value)?) {
                        (Some(key), Some(value)) if !entry.optional => made.insert(key, value),
                        _ => return Ok(None),
                    }
                }
                Ok(Some(Map::made(made)))
            }
            Expr::Call { arguments, .. } => self.fold_call(id, arguments),
            Expr::Message { .. } | Expr::Comprehension(_) => Ok(None),
        }
    }

    fn fold_call(&mut self, id: ExprId, arguments: &[ExprId]) -> Result<Option<Value<'static>>> {
        let Some(Meaning::Call(function, overload)) = self.checked.meaning(id) else { return Ok(None) };
        match arguments {
            [argument] if CONVERSIONS.contains(&function.name) => {
                let Some(argument) = self.folded(*argument)? else { return Ok(None) };
                let mut meter = Meter::new(EXPRESSION_LIMIT);
                let mut scene = Scene { meter: &mut meter, pattern: None };
                let arguments = [argument];
                let value = match overload {
                    Some(overload) => Some((overload.call)(&mut scene, &arguments)),
                    None => function.dispatch(false, &mut scene, &arguments),
                };
                let value = value.unwrap_or_else(|| unfit(function.name, &arguments));
                match value {
                    Value::Error(message) => self.refuse(id, &*message),
                    value => Ok(Some(value)),
                }
            }
            [_, list] if overload.is_some_and(|overload| overload.id == "in_list") => {
                Ok(match self.folded(*list)? {
                    Some(Value::List(list)) if list.is_empty() => Some(Value::Bool(false)),
                    _ => None,
                })
            }
            _ => Ok(None),
        }
    }

    /// The set that a constant list of scalars is.
    pub(super) fn set(&mut self, list: ExprId) -> Result<Option<Set>> {
        let Some(Value::List(list)) = self.folded(list)? else { return Ok(None) };
        let mut set = Set::default();
        Ok(list.iter().all(|item| set.add(&item)).then_some(set))
    }
}
