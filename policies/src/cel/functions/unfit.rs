//! How it is told that no overload takes the arguments, in Kubernetes' words: an operator that the first of them does not have
//! at all by its name, a function by its name and what it was called with, and what an operator cannot be used together with
//! by neither.

use super::{Function, NO_SUCH_OVERLOAD};
use crate::cel::value::Value;

impl Function {
    /// What the implementation of all overloads gave, with the name of an operator that its first argument does not have.
    pub(crate) fn told<'a>(&self, arguments: &[Value<'a>], result: Value<'a>) -> Value<'a> {
        let is_unfit = matches!(&result, Value::Error(message) if &**message == NO_SUCH_OVERLOAD);
        match arguments.first() {
            Some(first) if is_unfit && self.single && lacks(self.name, first) => {
                Value::error(format!("{NO_SUCH_OVERLOAD}: {}", self.name))
            }
            _ => result,
        }
    }
}

/// The error of a call with arguments that none of the overloads takes.
pub(crate) fn unfit<'a>(name: &str, arguments: &[Value<'a>]) -> Value<'a> {
    let types: Vec<&str> = arguments.iter().map(Value::type_name).collect();
    Value::error(format!("{NO_SUCH_OVERLOAD}: {name}({})", types.join(", ")))
}

/// Whether no value of this type has that operator. Texts, times and spans of time are asked themselves, and say less.
fn lacks(name: &str, value: &Value<'_>) -> bool {
    let is_number = matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_));
    if matches!(value, Value::String(_) | Value::Timestamp(_) | Value::Duration(_)) {
        return false;
    }
    match name {
        "_+_" => !(is_number || matches!(value, Value::Bytes(_) | Value::List(_))),
        "_-_" | "_*_" | "_/_" => !is_number,
        "_%_" => !matches!(value, Value::Int(_) | Value::Uint(_)),
        "-_" => !matches!(value, Value::Int(_) | Value::Double(_) | Value::Bool(_)),
        "_<_" | "_<=_" | "_>_" | "_>=_" => !(is_number || matches!(value, Value::Bool(_) | Value::Bytes(_))),
        "size" => !matches!(value, Value::Bytes(_) | Value::List(_) | Value::Map(_)),
        "sort" | "@sortByAssociatedKeys" => !matches!(value, Value::List(_)),
        _ => false,
    }
}
