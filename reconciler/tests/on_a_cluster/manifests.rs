//! What `manifests/reconciler` says fits together, and the program understands it.

use butler_bench::manifests::{disagreements, refusals};
use serde_json::Value;

use crate::world::{ACCOUNT, read, repository};

const FOLDER: &str = "manifests/reconciler";

#[test]
fn the_manifests_agree_with_each_other() {
    assert_eq!(disagreements(&repository(FOLDER), ACCOUNT), [""; 0]);
}

#[test]
fn the_program_takes_the_arguments_of_the_deployment() {
    let [away, misspelt] = refusals(env!("CARGO_BIN_EXE_butler-reconciler"), &repository(FOLDER)).unwrap();
    let said = String::from_utf8(away.stderr).unwrap();
    assert!(said.contains("cannot read the kubeconfig `/no/such/file`"), "{said}");
    assert_eq!((away.status.code(), misspelt.status.code()), (Some(1), Some(2)));
}

#[test]
fn the_installation_has_every_definition_and_both_programs() {
    let all: Value = serde_saphyr::from_str(&read("manifests/kustomization.yaml")).unwrap();
    let mut listed: Vec<String> = serde_json::from_value(all["resources"].clone()).unwrap();
    listed.sort();
    let files = std::fs::read_dir(repository("manifests/crds")).unwrap();
    let mut wanted: Vec<String> =
        files.map(|entry| format!("crds/{}", entry.unwrap().file_name().into_string().unwrap())).collect();
    wanted.extend(["webhook".to_owned(), "reconciler".to_owned()]);
    wanted.sort();
    assert_eq!(listed, wanted);
}
