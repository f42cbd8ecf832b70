//! Our own CEL, asked as the oracle is asked.

use butler_policies::cel::{Declarations, EXPRESSION_LIMIT, Program, Tree, Value};
use serde_json::{Map, Value as Json, json};

use crate::{
    answer::Answer,
    corpus::{Case, Inputs},
};

const VARIABLES: [&str; 5] = ["object", "oldObject", "params", "request", "namespaceObject"];

pub(crate) fn ask(inputs: &Inputs, cases: &[Case]) -> Vec<Answer> {
    let (judging, mutating) = (Declarations::admission(), Declarations::admission().mutation());
    let declarations = |case: &Case| if case.mutating { &mutating } else { &judging };
    cases.iter().map(|case| answer(declarations(case), inputs, case)).collect()
}

fn answer(declarations: &Declarations, inputs: &Inputs, case: &Case) -> Answer {
    let id = case.expression.clone();
    let program = match Program::compile(&case.expression, declarations) {
        Ok(program) => program,
        Err(diagnostics) => {
            let (stage, error) = (Some("check".to_owned()), Some(diagnostics[0].to_string()));
            return Answer { id, stage, error, ..Answer::default() };
        }
    };
    let mut question = inputs.question(case);
    as_go_has_them(&mut question);
    let texts = VARIABLES.map(|name| question.get(name).unwrap_or(&Json::Null).to_string());
    let trees: Vec<Tree<'_>> = texts.iter().map(|text| Tree::parse(text).unwrap()).collect();
    let variables: Vec<Value<'_>> = trees.iter().map(Value::of).collect();
    let outcome = program.evaluate(&variables, EXPRESSION_LIMIT);
    let cost = Some(outcome.cost);
    match outcome.value {
        Ok(value) => {
            let (kind, value) = value.encode().unwrap();
            let (kind, value) = (Some(kind.to_owned()), Some(serde_json::from_str(&value).unwrap()));
            Answer { id, kind, value, cost, ..Answer::default() }
        }
        Err(error) => {
            Answer { id, stage: Some("evaluate".to_owned()), error: Some(error), cost, ..Answer::default() }
        }
    }
}

/// The API server hands over what its Go types hold: fields that are always there, and none that are empty where
/// Go leaves those out.
fn as_go_has_them(question: &mut Json) {
    let fill = |object: &mut Map<String, Json>, name: &str, usual: Json| {
        object.entry(name).or_insert(usual);
    };
    if let Some(Json::Object(request)) = question.get_mut("request") {
        fill(request, "uid", json!(""));
        fill(request, "kind", json!({"group": "", "version": "", "kind": ""}));
        fill(request, "resource", json!({"group": "", "version": "", "resource": ""}));
        fill(request, "operation", json!(""));
        fill(request, "userInfo", json!({}));
        for name in ["object", "oldObject", "options"] {
            fill(request, name, Json::Null);
        }
        for name in ["subResource", "requestSubResource", "name", "namespace"] {
            if request.get(name) == Some(&json!("")) {
                request.remove(name);
            }
        }
    }
    if let Some(Json::Object(namespace)) = question.get_mut("namespaceObject") {
        namespace.remove("apiVersion");
        namespace.remove("kind");
        for name in ["metadata", "spec", "status"] {
            fill(namespace, name, json!({}));
        }
    }
}
