//! Types: what each part of an expression is, which variable or function each name means, and what does not fit.

mod build;
mod literals;

use std::collections::HashSet;

use super::ast::{Ast, Expr, ExprId, Literal};
use super::declare::Declarations;
use super::diagnostic::Diagnostic;
use super::functions::{Function, Overload, function};
use super::types::{Shape, TypeId, Types};

/// What a name or a call means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    /// The variable bound in this place.
    Variable(usize),
    /// The variable of a loop: its place on the stack of those around.
    Local(usize),
    /// A type, which is a value too.
    Type(&'static str),
    /// A function, and its overload when types left only one.
    Call(&'static Function, Option<&'static Overload>),
}

/// A checked expression: types and meanings by the number of the node.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) types: Types,
    pub(crate) of: Vec<TypeId>,
    pub(crate) meanings: Vec<Option<Meaning>>,
}

impl Checked {
    pub(crate) fn meaning(&self, id: ExprId) -> Option<Meaning> {
        self.meanings.get(id.index()).copied().flatten()
    }

    pub(crate) fn shape(&self, id: ExprId) -> &Shape {
        self.of.get(id.index()).map_or(&Shape::Error, |of| self.types.shape(*of))
    }
}

/// Checks the expression `root` of `ast`.
pub(crate) fn check(
    ast: &Ast,
    root: ExprId,
    declarations: &Declarations,
) -> Result<Checked, Vec<Diagnostic>> {
    let mut types = Types::default();
    let unknown = types.id(Shape::Error);
    let mut checker = Checker {
        ast,
        declarations,
        checked: Checked { types, of: vec![unknown; ast.len()], meanings: vec![None; ast.len()] },
        scope: Vec::new(),
        diagnostics: Vec::new(),
        reported: HashSet::new(),
    };
    checker.expr(root);
    let mut checked = checker.checked;
    let mut diagnostics = checker.diagnostics;
    if checked.types.too_large {
        diagnostics
            .push(Diagnostic::new(ast.span(root), "the type of a part of the expression grows too large"));
    }
    if diagnostics.is_empty() {
        for of in &mut checked.of {
            *of = checked.types.substitute(*of, true);
        }
        literals::validate(ast, root, &checked, &mut diagnostics);
    }
    if diagnostics.is_empty() { Ok(checked) } else { Err(diagnostics) }
}

/// Mistakes reported at most; whoever has more reads the first ones first.
const MAXIMUM_DIAGNOSTICS: usize = 20;

struct Checker<'c> {
    ast: &'c Ast,
    declarations: &'c Declarations,
    checked: Checked,
    /// The variables of the loops around, outermost first.
    scope: Vec<(&'c str, TypeId)>,
    diagnostics: Vec<Diagnostic>,
    reported: HashSet<(u32, String)>,
}

impl<'c> Checker<'c> {
    fn id(&mut self, shape: Shape) -> TypeId {
        self.checked.types.id(shape)
    }

    fn type_of(&mut self, id: ExprId) -> TypeId {
        match self.checked.of.get(id.index()) {
            Some(of) => *of,
            None => self.id(Shape::Error),
        }
    }

    fn set(&mut self, id: ExprId, of: TypeId) {
        if let Some(place) = self.checked.of.get_mut(id.index()) {
            *place = of;
        }
    }

    fn mean(&mut self, id: ExprId, meaning: Meaning) {
        if let Some(place) = self.checked.meanings.get_mut(id.index()) {
            *place = Some(meaning);
        }
    }

    fn report(&mut self, at: ExprId, message: String) {
        let span = self.ast.span(at);
        if self.diagnostics.len() < MAXIMUM_DIAGNOSTICS && self.reported.insert((span.start, message.clone()))
        {
            self.diagnostics.push(Diagnostic::new(span, message));
        }
    }

    fn name(&mut self, of: TypeId) -> String {
        let of = self.checked.types.substitute(of, false);
        self.checked.types.name(of)
    }

    fn expr(&mut self, id: ExprId) {
        let ast = self.ast;
        let of = match ast.expr(id) {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Ident(name) => self.ident(id, name),
            Expr::Select { operand, field, test } => self.select(id, *operand, field, *test),
            Expr::Call { function, target, arguments } => self.call(id, function, *target, arguments),
            Expr::List(elements) => self.list(elements),
            Expr::Map(entries) => self.map(entries),
            Expr::Message { name, fields } => self.message(id, name, fields),
            Expr::Comprehension(fold) => self.fold(fold),
        };
        self.set(id, of);
    }

    fn literal(&mut self, literal: &Literal) -> TypeId {
        let shape = match literal {
            Literal::Null => Shape::Null,
            Literal::Bool(_) => Shape::Bool,
            Literal::Int(_) => Shape::Int,
            Literal::Uint(_) => Shape::Uint,
            Literal::Double(_) => Shape::Double,
            Literal::String(_) => Shape::String,
            Literal::Bytes(_) => Shape::Bytes,
        };
        self.id(shape)
    }

    /// Finds what a name means, and its type.
    fn lookup(&mut self, name: &str) -> Option<(Meaning, TypeId)> {
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some(place) = self.scope.iter().rposition(|(known, _)| *known == name) {
            return self.scope.get(place).map(|(_, of)| (Meaning::Local(place), *of));
        }
        if let Some((place, of)) = self.declarations.find(name) {
            let of = self.checked.types.declared(of);
            return Some((Meaning::Variable(place), of));
        }
        let (name, shape) = match name {
            "bool" => ("bool", Shape::Bool),
            "bytes" => ("bytes", Shape::Bytes),
            "double" => ("double", Shape::Double),
            "int" => ("int", Shape::Int),
            "uint" => ("uint", Shape::Uint),
            "string" => ("string", Shape::String),
            "null_type" => ("null_type", Shape::Null),
            "google.protobuf.Duration" => ("google.protobuf.Duration", Shape::Duration),
            "google.protobuf.Timestamp" => ("google.protobuf.Timestamp", Shape::Timestamp),
            "list" => ("list", Shape::List(self.id(Shape::Dyn))),
            "map" => {
                let any = self.id(Shape::Dyn);
                ("map", Shape::Map(any, any))
            }
            "optional_type" => ("optional_type", Shape::Optional(self.id(Shape::Dyn))),
            "type" => ("type", Shape::Type(self.id(Shape::Dyn))),
            "net.IP" => ("net.IP", Shape::Opaque("net.IP")),
            "net.CIDR" => ("net.CIDR", Shape::Opaque("net.CIDR")),
            _ => return None,
        };
        let of = self.id(shape);
        Some((Meaning::Type(name), self.id(Shape::Type(of))))
    }

    fn ident(&mut self, id: ExprId, name: &str) -> TypeId {
        match self.lookup(name) {
            Some((meaning, of)) => {
                self.mean(id, meaning);
                of
            }
            None => {
                let message = match name {
                    "authorizer" => {
                        "`authorizer` is not available: policies are judged without asking an API server"
                    }
                    _ => "",
                };
                self.report(
                    id,
                    if message.is_empty() {
                        format!("undeclared reference to '{name}' (in container '')")
                    } else {
                        message.to_owned()
                    },
                );
                self.id(Shape::Error)
            }
        }
    }

    fn select(&mut self, id: ExprId, operand: ExprId, field: &str, test: bool) -> TypeId {
        if !test
            && let Some(name) = self.ast.qualified_name(id)
            && let Some((meaning, of)) = self.lookup(&name)
        {
            self.mean(id, meaning);
            return of;
        }
        let of = self.field(id, operand, field, false);
        if test { self.id(Shape::Bool) } else { self.checked.types.substitute(of, false) }
    }

    fn field(&mut self, id: ExprId, operand: ExprId, field: &str, optional: bool) -> TypeId {
        self.expr(operand);
        let of = self.type_of(operand);
        let of = self.checked.types.substitute(of, false);
        let (target, wrapped) = match self.checked.types.shape(of) {
            Shape::Optional(inner) => (*inner, true),
            _ => (of, false),
        };
        let result = match self.checked.types.shape(target).clone() {
            Shape::Map(_, value) => value,
            Shape::Object(name) => self.object_field(id, &name, field),
            Shape::Variable(_) => {
                let any = self.id(Shape::Dyn);
                self.checked.types.assignable(any, target);
                any
            }
            Shape::Dyn | Shape::Error => self.id(Shape::Dyn),
            _ => {
                let name = self.name(target);
                self.report(id, format!("type '{name}' does not support field selection"));
                self.id(Shape::Dyn)
            }
        };
        if wrapped || optional { self.id(Shape::Optional(result)) } else { result }
    }

    fn object_field(&mut self, id: ExprId, object: &str, field: &str) -> TypeId {
        let made = self.declarations.message_field(object, field).flatten();
        let declared = self.declarations.object_type(object).and_then(|object| object.fields.get(field));
        match declared.or(made.as_ref()) {
            Some(of) => self.checked.types.declared(of),
            None => {
                self.report(id, format!("undefined field '{field}'"));
                self.id(Shape::Error)
            }
        }
    }

    fn call(&mut self, id: ExprId, name: &str, target: Option<ExprId>, arguments: &[ExprId]) -> TypeId {
        if name == "_?._"
            && let [operand, key] = arguments
            && let Expr::Literal(Literal::String(field)) = self.ast.expr(*key)
        {
            let of = self.field(id, *operand, field, true);
            let string = self.id(Shape::String);
            self.set(*key, string);
            return self.checked.types.substitute(of, false);
        }
        for argument in arguments {
            self.expr(*argument);
        }
        let plain = name.strip_prefix('.').unwrap_or(name);
        let Some(target) = target else {
            return match function(plain).filter(|_| self.declarations.allows(plain)) {
                Some(found) => self.resolve(id, found, None, arguments),
                None => self.undeclared(id, name),
            };
        };
        // `a.b.c()` is the function `a.b.c` if there is one, else the function `c` of `a.b`.
        if let Some(prefix) = self.ast.qualified_name(target)
            && let Some(found) = function(&format!("{}.{name}", prefix.trim_start_matches('.')))
            && self.declarations.allows(found.name)
        {
            return self.resolve(id, found, None, arguments);
        }
        self.expr(target);
        match function(name) {
            Some(found) => self.resolve(id, found, Some(target), arguments),
            None => self.undeclared(id, name),
        }
    }

    fn undeclared(&mut self, id: ExprId, name: &str) -> TypeId {
        self.report(id, format!("undeclared reference to '{name}' (in container ''): unknown function"));
        self.id(Shape::Error)
    }

    fn resolve(
        &mut self,
        id: ExprId,
        function: &'static Function,
        target: Option<ExprId>,
        arguments: &[ExprId],
    ) -> TypeId {
        if matches!(function.name, "_&&_" | "_||_") {
            return self.logical(id, function, arguments);
        }
        let given: Vec<TypeId> = target
            .into_iter()
            .chain(arguments.iter().copied())
            .map(|argument| self.type_of(argument))
            .collect();
        let mut found: Option<(Option<&'static Overload>, TypeId)> = None;
        for overload in &function.overloads {
            if overload.member != target.is_some() || overload.arguments.len() != given.len() {
                continue;
            }
            let parameters = [self.checked.types.variable(), self.checked.types.variable()];
            let types = &mut self.checked.types;
            let wanted: Vec<TypeId> =
                overload.arguments.iter().map(|argument| argument.instance(types, &parameters)).collect();
            if !types.assignable_all(&given, &wanted) {
                continue;
            }
            let result = overload.result.instance(types, &parameters);
            let result = types.substitute(result, false);
            found = Some(match found {
                None => (Some(overload), result),
                Some((_, earlier)) if earlier == result => (None, earlier),
                Some(_) => (None, self.id(Shape::Dyn)),
            });
        }
        let Some((overload, result)) = found else {
            let names: Vec<String> = given.iter().map(|of| self.name(*of)).collect();
            let applied = match (target, names.as_slice()) {
                (Some(_), [target, rest @ ..]) => format!("{target}.({})", rest.join(", ")),
                _ => format!("({})", names.join(", ")),
            };
            self.report(
                id,
                format!("found no matching overload for '{}' applied to '{applied}'", function.name),
            );
            return self.id(Shape::Error);
        };
        self.mean(id, Meaning::Call(function, overload));
        result
    }

    fn logical(&mut self, id: ExprId, function: &'static Function, arguments: &[ExprId]) -> TypeId {
        let bool_type = self.id(Shape::Bool);
        for argument in arguments {
            self.expect(*argument, bool_type);
        }
        self.mean(id, Meaning::Call(function, function.overloads.first()));
        bool_type
    }

    /// Reports `id` if it is not of type `wanted`.
    fn expect(&mut self, id: ExprId, wanted: TypeId) {
        let given = self.type_of(id);
        if !self.checked.types.assignable(wanted, given) {
            let (wanted, given) = (self.name(wanted), self.name(given));
            self.report(id, format!("expected type '{wanted}' but found '{given}'"));
        }
    }
}
