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

#[test]
fn mistakes_are_found_before_evaluation() {
    for (text, expected) in [
        ("object.", "refused: syntax error: unexpected end of the expression"),
        ("1 + 'a'", "refused: found no matching overload for '_+_' applied to '(int, string)'"),
        ("[1, 'a']", "refused: expected type 'int' but found 'string'"),
        ("missing", "refused: undeclared reference to 'missing' (in container '')"),
        ("object.foo(1)", "refused: undeclared reference to 'foo' (in container ''): unknown function"),
        ("int('a')", "refused: type conversion error from 'string' to 'int'"),
        ("'a'.matches('(')", "refused: invalid matches argument"),
        ("Object{}", "refused: undeclared reference to 'Object' (in container ''): unknown type"),
        (
            "authorizer.path('/healthz').check('get').allowed()",
            "refused: `authorizer` is not available: policies are judged without asking an API server",
        ),
    ] {
        assert_eq!(run(text), expected, "{text}");
    }
}

#[test]
fn a_mistake_has_a_place() {
    let text = "object.a &&\n  object.b.all(x, y)";
    let diagnostics = Program::compile(text, &declarations()).unwrap_err();
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].position(text), (2, 19));
}

#[test]
fn mutations_make_objects_and_patches() {
    let declarations = declarations().mutation();
    let tree = Tree::parse(r#"{"name":"a/b"}"#).unwrap();
    let variables = [Value::of(&tree)];
    for (text, expected) in [
        ("Object{spec: Object.spec{replicas: 3}}", r#"Object {"spec":{"replicas":3}}"#),
        (
            "[JSONPatch{op: 'add', path: '/' + jsonpatch.escapeKey(object.name), value: 1}]",
            r#"list [{"@JSONPatch":{"op":"add","path":"/a~1b","value":1}}]"#,
        ),
    ] {
        let program = Program::compile(text, &declarations).unwrap();
        let value = program.evaluate(&variables, EXPRESSION_LIMIT).value.unwrap();
        let (kind, json) = value.encode().unwrap();
        assert_eq!(format!("{kind} {json}"), expected, "{text}");
    }
}

#[test]
fn going_over_the_budget_is_an_error_at_that_point() {
    let program = Program::compile("object.list.all(x, x > 0)", &declarations()).unwrap();
    let tree = Tree::parse(r#"{"list":[1,2,3]}"#).unwrap();
    let variables = [Value::of(&tree)];
    let outcome = program.evaluate(&variables, 17);
    assert_eq!(outcome.value.unwrap_err(), "operation cancelled: actual cost limit exceeded");
    assert_eq!(outcome.cost, 18);
    assert!(program.evaluate(&variables, 18).value.is_ok());
}
