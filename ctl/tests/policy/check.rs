use std::fs;

use serde_json::{Value, json};

use crate::{here, run};

#[test]
fn what_is_clean_is_listed() {
    run(&["check", "workers", "mutating"]).prints(0, "check-clean.txt");
}

#[test]
fn a_broken_file_is_shown_with_carets_and_all_its_mistakes() {
    run(&["check", "broken"]).prints(1, "check-broken.txt");
}

#[test]
fn carets_are_right_however_a_string_is_written() {
    run(&["check", "scalars"]).prints(1, "check-scalars.txt");
}

#[test]
fn warnings_are_findings() {
    run(&["check", "unbound"]).prints(1, "check-unbound.txt");
}

#[test]
fn what_could_cost_too_much_is_told_and_is_no_finding() {
    let policy = fs::read_to_string(here().join("fixtures/workers/policy.yaml")).unwrap();
    let costly = "object.spec.timeServers.all(a, object.spec.timeServers.all(b, a == b || a.contains(b)))";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.yaml");
    fs::write(&path, policy.replace("object.spec.workers.replicas >= 3", costly)).unwrap();
    let ran = run(&["check", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.errors.as_str()), (Some(0), ""), "{}", ran.out);
    assert!(ran.out.starts_with("warning[cost]: spec.validations[0].expression: can cost "), "{}", ran.out);
}

#[test]
fn programs_read_json() {
    let ran = run(&["check", "--output", "json", "workers", "unbound"]);
    assert_eq!((ran.code, ran.errors.as_str()), (Some(1), ""));
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let names: Vec<&Value> =
        report["policies"].as_array().unwrap().iter().map(|policy| &policy["name"]).collect();
    assert_eq!(names, ["unbound", "workers"]);
    assert_eq!(
        report["policies"][1]["oursOnly"],
        json!({"looksAt": "usage", "line": 15, "column": 17}),
        "{report:#}"
    );
    assert_eq!(report["policies"][0]["portable"], json!(true));
    let problem = &report["problems"][0];
    assert_eq!(
        (&problem["severity"], &problem["code"], &problem["file"], &problem["line"], &problem["column"]),
        (&json!("warning"), &json!("unbound-policy"), &json!("unbound/policy.yaml"), &json!(4), &json!(9))
    );
}
