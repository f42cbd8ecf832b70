//! Our own language.

use std::hint::black_box;

use butler_policies::cel::{Declarations, EXPRESSION_LIMIT, Program, Tree, Value};
use butler_policies::policy::{complete, complete_namespace};
use serde_json::Value as Json;

/// In the order in which the declarations of an admission name them.
const VARIABLES: [&str; 5] = ["object", "oldObject", "params", "request", "namespaceObject"];

/// The objects, read.
pub(crate) struct Ours {
    trees: Vec<Tree<'static>>,
}

impl Ours {
    pub(crate) fn read(input: &Json) -> Self {
        let mut input = input.clone();
        complete(input.get_mut("request").unwrap());
        complete_namespace(input.get_mut("namespaceObject").unwrap());
        let tree = |name: &str| Tree::parse(&input.get(name).unwrap().to_string()).unwrap().into_owned();
        Self { trees: VARIABLES.map(tree).into() }
    }

    /// Compiles the expression, sees that it comes to `expected`, and gives what evaluates it.
    pub(crate) fn prepare(&self, expression: &str, expected: &Json) -> Box<dyn FnMut() + '_> {
        let program = Program::compile(expression, &Declarations::admission()).unwrap();
        let variables: Vec<Value<'_>> = self.trees.iter().map(Value::of).collect();
        let value = program.evaluate(&variables, EXPRESSION_LIMIT).value.unwrap();
        let value: Json = serde_json::from_str(&value.encode().unwrap().1).unwrap();
        assert_eq!(value, *expected, "{expression}");
        Box::new(move || {
            black_box(program.evaluate(black_box(&variables), EXPRESSION_LIMIT).cost);
        })
    }
}
