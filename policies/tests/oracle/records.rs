//! The recorded answers: `recorded/TOPIC.jsonl` has one line for each expression of the topic, in order;
//! `recorded/functions.jsonl` everything that Kubernetes' CEL can call; `recorded/uses.json` an expression for
//! each of these; `recorded/versions.txt` of what the oracle was made that answered.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf};

use serde_json::Value;

use crate::{
    answer::Answer,
    corpus::{self, Case, Inputs},
    oracle,
};

fn file(name: &str) -> PathBuf {
    corpus::folder().join("recorded").join(name)
}

/// The recorded answers of one topic.
pub(crate) fn read(topic: &str) -> Vec<Answer> {
    let path = file(&format!("{topic}.jsonl"));
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}: {REFRESH}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const REFRESH: &str = "refresh the records as tests/oracle/README.md says";

#[test]
fn every_expression_has_its_record_and_every_record_its_expression() {
    let topics = corpus::topics();
    for (topic, cases) in &topics {
        let expressions: Vec<&str> = cases.iter().map(|case| case.expression.as_str()).collect();
        let answers = read(topic);
        let recorded: Vec<&str> = answers.iter().map(|answer| answer.id.as_str()).collect();
        let different = expressions.iter().zip(&recorded).find(|(expression, record)| expression != record);
        assert_eq!(different, None, "{topic}: {REFRESH}");
        assert_eq!(expressions.len(), recorded.len(), "{topic}: {REFRESH}");
        for answer in answers {
            let known = ["parse", "check", "evaluate"];
            assert!(
                answer.stage.is_none_or(|stage| known.contains(&stage.as_str())),
                "{topic}: {}",
                answer.id
            );
        }
    }
    for entry in fs::read_dir(file("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let topic = name.strip_suffix(".jsonl").unwrap_or_default();
        let known = ["functions.jsonl", "uses.json", "versions.txt"].contains(&name.as_str())
            || topics.contains_key(topic);
        assert!(known, "recorded/{name} has no topic: remove it");
    }
}

/// The libraries that decide what the oracle says, with their versions, as its go.mod names them.
fn versions() -> String {
    let go_mod = corpus::folder().join("../../../tests/go/cel-oracle/go.mod");
    let go_mod = fs::read_to_string(go_mod).unwrap();
    let lines = go_mod.lines().map(str::trim);
    let decisive = ["github.com/google/cel-go ", "k8s.io/apimachinery ", "k8s.io/apiserver "];
    lines
        .filter(|line| decisive.iter().any(|module| line.starts_with(module)))
        .fold(String::new(), |all, line| all + line + "\n")
}

#[test]
fn the_records_are_of_the_version_that_the_bench_runs() {
    assert_eq!(fs::read_to_string(file("versions.txt")).unwrap(), versions(), "{REFRESH}");
    assert_eq!(versions().lines().count(), 3);
}

/// Every overload and macro that Kubernetes has, a JSON line each.
pub(crate) fn function_lines() -> String {
    fs::read_to_string(file("functions.jsonl")).unwrap()
}

/// Every overload and macro that Kubernetes has, by name.
pub(crate) fn functions() -> Vec<String> {
    let text = function_lines();
    let name = |line: &str| {
        let function: Value = serde_json::from_str(line).unwrap();
        function.get("overload").or(function.get("macro")).unwrap().as_str().unwrap().to_owned()
    };
    text.lines().map(name).collect()
}

#[test]
fn every_overload_and_every_macro_of_kubernetes_is_used() {
    let uses: BTreeMap<String, (String, String)> =
        serde_json::from_str(&fs::read_to_string(file("uses.json")).unwrap()).unwrap();
    let topics = corpus::topics();
    for name in functions() {
        let Some((topic, expression)) = uses.get(&name) else {
            panic!("no expression of the corpus uses `{name}`: write one, then {REFRESH}")
        };
        let written =
            topics.get(topic).is_some_and(|cases| cases.iter().any(|case| case.expression == *expression));
        assert!(written, "`{expression}`, which used `{name}`, is no longer in {topic}: {REFRESH}");
    }
}

#[test]
#[ignore = "asks the oracle and writes the records: see README.md"]
fn refresh() {
    let functions = oracle::command("CEL_ORACLE").arg("--functions").output().unwrap();
    assert!(functions.status.success(), "{functions:?}");
    fs::write(file("functions.jsonl"), functions.stdout).unwrap();
    let inputs = Inputs::read();
    let mut uses = BTreeMap::new();
    for (topic, cases) in corpus::topics() {
        let answers = answers(&inputs, &cases);
        let mut text = String::new();
        for answer in answers {
            for name in &answer.uses {
                // What a generator made may be gone tomorrow.
                if topic != "generated" && !uses.contains_key(name) {
                    uses.insert(name.clone(), (topic.clone(), answer.id.clone()));
                }
            }
            writeln!(text, "{}", serde_json::to_string(&answer.recorded()).unwrap()).unwrap();
        }
        fs::write(file(&format!("{topic}.jsonl")), text).unwrap();
    }
    fs::write(file("versions.txt"), versions()).unwrap();
    fs::write(file("uses.json"), serde_json::to_string_pretty(&uses).unwrap() + "\n").unwrap();
}

/// What the oracle answers, with what each expression uses.
pub(crate) fn answers(inputs: &Inputs, cases: &[Case]) -> Vec<Answer> {
    let mut command = oracle::command("CEL_ORACLE");
    command.arg("--uses");
    oracle::ask(command, inputs, cases)
}
