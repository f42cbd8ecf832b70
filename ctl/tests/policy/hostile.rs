//! Files and folders that nobody means well with.

use std::{fs, path::Path};

use crate::run;

fn with(name: &str, contents: &[u8], then: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(name), contents).unwrap();
    then(directory.path());
}

#[test]
fn what_is_not_there_or_has_no_policies_cannot_be_asked_for() {
    run(&["check", "no-such-path"])
        .fails("`no-such-path` cannot be read: No such file or directory (os error 2)");
    with("README.md", b"nothing", |path| {
        let path = path.to_str().unwrap();
        for command in ["check", "test"] {
            let sentence =
                format!("`{path}` has no policies; they are in files that end in `.yaml`, `.yml` or `.json`");
            run(&[command, path]).fails(&sentence);
        }
    });
    assert_eq!(run(&["check"]).code, Some(2));
    assert_eq!(run(&["check", "--output", "xml", "workers"]).code, Some(2));
    assert_eq!(run(&["eval"]).code, Some(2));
    assert_eq!(run(&["eval", "1", "--lines"]).code, Some(2));
}

#[test]
fn a_file_that_is_not_text_is_refused() {
    with("policy.yaml", b"a: \xff\xfe", |path| {
        let sentence = format!("`{}` is not text in UTF-8", path.join("policy.yaml").display());
        run(&["check", path.to_str().unwrap()]).fails(&sentence);
    });
}

#[test]
fn a_huge_file_is_refused() {
    with("policy.yaml", &vec![b'#'; 5 << 20], |path| {
        let sentence = format!("`{}` is larger than 4194304 bytes", path.join("policy.yaml").display());
        run(&["check", path.to_str().unwrap()]).fails(&sentence);
    });
    with("cases.yaml", &vec![b'#'; 5 << 20], |path| {
        fs::copy(crate::here().join("fixtures/workers/policy.yaml"), path.join("policy.yaml")).unwrap();
        let sentence = format!("`{}` is larger than 4194304 bytes", path.join("cases.yaml").display());
        run(&["test", path.to_str().unwrap()]).fails(&sentence);
    });
}

#[test]
fn deep_and_endless_yaml_is_a_finding() {
    let aliases: String = (1..40).map(|at| format!("a{at}: &a{at} [*a{}, *a{}]\n", at - 1, at - 1)).collect();
    for text in ["[".repeat(100_000), "- ".repeat(100_000), format!("a0: &a0 [x]\n{aliases}")] {
        for name in ["policy.yaml", "cases.yaml"] {
            with(name, text.as_bytes(), |path| {
                if name == "cases.yaml" {
                    let policy = crate::here().join("fixtures/workers/policy.yaml");
                    fs::copy(policy, path.join("policy.yaml")).unwrap();
                }
                let command = if name == "cases.yaml" { "test" } else { "check" };
                let ran = run(&[command, path.to_str().unwrap()]);
                assert_eq!(ran.code, Some(1), "{}", ran.errors);
                assert!(ran.out.len() < 100_000, "{} bytes", ran.out.len());
            });
        }
    }
}

#[test]
fn expressions_that_would_never_end_do() {
    for expression in [
        "1 + ".repeat(100_000) + "1",
        "(".repeat(100_000),
        "[1,2,3,4,5,6,7,8].all(a, ".repeat(40) + "true" + &")".repeat(40),
        "'a'.matches('(a*)*b')".to_owned(),
    ] {
        let line = serde_json::json!({"id": 1, "expr": expression}).to_string();
        let ran = crate::run_with(&["eval", "--lines"], line.as_bytes());
        assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 1), "{}", ran.errors);
    }
}
