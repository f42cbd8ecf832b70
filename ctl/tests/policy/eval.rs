use serde_json::{Value, json};

use crate::{run, run_with};

#[test]
fn a_value_has_its_type_and_its_cost() {
    let ran = run(&["eval", "object.spec.validations.size()", "--object", "scalars/policy.yaml"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "5\ntype int, cost 4\n"), "{}", ran.errors);
}

#[test]
fn a_mistake_has_a_caret() {
    run(&["eval", "object.metadata.name == 'a' && missing.name"]).prints(1, "eval-refused.txt");
}

#[test]
fn an_expression_that_fails_says_why() {
    run(&["eval", "object.spec", "--object", "mutating/cases.yaml"]).prints(1, "eval-failed.txt");
    run(&["eval", "lists.range(10000000).all(one, one < 5)"]).prints(1, "eval-over-budget.txt");
}

#[test]
fn an_expression_of_a_mutation_makes_objects() {
    let ran = run(&["eval", "--mutating", "[JSONPatch{op: 'remove', path: '/spec'}]"]);
    assert_eq!(
        (ran.code, ran.out.lines().next()),
        (Some(0), Some(r#"[{"@JSONPatch":{"op":"remove","path":"/spec"}}]"#))
    );
}

#[test]
fn lines_are_answered_one_by_one() {
    let input = concat!(
        r#"{"id":1,"expr":"object.a + 1","object":{"a":41}}"#,
        "\n\n",
        r#"{"id":"two","expr":"1 +"}"#,
        "\n",
        r#"{"id":3,"expr":"object.b","object":{"a":41}}"#,
        "\nno json\n",
        r#"{"id":5,"expr":"request.operation","request":{"operation":"CREATE"}}"#,
    );
    let ran = run_with(&["eval", "--lines"], input.as_bytes());
    assert_eq!((ran.code, ran.errors.as_str()), (Some(0), ""));
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers[0], json!({"id": 1, "value": 42, "type": "int", "cost": 3}));
    assert_eq!((&answers[1]["id"], &answers[1]["stage"]), (&json!("two"), &json!("check")));
    assert!(answers[1]["error"].as_str().unwrap().starts_with("1:4: "), "{}", answers[1]);
    assert_eq!(answers[2], json!({"id": 3, "stage": "evaluate", "error": "no such key: b", "cost": 2}));
    assert_eq!((&answers[3]["id"], &answers[3]["stage"]), (&Value::Null, &json!("read")));
    assert_eq!(answers[4]["value"], json!("CREATE"));
    assert_eq!(answers.len(), 5);
    assert!(ran.out.starts_with(r#"{"id":1,"value":42,"type":"int","cost":3}"#));
}

#[test]
fn a_line_too_long_is_told_and_passed_over() {
    let mut input = vec![b' '; 5 << 20];
    input.extend_from_slice(b"\n{\"id\":1,\"expr\":\"1\"}\n");
    let ran = run_with(&["eval", "--lines"], &input);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{"id":null,"stage":"read","error":"the line is longer than 4194304 bytes"}"#,
            r#"{"id":1,"value":1,"type":"int","cost":0}"#
        ]
    );
}
