//! The rules of the house that no compiler checks: who may depend on what, under which licence, and what ships.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test's helpers fail the test by panicking, like the test itself"
)]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The packages of the workspace.
fn members() -> Vec<Value> {
    let text = cargo(&["metadata", "--no-deps", "--format-version=1", "--locked", "--offline"]);
    let metadata: Value = serde_json::from_str(&text).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn the_pure_crates_build_without_a_runtime_a_client_or_tls() {
    let forbidden = [
        "tokio",
        "kube-client",
        "kube-runtime",
        "hyper",
        "reqwest",
        "rustls",
        "ring",
        "openssl",
        "native-tls",
    ];
    for package in ["butler-api", "butler-policies"] {
        let tree = cargo(&["tree", "-p", package, "-e", "normal", "--prefix=none", "--locked", "--offline"]);
        let found: Vec<&str> = tree
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .filter(|name| forbidden.contains(name))
            .collect();
        assert!(found.is_empty(), "{package} depends on {found:?}");
        assert!(tree.lines().any(|line| line.starts_with("kube-core")), "the tree of {package} was read");
    }
}

#[test]
fn no_dependency_is_under_a_copyleft_licence() {
    const ACCEPTED: [&str; 11] = [
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        // Given to the public whole: `notify`.
        "CC0-1.0",
        "CDLA-Permissive-2.0",
        "ISC",
        "MIT",
        "MIT-0",
        "Unicode-3.0",
        "Zlib",
    ];
    let is_accepted = |part: &str| {
        let licence = part.split(" WITH ").next().unwrap_or_default().trim();
        ACCEPTED.contains(&licence)
    };
    let tree = cargo(&["tree", "--workspace", "--prefix=none", "--format={l}|{p}", "--locked", "--offline"]);
    let lines = tree.lines().filter(|line| !line.is_empty());
    let dependencies: BTreeSet<&str> = lines.map(|line| line.trim_end_matches(" (*)")).collect();
    let refused: Vec<&&str> = dependencies
        .iter()
        .filter(|line| {
            let licence = line.split('|').next().unwrap_or_default().replace('/', " OR ");
            // Any one choice of an `OR` will do; every part of an `AND` has to.
            let choices = licence.replace(['(', ')'], "");
            !choices.split(" OR ").any(|choice| choice.split(" AND ").all(is_accepted))
        })
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(dependencies.len() > 100, "the dependencies were read");
}

#[test]
fn every_crate_obeys_the_lint_table_of_the_workspace() {
    for package in members() {
        let manifest = fs::read_to_string(package["manifest_path"].as_str().unwrap()).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} has lints of its own", package["name"]);
    }
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"forbid\""));
}

#[test]
fn the_dockerfile_has_a_target_for_every_program_that_ships() {
    let members = members();
    let programs: BTreeSet<&str> = members
        .iter()
        .filter(|package| package["name"] != "butler-bench")
        .flat_map(|package| package["targets"].as_array().unwrap())
        .filter(|target| target["kind"][0] == "bin")
        .map(|target| target["name"].as_str().unwrap())
        .collect();
    let dockerfile = fs::read_to_string(root().join("Dockerfile")).unwrap();
    let targets: BTreeSet<&str> =
        dockerfile.lines().filter_map(|line| line.strip_prefix("FROM runtime AS ")).collect();
    assert_eq!(targets, programs);
}
