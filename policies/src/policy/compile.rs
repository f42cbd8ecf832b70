//! From the expressions of a policy to programs, each mistake at its place.

use std::sync::Arc;

use super::definition::{
    AuditAnnotation, Definition, EXTRAS, Expression, MutatingPolicy, Mutation, NAMES, PatchType, Uses,
    VARIABLES, ValidatingPolicy, Validation,
};
use super::fields::Written;
use super::problem::{Place, Problems};
use super::read::{RawPolicy, RawValidation};
use super::surroundings::Extra;
use crate::cel::{self, Composition, Declarations, Diagnostic, Program, Type};

/// What comes of a policy.
#[derive(Debug)]
pub(crate) enum Compiled {
    Validating(ValidatingPolicy),
    Mutating(MutatingPolicy),
}

/// The first use of something that Kubernetes does not have.
#[derive(Clone, Debug)]
pub(crate) struct ExtraUse {
    pub(crate) extra: Extra,
    pub(crate) place: Place,
}

/// How much one load may compile, in the weight of programs, with every eighth byte of an expression counting as well.
/// A thousand ordinary policies take a tenth of it.
const MOST_COMPILED: u64 = 4_000_000;
const BYTES_OF_A_UNIT: usize = 8;

/// What one load has compiled so far.
#[derive(Debug, Default)]
pub(crate) struct Effort {
    spent: u64,
    /// Whether somebody was told that it is too much.
    is_told: bool,
}

impl Effort {
    fn spend(&mut self, units: u64) {
        self.spent = self.spent.saturating_add(units);
    }
}

/// Compiles everything in a policy. What cannot be compiled is a problem, and left out.
pub(crate) fn compile(
    policy: RawPolicy,
    source: &str,
    effort: &mut Effort,
    problems: &mut Problems,
) -> (Compiled, Option<ExtraUse>) {
    let has_params = policy.param_kind.is_some();
    let plain = declarations(has_params);
    let mut composed = plain.clone().composed();
    let mut compiler = Compiler { source, effort, problems, uses: Uses::default(), extra: None };
    let conditions = policy.conditions.iter();
    let conditions =
        conditions.filter_map(|condition| compiler.expression(condition, &plain, &["bool"])).collect();
    let variables = compiler.variables(&policy.variables, &mut composed);
    let mut validations = Vec::new();
    for validation in &policy.validations {
        validations.extend(compiler.validation(validation, &composed));
    }
    let mut audit_annotations = Vec::new();
    for (key, value) in &policy.audit_annotations {
        let expression = compiler.expression(value, &composed, &["string", "null"]);
        audit_annotations
            .extend(expression.map(|expression| AuditAnnotation { key: key.text.to_string(), expression }));
    }
    let mutating = composed.clone().mutation();
    let mut mutations = Vec::new();
    for (patch, expression) in &policy.mutations {
        let wanted = match patch {
            PatchType::ApplyConfiguration => "Object",
            PatchType::JsonPatch => "list(JSONPatch)",
        };
        let expression = compiler.expression(expression, &mutating, &[wanted]);
        mutations.extend(expression.map(|expression| Mutation { patch: *patch, expression }));
    }
    let (uses, extra) = (compiler.uses, compiler.extra);
    let definition = Definition {
        name: Arc::clone(&policy.name.text),
        fails_open: policy.fails_open,
        matching: policy.matching,
        param_kind: policy.param_kind.map(|(kind, _)| kind),
        conditions,
        variables,
        bindings: Vec::new(),
        uses,
    };
    let compiled = match policy.kind {
        super::set::Kind::Validating => {
            Compiled::Validating(ValidatingPolicy { definition, validations, audit_annotations })
        }
        super::set::Kind::Mutating => {
            Compiled::Mutating(MutatingPolicy { definition, mutations, reinvokes: policy.reinvokes })
        }
    };
    (compiled, extra)
}

/// What expressions may name: what Kubernetes shows them, in the order of [`NAMES`], and what only we do.
pub(crate) fn declarations(has_params: bool) -> Declarations {
    let standard = Declarations::admission();
    let all = Extra::ALL.into_iter().fold(standard, |all, extra| all.variable(extra.as_str(), Type::Dyn));
    if has_params { all } else { all.without("params") }
}

struct Compiler<'p> {
    source: &'p str,
    effort: &'p mut Effort,
    problems: &'p mut Problems,
    uses: Uses,
    extra: Option<ExtraUse>,
}

impl Compiler<'_> {
    fn validation(&mut self, raw: &RawValidation, declarations: &Declarations) -> Option<Validation> {
        let expression = self.expression(&raw.expression, declarations, &["bool"]);
        let message_expression = match &raw.message_expression {
            Some(message) => Some(self.expression(message, declarations, &["string"])?),
            None => None,
        };
        let message = match &raw.message {
            Some(message) => message.text.trim().to_owned(),
            None => format!("failed expression: {}", raw.expression.text.trim()),
        };
        Some(Validation { expression: expression?, message, message_expression, reason: raw.reason })
    }

    /// Variables in their order; each may use those before it.
    fn variables(&mut self, raw: &[(Written, Written)], declarations: &mut Declarations) -> Composition {
        let mut variables = Composition::default();
        for (name, expression) in raw {
            if !self.may_compile(expression) {
                break;
            }
            match variables.add(&name.text, &expression.text, declarations) {
                Ok(weight) => self.effort.spend(weight),
                Err(diagnostics) => self.refuse(expression, &diagnostics),
            }
        }
        for ((_, program), (_, expression)) in variables.programs().zip(raw) {
            self.note(program, expression);
        }
        variables
    }

    fn expression(
        &mut self,
        written: &Written,
        declarations: &Declarations,
        results: &[&str],
    ) -> Option<Expression> {
        if !self.may_compile(written) {
            return None;
        }
        let program = match Program::compile(&written.text, declarations) {
            Ok(program) => program,
            Err(diagnostics) => {
                self.refuse(written, &diagnostics);
                return None;
            }
        };
        if !results.contains(&program.result()) {
            let wanted: Vec<String> = results.iter().map(|result| format!("`{result}`")).collect();
            let message = format!(
                "{}: comes to `{}`; it has to come to {}",
                written.path,
                program.result(),
                wanted.join(" or ")
            );
            let place = written.locate(self.source, &(0..written.text.trim_end().len()));
            if program.result() == "dyn" {
                let help = "the type of a field is not known beforehand; compare it, as in `… == true`, or convert it";
                self.problems.error_with_help(&place, "wrong-result", message, help);
            } else {
                self.problems.error(&place, "wrong-result", message);
            }
            return None;
        }
        self.effort.spend(program.weight());
        self.note(&program, written);
        Some(Expression { text: Arc::clone(&written.text), program })
    }

    /// Whether this load may compile one more, which counts. What it may not is an error, told once.
    fn may_compile(&mut self, written: &Written) -> bool {
        if self.problems.is_full() {
            return false;
        }
        self.effort.spend((written.text.len() / BYTES_OF_A_UNIT) as u64);
        if self.effort.spent <= MOST_COMPILED {
            return true;
        }
        if !self.effort.is_told {
            self.effort.is_told = true;
            let place = written.locate(self.source, &(0..0));
            let message = format!("{}: all expressions of all files together are too large", written.path);
            let help = "write fewer of them, shorter ones, or patterns with smaller repetitions";
            self.problems.error_with_help(&place, "too-large", message, help);
        }
        false
    }

    /// Remembers what an expression looks at.
    fn note(&mut self, program: &Program, written: &Written) {
        let uses = Uses::of(program);
        self.uses = self.uses.and(uses);
        if self.extra.is_none() {
            let first = uses.extras().filter_map(|extra| {
                let span = cel::first_use(&written.text, extra.as_str())?;
                Some((span.start, extra, span))
            });
            if let Some((_, extra, span)) = first.min_by_key(|(start, ..)| *start) {
                let place = written.locate(self.source, &(span.start as usize..span.end as usize));
                self.extra = Some(ExtraUse { extra, place });
            }
        }
    }

    /// Tells each mistake of an expression at its characters.
    fn refuse(&mut self, written: &Written, diagnostics: &[Diagnostic]) {
        // What is asked of an authorizer is unknown only because there is none.
        let is_authorizer = |diagnostic: &&Diagnostic| diagnostic.message.starts_with("`authorizer`");
        let unavailable: Vec<&Diagnostic> = diagnostics.iter().filter(is_authorizer).collect();
        let (code, told) = if unavailable.is_empty() {
            ("cel", diagnostics.iter().collect())
        } else {
            ("authorizer", unavailable)
        };
        for diagnostic in told {
            if self.problems.is_full() {
                self.problems.pass_over();
                continue;
            }
            let span = diagnostic.span.start as usize..diagnostic.span.end as usize;
            let named = written.text.get(span).unwrap_or_default();
            let help = help(named, &diagnostic.message, written);
            let place = written.locate(self.source, &written.at_fault(diagnostic));
            let message = format!("{}: {}", written.path, diagnostic.message);
            match help {
                Some(help) => self.problems.error_with_help(&place, code, message, help),
                None => self.problems.error(&place, code, message),
            }
        }
    }
}

/// What to say besides what the language says.
fn help(named: &str, message: &str, written: &Written) -> Option<&'static str> {
    let undeclared = |name: &str| message.starts_with(&format!("undeclared reference to '{name}'"));
    if undeclared("params") {
        return Some("there are params only in a policy with `paramKind`");
    }
    if undeclared("variables") && written.path.contains("matchConditions") {
        return Some("conditions come before variables, so they cannot use them");
    }
    let of_variables = message.starts_with("undefined field") && named.starts_with("variables.");
    of_variables.then_some("a variable can use only those that are written before it")
}

// The places of the names are those of the values that are bound.
const _: () = assert!(EXTRAS + Extra::ALL.len() == VARIABLES && VARIABLES + 1 == NAMES.len());

#[cfg(test)]
mod tests {
    use super::{NAMES, declarations};

    #[test]
    fn names_are_bound_in_their_order() {
        let composed = declarations(true).composed();
        assert_eq!(composed.names().collect::<Vec<_>>(), NAMES);
    }
}
