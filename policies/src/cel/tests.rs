//! Whole expressions: value, error and cost.

use super::{Declarations, EXPRESSION_LIMIT, Program, Tree, Type, Value};

fn declarations() -> Declarations {
    Declarations::default().variable("object", Type::Dyn)
}

/// The value as text with the cost, or the error.
fn run(text: &str) -> String {
    let program = match Program::compile(text, &declarations()) {
        Ok(program) => program,
        Err(diagnostics) => return format!("refused: {}", diagnostics[0]),
    };
    let tree = Tree::parse(r#"{"a":{"b":1},"list":[1,2,3],"name":"x","big":"0123456789abc"}"#).unwrap();
    let variables = [Value::of(&tree)];
    let outcome = program.evaluate(&variables, EXPRESSION_LIMIT);
    match outcome.value {
        Ok(value) => format!("{} {}", value.plain(), outcome.cost),
        Err(message) => format!("error: {message} {}", outcome.cost),
    }
}

#[test]
fn values_and_costs_are_those_of_kubernetes() {
    for (text, expected) in [
        ("1 + 2", "3 1"),
        ("object.a.b", "1 3"),
        ("object.a.c", "error: no such key: c 3"),
        ("has(object.a.c)", "false 2"),
        ("object.list.all(x, x > 0)", "true 18"),
        ("object.list.map(x, x * 2).size()", "3 46"),
        ("true ? object.name : 'y'", "x 1"),
        ("object.?a.?c.orValue(5)", "5 2"),
        ("object.name in ['x', 'y']", "true 2"),
        ("'a' + 'b'", "ab 1"),
        ("1 / 0", "error: division by zero 1"),
        ("1 / 0 == 1 || true", "true 2"),
        ("optional.of(3).optMap(x, x + x).value()", "6 9"),
    ] {
        assert_eq!(run(text), expected, "{text}");
    }
}
