//! The `cel` crate, an interpreter of CEL in Rust.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, Program, Value};
use serde_json::Value as Json;

/// The objects as its values, in one context.
pub(crate) struct CrateCel {
    context: Context<'static, 'static>,
}

impl CrateCel {
    pub(crate) fn read(input: &Json) -> Self {
        let mut context = Context::default();
        for (name, object) in input.as_object().unwrap() {
            context.add_variable_from_value(name.as_str(), value(object));
        }
        Self { context }
    }

    /// What evaluates the expression; nothing if it cannot, or comes to something else.
    pub(crate) fn prepare(&self, expression: &str, expected: &Json) -> Option<Box<dyn FnMut() + '_>> {
        // Its parser was made by ANTLR, which may panic at what it does not know.
        let program = std::panic::catch_unwind(|| Program::compile(expression).ok()).ok().flatten()?;
        let same = match (program.execute(&self.context).ok()?, expected) {
            (Value::Bool(actual), Json::Bool(expected)) => actual == *expected,
            (Value::String(actual), Json::String(expected)) => *actual == *expected,
            _ => false,
        };
        same.then(|| {
            let run = move || drop(black_box(program.execute(black_box(&self.context))));
            Box::new(run) as Box<dyn FnMut() + '_>
        })
    }
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap()), Value::Int)
        }
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(items) => Value::List(Arc::new(items.iter().map(value).collect())),
        Json::Object(fields) => {
            let key = |name: &String| Key::String(Arc::new(name.clone()));
            let entries: HashMap<Key, Value> =
                fields.iter().map(|(name, field)| (key(name), value(field))).collect();
            Value::Map(Map { map: Arc::new(entries) })
        }
    }
}
