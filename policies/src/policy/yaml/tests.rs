use super::{Budget, Node, Yaml, read};
use crate::policy::problem::{Problems, SourceFile};

fn documents(text: &str) -> (Vec<Node>, Vec<String>) {
    let mut problems = Problems::default();
    let nodes = read(text, 0, &mut Budget::default(), &mut problems);
    let files = [SourceFile { path: "a.yaml".to_owned(), text: text.to_owned() }];
    let problems = problems.sorted(&files);
    let told = problems.iter().map(|problem| {
        let (line, column) = problem.place(&files).unwrap_or_default();
        format!("{line}:{column} {}", problem.message)
    });
    (nodes, told.collect())
}

fn json(text: &str) -> String {
    let (nodes, problems) = documents(text);
    assert!(problems.is_empty(), "{problems:?}");
    let mut out = String::new();
    nodes.iter().for_each(|node| node.write_json(&mut out));
    out
}

#[test]
fn documents_are_read() {
    for (text, expected) in [
        ("a: 1\nb: [x, 'y', \"z\\n\"]\n", r#"{"a":1,"b":["x","y","z\n"]}"#),
        ("---\n---\na: 1\n---\nb: 2\n", r#"{"a":1}{"b":2}"#),
        ("{\"a\": {\"b\": null}}", r#"{"a":{"b":null}}"#),
        ("a: &x {b: 1}\nc: *x\n", r#"{"a":{"b":1},"c":{"b":1}}"#),
        ("a: >-\n  x\n  y\nb: |\n  x\n   y\n", r#"{"a":"x y","b":"x\n y\n"}"#),
        ("1: a\ntrue: b\n", r#"{"1":"a","true":"b"}"#),
        ("a: !!str 1\n", r#"{"a":"1"}"#),
    ] {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (text, expected) in [
        ("a: 1\na: 2\n", "2:1 key `a` is there twice"),
        ("a: .nan\n", "1:4 a number that JSON does not have; put it in quotes if it is a text"),
        ("[a]: 1\n", "1:1 a key is a list; it has to be a string"),
        ("a: !foo 1\n", "1:9 a tag that Kubernetes does not read; remove it"),
        ("a: &a [*a]\n", "1:8 an alias cannot stand for what it is part of"),
        ("a: {<<: {b: 1}}\n", "1:5 merging by `<<` is not read here; write the fields themselves"),
    ] {
        assert_eq!(documents(text).1, [expected], "{text}");
    }
}

#[test]
fn a_broken_document_does_not_hide_the_next() {
    let (nodes, problems) = documents("a: [1\n---\nb: 2\nb: 3\n---\nc: 4\n");
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(nodes.len(), 2);
}

#[test]
fn bombs_are_refused() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let inner = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [inner.as_str(); 10].join(","));
    }
    let (_, problems) = documents(&bomb);
    let expected = "more than 400000 values in all files together, counting those that aliases copy";
    assert!(problems[0].ends_with(expected), "{problems:?}");

    for deep in ["[".repeat(100_000), "{a: ".repeat(50_000), "- ".repeat(100_000), "a:\n".repeat(3)] {
        let (_, problems) = documents(&deep);
        assert!(problems.len() < 3, "{problems:?}");
    }
    let (_, problems) = documents(&"---\na: 1\n".repeat(100_000));
    assert_eq!(problems, ["20001:1 more than 10000 documents in all files together"]);
}

#[test]
fn a_character_of_a_string_is_found_where_it_is_written() {
    for (text, value, wanted) in [
        ("a: object.x == 1\n", "object.x == 1", "x =="),
        ("a: 'it''s x'\n", "it's x", "s x"),
        ("a: \"a\\tb \\u00e9 x\"\n", "a\tb é x", "x"),
        ("a: \"a \\\n   b x\"\n", "a b x", "b x"),
        ("a: \"\\ud83d\\ude00 x\"\n", "😀 x", "x"),
        ("a: |\n  one\n    two x\n", "one\n  two x\n", "two"),
        ("a: |2-\n    one\n  two x\n", "  one\ntwo x", "two"),
        ("a: >-\n  one\n  two\n\n  three x\n", "one two\nthree x", "three"),
        ("a: one\n  two x\n", "one two x", "two"),
        ("- a:\n    - >\n      é one\n      two\n", "é one two\n", "one"),
    ] {
        let (nodes, _) = documents(text);
        let mut node = &nodes[0];
        loop {
            node = match &node.value {
                Yaml::Map(entries) => &entries[0].value,
                Yaml::List(items) => &items[0],
                _ => break,
            };
        }
        let Yaml::Text(read, style) = &node.value else { panic!("{node:?}") };
        assert_eq!(&**read, value, "{text}");
        let at = value.find(wanted).unwrap();
        let written = &text[node.span.clone()];
        let found = style.locate(written, value, &(at..at + wanted.len()));
        let found = &written[found];
        assert!(
            found.starts_with(&wanted[..1]) && found.ends_with(&wanted[wanted.len() - 1..]),
            "{text}: {found:?}"
        );
        assert_eq!(
            found.split_whitespace().collect::<Vec<_>>(),
            wanted.split_whitespace().collect::<Vec<_>>()
        );
    }
}
