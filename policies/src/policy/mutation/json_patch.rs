//! A JSON Patch applied as the API server applies it.
//!
//! Kubernetes uses evanphx/json-patch, which is not quite RFC 6902, and policies rest on what it does: `replace` makes
//! a key that is missing, an index may be negative, a missing `value` is `null`, and a `null` of the object equals
//! nothing but a `value` that is missing. The `json-patch` crate keeps to the RFC in all of these, and would refuse or
//! accept other objects than the API server.

mod document;

use serde_json::Value;

use self::document::{Document, Node};
use super::MAXIMUM_DEPTH;
use super::number::go_text;

/// Bytes that all copies of one patch may add, as kube-apiserver bounds them.
const MAXIMUM_COPIED: usize = 3 * 1024 * 1024;
/// Operations of one patch, as kube-apiserver bounds those of a PATCH request. Inserting into a list moves what is
/// behind it, so that without a bound the time would grow with the square of them.
const MAXIMUM_OPERATIONS: usize = 10_000;

/// One operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Operation {
    pub(crate) op: String,
    pub(crate) path: String,
    /// Empty when there is none.
    pub(crate) from: String,
    pub(crate) value: Option<Value>,
}

impl Operation {
    /// The operations of a JSON Patch that moves and copies nothing, as the gate's own are; nothing if it is none.
    pub(crate) fn read(patch: &[u8]) -> Option<Vec<Self>> {
        let operations: Vec<Value> = serde_json::from_slice(patch).ok()?;
        let text = |operation: &Value, name: &str| {
            operation.get(name).and_then(Value::as_str).map(str::to_owned).unwrap_or_default()
        };
        let operation = |operation: Value| Self {
            op: text(&operation, "op"),
            path: text(&operation, "path"),
            from: String::new(),
            value: operation.get("value").cloned(),
        };
        Some(operations.into_iter().map(operation).collect())
    }
}

/// Why a patch changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// A `test` did not hold: the object stays as it is, and nothing is wrong.
    Untrue,
    /// An operation cannot be applied.
    Wrong(String),
}

impl From<String> for Halt {
    fn from(message: String) -> Self {
        Self::Wrong(message)
    }
}

/// The object with all operations applied.
pub(crate) fn apply(object: Value, operations: &[Operation]) -> Result<Value, Halt> {
    if operations.len() > MAXIMUM_OPERATIONS {
        let count = operations.len();
        return Err(
            format!("the patch has {count} operations, exceeding the limit {MAXIMUM_OPERATIONS}").into()
        );
    }
    let mut document = Document::of(object);
    let mut copied = 0;
    for operation in operations {
        let path = &operation.path;
        match operation.op.as_str() {
            "add" => add(&mut document, operation)?,
            "remove" => remove(&mut document, path)?,
            "replace" => replace(&mut document, operation)?,
            "move" => shift(&mut document, operation)?,
            "test" => test(&mut document, operation)?,
            "copy" => copy(&mut document, operation, &mut copied)?,
            other => return Err(format!("Unexpected kind: {other}").into()),
        }
    }
    Ok(document.into_value())
}

fn add(document: &mut Document, operation: &Operation) -> Result<(), Halt> {
    let path = &operation.path;
    let missing = || format!("add operation does not apply: doc is missing path: \"{path}\": missing value");
    let mut place = document.find(path).ok_or_else(missing)?;
    let failed = |why| format!("error in add for path: '{path}': {why}");
    Ok(place.add(Node::of(operation.value.clone())).map_err(failed)?)
}

fn remove(document: &mut Document, path: &str) -> Result<(), Halt> {
    let missing =
        || format!("remove operation does not apply: doc is missing path: \"{path}\": missing value");
    let mut place = document.find(path).ok_or_else(missing)?;
    place.take().map_err(|why| format!("error in remove for path: '{path}': {why}"))?;
    Ok(())
}

fn replace(document: &mut Document, operation: &Operation) -> Result<(), Halt> {
    let path = &operation.path;
    if path.is_empty() {
        return match &operation.value {
            Some(value @ (Value::Object(_) | Value::Array(_) | Value::Null)) => {
                *document = Document::of(value.clone());
                Ok(())
            }
            _ => Err("replace operation value must be object or array: %!w(<nil>)".to_owned().into()),
        };
    }
    let missing =
        |what| format!("replace operation does not apply: doc is missing {what}: {path}: missing value");
    let mut place = document.find(path).ok_or_else(|| missing("path"))?;
    if place.get().is_err() {
        return Err(missing("key").into());
    }
    let failed = |why| format!("error in remove for path: '{path}': {why}");
    Ok(place.set(Node::of(operation.value.clone())).map_err(failed)?)
}

fn shift(document: &mut Document, operation: &Operation) -> Result<(), Halt> {
    let Operation { path, from, .. } = operation;
    if from.is_empty() {
        return Err("move operation failed to decode from: operation, missing from field: missing value"
            .to_owned()
            .into());
    }
    let missing = |end, path| {
        format!("move operation does not apply: doc is missing {end} path: {path}: missing value")
    };
    let mut place = document.find(from).ok_or_else(|| missing("from", from))?;
    let node = place.take().map_err(|why| format!("error in move for path: '{}': {why}", place.key))?;
    let mut place = document.find(path).ok_or_else(|| missing("destination", path))?;
    Ok(place.add(node).map_err(|why| format!("error in move for path: '{path}': {why}"))?)
}

fn test(document: &mut Document, operation: &Operation) -> Result<(), Halt> {
    let (path, expected) = (&operation.path, operation.value.as_ref());
    if path.is_empty() {
        return if expected.is_some_and(|expected| document.root().equals(expected)) {
            Ok(())
        } else {
            Err(Halt::Untrue)
        };
    }
    let missing = || format!("test operation does not apply: is missing path: {path}: missing value");
    let place = document.find(path).ok_or_else(missing)?;
    let found = place.get().map_err(|why| format!("error in test for path: '{path}': {why}"))?;
    let holds = match (found, expected) {
        (Some(Node::Null) | None, None) => true,
        (Some(Node::Null) | None, Some(_)) | (Some(_), None) => false,
        (Some(node), Some(expected)) => node.equals(expected),
    };
    if holds { Ok(()) } else { Err(Halt::Untrue) }
}

fn copy(document: &mut Document, operation: &Operation, copied: &mut usize) -> Result<(), Halt> {
    let Operation { path, from, .. } = operation;
    if from.is_empty() {
        return Err("copy operation failed to decode from: operation, missing from field: missing value"
            .to_owned()
            .into());
    }
    let missing = |end, path| {
        format!("copy operation does not apply: doc is missing {end} path: {path}: missing value")
    };
    let place = document.find(from).ok_or_else(|| missing("from", from))?;
    let node = place.get().map_err(|why| format!("error in copy for from: '{from}': {why}"))?;
    let node = node.cloned().unwrap_or(Node::Null);
    let mut place = document.find(path).ok_or_else(|| missing("destination", path))?;
    if !matches!(node, Node::Null) {
        *copied += node.length();
    }
    if *copied > MAXIMUM_COPIED {
        return Err(format!(
            "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
             {MAXIMUM_COPIED}"
        )
        .into());
    }
    Ok(place.add(node).map_err(|why| format!("error while adding value during copy: {why}"))?)
}

/// Whether two scalars are written alike, which is how they are compared.
fn same_scalar(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => go_text(left) == go_text(right),
        _ => left == right,
    }
}

#[cfg(test)]
mod tests;
