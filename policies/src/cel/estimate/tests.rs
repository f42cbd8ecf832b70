//! Estimates: with and without a schema.

use serde_json::json;

use crate::cel::{Declarations, EXPRESSION_LIMIT, Program};

fn estimate(text: &str) -> u64 {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 20},
        "few": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 10}},
        "many": {"type": "array", "items": {"type": "integer"}},
        "tags": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "string", "maxLength": 10}},
    }}}});
    Program::estimate(text, &Declarations::admission().described("object", &schema)).unwrap()
}

#[test]
fn what_is_bounded_is_estimated_closely() {
    for (text, expected) in [
        ("1 + 2", 1),
        ("object.spec.name == 'x'", 4),
        ("object.spec.name.matches('^[a-z]+$')", 3 + 3 * 2),
        ("object.spec.few.all(x, x != '')", 3 + 5 * 4 + 1),
        ("object.spec.few.size() <= 3 ? object.spec.name : 'none'", 3 + 1 + 1 + 3),
        ("object.spec.few.map(x, x + 'a').size()", 3 + 5 * (1 + 1 + 1 + 2 + 10) + 1 + 1),
        ("object.spec.tags.all(k, object.spec.tags[k] != k)", 3 + 3 * (4 + 1 + 1 + 2 + 2) + 1),
    ] {
        let found = estimate(text);
        assert!((expected..=expected * 2).contains(&found), "{text}: {found}, and not {expected}");
    }
}

#[test]
fn what_is_not_bounded_passes_the_limit() {
    for text in [
        "object.spec.many.all(x, x > 0)",
        "params.names.all(x, x.startsWith('a'))",
        "object.spec.few.all(a, object.spec.many.all(b, a.size() > b))",
        "object.metadata.annotations.all(k, object.metadata.annotations[k].matches('^a'))",
        "lists.range(object.spec.few.size()).size() > 1",
    ] {
        assert!(estimate(text) > EXPRESSION_LIMIT, "{text}: {}", estimate(text));
    }
}

#[test]
fn nothing_overflows() {
    let inner = "params.a.all(a, params.b.all(b, params.c.all(c, params.d.all(d, a + b + c == d))))";
    assert_eq!(Program::estimate(inner, &Declarations::admission()).unwrap(), u64::MAX);
}
