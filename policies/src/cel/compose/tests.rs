//! Policies of variables: values, what they cost, and that none can go on for ever.

use super::{Composition, Computed};
use crate::cel::{Declarations, EXPRESSION_LIMIT, POLICY_LIMIT, Program, Tree, Type, Value};

fn declarations() -> Declarations {
    Declarations::default().variable("object", Type::Dyn).composed()
}

fn composition(variables: &[(&str, &str)]) -> (Composition, Declarations) {
    let (mut composition, mut declarations) = (Composition::default(), declarations());
    for (name, text) in variables {
        composition.add(name, text, &mut declarations).unwrap();
    }
    (composition, declarations)
}

/// Each expression's value, its cost and that of the variables it evaluated.
fn run(variables: &[(&str, &str)], expressions: &[&str]) -> Vec<String> {
    let (composition, declarations) = composition(variables);
    let tree = Tree::parse(r#"{"list":[1,2,3],"name":"x"}"#).unwrap();
    let bindings = [Value::of(&tree), Value::Variables];
    let programs: Vec<Program> =
        expressions.iter().map(|text| Program::compile(text, &declarations).unwrap()).collect();
    let mut computed = Computed::new(&composition);
    let mut answers = Vec::new();
    for program in &programs {
        let outcome = program.evaluate_composed(&bindings, &mut computed, EXPRESSION_LIMIT, POLICY_LIMIT);
        let value = outcome.value.map_or_else(|error| format!("error: {error}"), |value| value.plain());
        answers.push(format!("{value} {} {}", outcome.cost, outcome.variables));
    }
    answers
}

#[test]
fn a_variable_is_evaluated_when_it_is_first_looked_at_and_once() {
    let variables = [("n", "object.list.size()"), ("twice", "variables.n * 2"), ("unused", "1 / 0")];
    let answers = run(&variables, &["true || variables.n == 3", "variables.twice == 6", "variables.n == 3"]);
    assert_eq!(answers, ["true 0 0", "true 3 6", "true 3 0"]);
}

#[test]
fn an_error_of_a_variable_is_one_of_what_looks_at_it() {
    let variables = [("bad", "object.missing"), ("worse", "variables.bad")];
    let answers = run(&variables, &["has(variables.worse)", "variables.?bad.hasValue()"]);
    assert_eq!(
        answers,
        [
            "error: composited variable \"worse\" fails to evaluate: composited variable \"bad\" fails to evaluate: no \
             such key: missing 1 4",
            "error: composited variable \"bad\" fails to evaluate: no such key: missing 2 0",
        ]
    );
}

#[test]
fn a_variable_has_the_type_of_its_expression() {
    let (_, declarations) = composition(&[("n", "object.list.size()"), ("q", "quantity('1')")]);
    let refused = |text: &str| Program::compile(text, &declarations).unwrap_err()[0].to_string();
    assert_eq!(refused("variables.later"), "undefined field 'later'");
    assert_eq!(
        refused("variables.n + 'a'"),
        "found no matching overload for '_+_' applied to '(int, string)'"
    );
    // What is not simple is known while evaluating only, as in Kubernetes.
    assert!(Program::compile("variables.q + 1", &declarations).is_ok());
}

#[test]
fn a_variable_that_needs_itself_is_an_error() {
    let answers = run(&[("a", "dyn(variables).b"), ("b", "dyn(variables).a")], &["variables.a"]);
    assert!(answers[0].contains("composited variable \"a\" needs itself"), "{answers:?}");
}

#[test]
fn a_long_chain_of_variables_takes_no_stack() {
    let names: Vec<String> = (0..20_000).map(|at| format!("v{at}")).collect();
    let texts: Vec<String> = (0..20_000_usize)
        .map(|at| at.checked_sub(1).map_or("1".into(), |at| format!("variables.v{at}")))
        .collect();
    let variables: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    assert_eq!(run(&variables, &["variables.v19999"]), ["1 2 39998"]);
}

#[test]
fn variables_that_wait_for_others_spend_the_budget_too() {
    let heavy = "[1,2,3,4,5,6,7,8,9,10]";
    let heavy = format!("{heavy}.all(a, {heavy}.all(b, {heavy}.all(c, {heavy}.all(d, a + b + c + d > 0))))");
    let names: Vec<String> = (0..1_000).map(|at| format!("v{at}")).collect();
    let texts: Vec<String> = (0..1_000_usize)
        .map(|at| match at.checked_sub(1) {
            None => heavy.clone(),
            Some(at) => format!("{heavy} && variables.v{at}"),
        })
        .collect();
    let variables: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let (composition, declarations) = composition(&variables);
    let program = Program::compile("variables.v999", &declarations).unwrap();
    let tree = Tree::parse("{}").unwrap();
    let bindings = [Value::of(&tree), Value::Variables];
    let mut computed = Computed::new(&composition);
    let outcome = program.evaluate_composed(&bindings, &mut computed, EXPRESSION_LIMIT, POLICY_LIMIT);
    assert_eq!(outcome.value.unwrap_err(), "operation cancelled: actual cost limit exceeded");
    assert!(
        (POLICY_LIMIT..POLICY_LIMIT + EXPRESSION_LIMIT).contains(&outcome.variables),
        "{}",
        outcome.variables
    );
}
