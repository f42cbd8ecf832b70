//! Our own CEL, asked as the oracle is asked.

use butler_policies::cel::{Declarations, EXPRESSION_LIMIT, Program, Tree, Value};
use butler_policies::policy::{complete, complete_namespace};
use serde_json::Value as Json;

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
    if let Some(request) = question.get_mut("request") {
        complete(request);
    }
    if let Some(namespace) = question.get_mut("namespaceObject") {
        complete_namespace(namespace);
    }
    let texts = VARIABLES.map(|name| question.get(name).unwrap_or(&Json::Null).to_string());
    let trees: Vec<Tree<'_>> = texts.iter().map(|text| Tree::parse(text).unwrap()).collect();
    let variables: Vec<Value<'_>> = trees.iter().map(Value::of).collect();
    let outcome = program.evaluate(&variables, EXPRESSION_LIMIT);
    let cost = Some(outcome.cost);
    match outcome.value {
        Ok(value) => {
            let Some((kind, value)) = value.encode() else {
                let (stage, error) = (Some("encode".to_owned()), Some("there is no such JSON".to_owned()));
                return Answer { id, stage, error, ..Answer::default() };
            };
            let (kind, value) = (Some(kind.to_owned()), Some(serde_json::from_str(&value).unwrap()));
            Answer { id, kind, value, cost, ..Answer::default() }
        }
        Err(error) => {
            Answer { id, stage: Some("evaluate".to_owned()), error: Some(error), cost, ..Answer::default() }
        }
    }
}
