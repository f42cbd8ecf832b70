//! The types of what is made: lists, maps, messages, and what loops gather.

use super::Checker;
use crate::cel::ast::{Comprehension, Element, Entry, ExprId, Field};
use crate::cel::types::{Shape, TypeId};

impl<'c> Checker<'c> {
    /// The type of an element or a value, which `?` takes out of its optional.
    pub(super) fn part(&mut self, id: ExprId, optional: bool) -> TypeId {
        let of = self.type_of(id);
        if !optional {
            return of;
        }
        match self.checked.types.shape(of) {
            Shape::Optional(inner) => *inner,
            Shape::Dyn => of,
            _ => {
                let name = self.name(of);
                self.report(id, format!("expected type 'optional_type({name})' but found '{name}'"));
                of
            }
        }
    }

    /// The common type of the parts so far and one more. Parts of different types are refused later, where that
    /// matters.
    pub(super) fn join(&mut self, so_far: Option<TypeId>, next: TypeId) -> TypeId {
        let Some(so_far) = so_far else { return next };
        if self.checked.types.assignable(so_far, next) {
            return self.checked.types.most_general(so_far, next);
        }
        self.id(Shape::Dyn)
    }

    pub(super) fn list(&mut self, elements: &[Element]) -> TypeId {
        let mut common = None;
        for element in elements {
            self.expr(element.value);
            let of = self.part(element.value, element.optional);
            common = Some(self.join(common, of));
        }
        let of = common.unwrap_or_else(|| self.checked.types.variable());
        self.id(Shape::List(of))
    }

    pub(super) fn map(&mut self, entries: &[Entry]) -> TypeId {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.expr(entry.key);
            let of = self.type_of(entry.key);
            keys = Some(self.join(keys, of));
            self.expr(entry.value);
            let of = self.part(entry.value, entry.optional);
            values = Some(self.join(values, of));
        }
        let key = keys.unwrap_or_else(|| self.checked.types.variable());
        let value = values.unwrap_or_else(|| self.checked.types.variable());
        self.id(Shape::Map(key, value))
    }

    pub(super) fn message(&mut self, id: ExprId, name: &str, fields: &[Field]) -> TypeId {
        let plain = name.strip_prefix('.').unwrap_or(name);
        if self.declarations.message_field(plain, "").is_none() {
            self.report(id, format!("undeclared reference to '{name}' (in container ''): unknown type"));
            return self.id(Shape::Error);
        }
        for field in fields {
            self.expr(field.value);
            let given = self.part(field.value, field.optional);
            let Some(wanted) = self.declarations.message_field(plain, &field.name).flatten() else {
                self.report(field.value, format!("undefined field '{}'", field.name));
                continue;
            };
            let wanted = self.checked.types.declared(&wanted);
            if !self.checked.types.assignable(wanted, given) {
                let (wanted, given) = (self.name(wanted), self.name(given));
                let field = &field.name;
                let message =
                    format!("expected type of field '{field}' is '{wanted}' but provided type is '{given}'");
                self.report(id, message);
            }
        }
        self.id(Shape::Object(plain.into()))
    }

    pub(super) fn fold(&mut self, fold: &'c Comprehension) -> TypeId {
        self.expr(fold.range);
        self.expr(fold.initial);
        let range = self.type_of(fold.range);
        let range = self.checked.types.substitute(range, false);
        let two = fold.second.is_some();
        let (first, second) = match *self.checked.types.shape(range) {
            Shape::List(element) if two => (self.id(Shape::Int), element),
            Shape::List(element) => (element, element),
            Shape::Map(key, value) => (key, value),
            Shape::Dyn | Shape::Error | Shape::Variable(_) => {
                let any = self.id(Shape::Dyn);
                self.checked.types.assignable(any, range);
                (any, any)
            }
            _ => {
                let name = self.name(range);
                self.report(fold.range, format!("expression of type '{name}' cannot be range of a comprehension (must be list, map, or dynamic)"));
                let error = self.id(Shape::Error);
                (error, error)
            }
        };
        let accumulated = self.type_of(fold.initial);
        self.scope.push((&fold.accumulator, accumulated));
        self.scope.push((&fold.variable, first));
        self.scope.push((fold.second.as_deref().unwrap_or("#unused"), second));
        self.expr(fold.condition);
        let bool_type = self.id(Shape::Bool);
        self.expect(fold.condition, bool_type);
        self.expr(fold.step);
        self.expect(fold.step, accumulated);
        self.scope.truncate(self.scope.len() - 2);
        self.expr(fold.result);
        self.scope.pop();
        let of = self.type_of(fold.result);
        self.checked.types.substitute(of, false)
    }
}
