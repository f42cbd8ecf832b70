//! What `Program::estimate` promises: nothing that Kubernetes counted costs more.

use butler_policies::cel::{Declarations, Program};

use crate::{corpus, records};

#[test]
fn no_expression_costs_more_than_it_was_estimated_to() {
    let (judging, mutating) = (Declarations::admission(), Declarations::admission().mutation());
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (topic, cases) in corpus::topics() {
        for (theirs, case) in records::read(&topic).iter().zip(&cases) {
            let declarations = if case.mutating { &mutating } else { &judging };
            let (Some(cost), Ok(estimated)) =
                (theirs.cost, Program::estimate(&case.expression, declarations))
            else {
                continue;
            };
            compared += 1;
            if cost > estimated {
                wrong.push(format!("{topic}: {estimated} estimated, {cost} counted: {}", case.expression));
            }
        }
    }
    println!("{compared} estimates");
    assert!(wrong.is_empty(), "{} are too low:\n{}", wrong.len(), wrong.join("\n"));
}
