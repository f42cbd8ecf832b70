//! Kubernetes' expression language (CEL) as admission policies see it: the same values, errors and costs as
//! Kubernetes 1.36, without its clock, its network and its stack.
//!
//! Follow an expression by opening the modules in this order: [`parse`] reads it, [`check`] finds the types,
//! [`compile`] makes a flat program, [`evaluate`] runs it over [`value`]s, and [`cost`] counts.

mod admission;
mod ast;
mod check;
mod compile;
mod compose;
mod cost;
mod declare;
mod diagnostic;
mod encode;
mod estimate;
mod evaluate;
mod functions;
mod lex;
mod macros;
mod parse;
mod program;
mod schema;
mod tree;
mod types;
mod unquote;
mod value;
mod words;

#[cfg(test)]
mod tests;

pub use compose::{Composition, Computed};
pub use cost::{EXPRESSION_LIMIT, MATCH_CONDITIONS_LIMIT, POLICY_LIMIT};
pub use declare::{Declarations, ObjectType};
pub use diagnostic::{Diagnostic, Span};
pub(crate) use tree::Item;
pub use tree::{Malformed, Tree};
pub use types::Type;
pub use value::{List, Map, Object, OpaqueValue, Text, Timestamp, Value};
pub(crate) use words::is_taken;

/// An expression, ready to be evaluated any number of times.
#[derive(Debug)]
pub struct Program {
    code: program::Code,
    result: String,
    value_type: Type,
}

/// What an evaluation came to.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The value, or why there is none.
    pub value: Result<Value<'a>, String>,
    /// What it cost.
    pub cost: u64,
    /// What the variables cost that it looked at first.
    pub variables: u64,
}

impl Program {
    /// Parses, checks and compiles `text`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with `text`, each with its place.
    pub fn compile(text: &str, declarations: &Declarations) -> Result<Self, Vec<Diagnostic>> {
        let parsed = parse::parse(text).map_err(|diagnostic| vec![diagnostic])?;
        let checked = check::check(&parsed.ast, parsed.root, declarations)?;
        let code =
            compile::compile(&parsed.ast, parsed.root, &checked).map_err(|diagnostic| vec![diagnostic])?;
        let of = checked.of.get(parsed.root.index()).copied();
        let result = of.map_or_else(String::new, |of| checked.types.name(of));
        let value_type = of.map_or(Type::Dyn, |of| checked.types.reusable(of));
        Ok(Self { code, result, value_type })
    }

    /// What evaluating `text` can cost at most: with values of any size that fits into a request of 3 MiB, or that
    /// their schemas allow, see [`Declarations::described`].
    ///
    /// # Errors
    ///
    /// Everything that is wrong with `text`, each with its place.
    pub fn estimate(text: &str, declarations: &Declarations) -> Result<u64, Vec<Diagnostic>> {
        let parsed = parse::parse(text).map_err(|diagnostic| vec![diagnostic])?;
        let checked = check::check(&parsed.ast, parsed.root, declarations)?;
        Ok(estimate::estimate(&parsed.ast, parsed.root, &checked, declarations))
    }

    /// How large the compiled expression is, and so how long compiling it took: a unit is about a microsecond.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.code.weight()
    }

    /// The name of the type it evaluates to, such as `bool` or `list(string)`.
    #[must_use]
    pub fn result(&self) -> &str {
        &self.result
    }

    /// Whether it looks at the variable at this place of its declarations.
    pub(crate) fn reads(&self, place: usize) -> bool {
        let reads = |op: &program::Op| matches!(op, program::Op::Variable { place: read, .. } if *read as usize == place);
        self.code.operations.iter().any(reads)
    }

    /// The fields that it looks at of the variable at this place: nothing stands for more than fields by name.
    pub(crate) fn fields(&self, place: usize) -> impl Iterator<Item = Option<&str>> {
        self.code.fields(place)
    }

    /// The type that a variable with its value has. What only this expression knows, such as the fields of an object, is
    /// not known of the variable, as in Kubernetes.
    #[must_use]
    pub fn value_type(&self) -> &Type {
        &self.value_type
    }

    /// Evaluates with one value for each declared variable, in their order, at a cost of at most `limit`.
    pub fn evaluate<'a>(&'a self, variables: &'a [Value<'a>], limit: u64) -> Outcome<'a> {
        let (value, cost) = evaluate::evaluate(&self.code, variables, None, limit);
        Outcome { value: value.into_result(), cost, variables: 0 }
    }
}

/// Where `text` names a variable first, be it one of its own.
#[must_use]
pub fn first_use(text: &str, name: &str) -> Option<Span> {
    parse::parse(text).ok()?.ast.first_use(name)
}
