//! What `Program::estimate` promises: nothing that Kubernetes counted costs more.

use butler_policies::cel::{Declarations, Program};

use crate::{
    answer::Answer,
    corpus::{self, Case},
    records,
};

/// The expressions that cost more than they were estimated to, each with both.
pub(crate) fn too_low<'c>(answers: impl Iterator<Item = (&'c Answer, &'c Case)>) -> Vec<String> {
    let (judging, mutating) = (Declarations::admission(), Declarations::admission().mutation());
    let compare = |(theirs, case): (&Answer, &Case)| {
        let declarations = if case.mutating { &mutating } else { &judging };
        let (cost, estimated) = (theirs.cost?, Program::estimate(&case.expression, declarations).ok()?);
        (cost > estimated).then(|| format!("{estimated} estimated, {cost} counted: {}", case.expression))
    };
    answers.filter_map(compare).collect()
}

#[test]
fn no_expression_costs_more_than_it_was_estimated_to() {
    let mut wrong = Vec::new();
    for (topic, cases) in corpus::topics() {
        wrong.extend(too_low(records::read(&topic).iter().zip(&cases)));
    }
    assert!(wrong.is_empty(), "{} are too low:\n{}", wrong.len(), wrong.join("\n"));
}
