use std::fs;

use roxmltree::Document;

use crate::{here, run};

#[test]
fn what_is_right_passes() {
    run(&["test", "workers", "mutating"]).prints(0, "test-good.txt");
}

#[test]
fn what_fails_is_shown_as_a_difference_and_what_was_not_seen_is_listed() {
    run(&["test", "failing"]).prints(1, "test-failing.txt");
}

#[test]
fn mistakes_of_policies_and_cases_are_told_together() {
    run(&["test", "broken"]).prints(1, "test-broken.txt");
}

#[test]
fn a_policy_without_cases_was_never_seen() {
    run(&["test", "unbound/policy.yaml"]).prints(1, "test-without-cases.txt");
    assert_eq!(run(&["test", "--allow-unseen", "unbound"]).code, Some(0));
}

#[test]
fn every_folder_is_tested_by_itself() {
    let ran = run(&["test", "."]);
    assert_eq!(ran.code, Some(1));
    for folder in ["ok   ./workers: 3 cases", "ok   ./mutating: 2 cases", "FAIL ./failing:", "FAIL ./broken:"]
    {
        assert!(ran.out.contains(folder), "{folder} in {}", ran.out);
    }
}

#[test]
fn pipelines_read_junit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.xml");
    let ran = run(&["test", "workers", "failing", "broken", "--junit", path.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{}", ran.errors);
    let text = fs::read_to_string(&path).unwrap();
    let xml = Document::parse(&text).unwrap();
    let root = xml.root_element();
    let attribute = |name| root.attribute(name).unwrap().parse::<usize>().unwrap();
    let named = |name: &str| root.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!((root.tag_name().name(), named("testsuite")), ("testsuites", 3));
    assert_eq!((attribute("tests"), attribute("failures")), (named("testcase"), named("failure")));
    let case = root
        .descendants()
        .find(|node| node.attribute("name") == Some("three workers & more, as <XML> would have them"))
        .unwrap();
    assert_eq!((case.attribute("file"), case.attribute("line")), (Some("failing/cases.yaml"), Some("7")));
    let failure = case.first_element_child().unwrap();
    assert_eq!(failure.text().unwrap(), "- expected\n+ actual\n- warnings:\n- - something\n+ warnings: []\n");
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure() {
    let ran = run(&["test", "workers", "--junit", "no/such/folder.xml"]);
    ran.fails("cannot write `no/such/folder.xml`: No such file or directory (os error 2)");
    assert!(here().is_dir());
}
