//! Expressions written to hurt: each ends with a clean answer, on a stack of 2 MiB.

use super::{Declarations, EXPRESSION_LIMIT, Program, Tree, Type, Value};

/// Runs on a thread with the stack that a server's threads have.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

/// The error, or `ok`.
fn outcome(text: &str) -> String {
    let declarations = Declarations::default().variable("object", Type::Dyn);
    let tree = Tree::parse(r#"{"list":[1,2,3],"text":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}"#)
        .unwrap();
    match Program::compile(text, &declarations) {
        Err(diagnostics) => format!("refused: {}", diagnostics[0].message),
        Ok(program) => match program.evaluate(&[Value::of(&tree)], EXPRESSION_LIMIT).value {
            Ok(_) => "ok".to_owned(),
            Err(message) => message,
        },
    }
}

#[test]
fn nesting_and_chains_are_refused_or_computed() {
    on_a_small_stack(|| {
        let nested = |open: &str, inner: &str, close: &str, count: usize| {
            format!("{}{inner}{}", open.repeat(count), close.repeat(count))
        };
        let chained = |term: &str, operator: &str, count: usize| vec![term; count].join(operator);
        let too_deep = "refused: expression recursion limit exceeded: 250";
        let too_high = "refused: max recursion depth exceeded";
        for (text, expected) in [
            (nested("(", "1", ")", 249), "ok"),
            (nested("(", "1", ")", 250), too_deep),
            (nested("(", "1", ")", 40_000), too_deep),
            (nested("[", "1", "]", 249), "ok"),
            (nested("[", "", "]", 49_000), too_deep),
            (nested("{1:", "1", "}", 249), "ok"),
            (nested("!(", "true", ")", 249), "ok"),
            (nested("-", "1", "", 99_999), "ok"),
            (nested("!", "true", "", 90_000), "ok"),
            (nested("size([", "1", "])", 12_000), too_deep),
            (nested("[1].map(x, ", "1", ")", 248), "ok"),
            (nested("[1].exists(x, ", "true", ")", 248), "ok"),
            (nested("optional.of(", "1", ")", 124), "ok"),
            (nested("optional.of(1).optMap(x, ", "1", ")", 120), "ok"),
            (nested("true ? ", "1", " : 1", 5_000), "refused: syntax error: unexpected `?`"),
            (chained("1", "+", 251), "ok"),
            (chained("1", "+", 252), too_high),
            (chained("1", "+", 50_000), too_high),
            (chained("true", "&&", 16_000), "ok"),
            (chained("true", "==", 14_000), too_high),
            (chained("object", ".", 14_000), too_high),
            (format!("object{}", "[0]".repeat(30_000)), too_high),
            (chained("true ? 1 ", ": ", 240) + ": 1", "ok"),
            (chained("true ? 1 ", ": ", 9_000) + ": 1", too_deep),
            (format!("[{}]", chained("1", ",", 49_000)), "ok"),
            ("'".repeat(99_999), "refused: syntax error: token recognition error at: '''"),
            (
                "a".repeat(100_001),
                "refused: expression code point size exceeds limit: size: 100001, limit 100000",
            ),
        ] {
            let actual = outcome(&text);
            let shown: String = text.chars().take(60).collect();
            assert!(actual == expected, "{shown}…: {actual}, expected {expected}");
        }
    });
}

#[test]
fn what_grows_faster_than_its_text_is_refused() {
    on_a_small_stack(|| {
        let copies = format!("optional.of(1){}", ".optMap(x, x)".repeat(40));
        assert_eq!(outcome(&copies), "refused: expression grows too large");
        let pairs = format!("optional.of(1){}", ".optMap(x, {x: x})".repeat(12));
        assert_eq!(outcome(&pairs), "refused: the type of a part of the expression grows too large");
    });
}

#[test]
fn loops_end_with_the_budget() {
    on_a_small_stack(|| {
        let over = "operation cancelled: actual cost limit exceeded";
        let range = "lists.range(900)";
        for text in [
            format!("{range}.all(a, {range}.all(b, {range}.all(c, true)))"),
            format!("{range}.map(a, {range}.map(b, {range}.map(c, c))).size() > 0"),
            "lists.range(1000000000)".to_owned(),
            "lists.range(9223372036854775807).size()".to_owned(),
            "lists.range(1000000000).all(x, true)".to_owned(),
            "lists.range(90000).sort()".to_owned(),
            "lists.range(2000).distinct()".to_owned(),
            format!("lists.range(60000).map(x, 'xxxxxxxxxx').join('').matches('{}')", "x".repeat(100)),
        ] {
            assert_eq!(outcome(&text), over, "{text}");
        }
    });
}

#[test]
fn memory_is_bounded_where_cost_is_not() {
    on_a_small_stack(|| {
        let large = "operation cancelled: too large";
        let text = "lists.range(30000).map(x, 'xxxxxxxxxx').join('')";
        for expression in [
            format!("[{text}].map(t, t.replace('x', t)).size()"),
            format!("[{text}].map(t, lists.range(1000).map(x, '%s%s%s%s'.format([t, t, t, t])))"),
        ] {
            assert_eq!(outcome(&expression), large, "{expression}");
        }
        // Doubling is cheap as long as nobody looks inside.
        let doubled =
            (0..60).fold("[1]".to_owned(), |list, _| format!("optional.of({list}).optMap(x, x + x).value()"));
        assert!(outcome(&doubled).starts_with("refused"), "nested too deeply to be parsed");
    });
}

#[test]
fn values_cannot_be_nested_without_end() {
    on_a_small_stack(|| {
        assert_eq!(outcome("lists.range(20000).map(x, dyn(__result__))"), "value is nested too deeply");
        let shared = "lists.range(40).map(x, dyn([__result__, __result__]))";
        assert_eq!(outcome(&format!("{shared} == {shared}")), "operation cancelled: too large");
    });
}

#[test]
fn patterns_match_in_linear_time() {
    on_a_small_stack(|| {
        assert_eq!(outcome("object.text.matches('^(a+)+$')"), "ok");
        assert_eq!(outcome("object.text.matches('(a|a|aa)*b')"), "ok");
        assert_eq!(outcome("object.text.matches('((a{100}){10}){10}')"), "refused: invalid matches argument");
        assert_eq!(outcome("lists.range(2000).exists(x, object.text.matches(object.text + 'b'))"), "ok");
        let each = "lists.range(30000).exists(x, object.text.matches(string(x)))";
        assert_eq!(outcome(each), "operation cancelled: too large");
    });
}

#[test]
fn numbers_have_an_end() {
    on_a_small_stack(|| {
        assert_eq!(outcome("quantity('1e2000000000').isInteger()"), "quantity is too large");
        assert_eq!(outcome("quantity('1e-2000000000').isInteger()"), "ok");
        assert_eq!(outcome("'%.999999999e'.format([1.0])"), "operation cancelled: too large");
        let digits = "9".repeat(90_000);
        assert_eq!(outcome(&format!("sign(quantity('{digits}'))")), "ok");
    });
}
