//! How a mutating policy changes an object, exactly as kube-apiserver 1.36 does it.
//!
//! An expression gives an apply configuration or a JSON Patch ([`made`] turns its value into JSON); [`apply`] lays the
//! one over the object by its [`schema`], [`json_patch`] applies the other; [`defaults`] fills in what the definition
//! of the kind has for what was added; and [`difference`] is the patch from what was sent to what came of it.

mod apply;
mod defaults;
mod difference;
mod json_patch;
mod made;
mod number;
mod schema;

use serde_json::Value as Json;

pub(crate) use self::defaults::fill as fill_defaults;
pub(crate) use self::difference::difference;
pub(crate) use self::json_patch::{Operation, apply as apply_patch};
pub(crate) use self::schema::Schema;
use super::definition::PatchType;
use crate::cel::Value;
use crate::review::Kind;

/// Containers within containers of what a mutation makes. Far more than any object has, and few enough that whatever
/// walks over it stays on a small stack.
const MAXIMUM_DEPTH: usize = 512;

/// Why a mutation cannot be applied, in Kubernetes' words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// An error of the policy, which its `failurePolicy` decides about.
    Policy(String),
    /// What is left is no object any more: the request fails whatever the policy says.
    Request(String),
}

impl From<String> for Failed {
    fn from(message: String) -> Self {
        Self::Policy(message)
    }
}

/// Fills in what the definition of a kind of Butler's has for what an object leaves out, as the API server does.
pub fn fill_definition_defaults(kind: Kind, object: &mut Json) {
    if let Some(schema) = Schema::of(butler_api::GROUP, butler_api::VERSION, kind.as_str()) {
        defaults::fill(schema, object);
    }
}

/// An object of a kind of Butler's as the API server has it after the mutating stage has answered with that patch; nothing
/// if the patch does not apply.
pub fn patched(kind: Kind, object: Json, patch: &[u8]) -> Option<Json> {
    if patch.is_empty() {
        return Some(object);
    }
    let mut object = json_patch::apply(object, &Operation::read(patch)?).ok()?;
    fill_definition_defaults(kind, &mut object);
    Some(object)
}

/// The object after one mutation, by the value that its expression gave; nothing if it is not to be changed.
pub(crate) fn mutate_by(
    patch_type: PatchType,
    schema: &Schema,
    object: &Json,
    value: &Value<'_>,
) -> Result<Option<Json>, Failed> {
    let mut changed = match patch_type {
        PatchType::ApplyConfiguration => {
            let mut configuration = made::configuration(value)?;
            // Which kind it is is not for the expression to say.
            if let Json::Object(fields) = &mut configuration {
                for name in ["apiVersion", "kind"] {
                    fields.insert(name.to_owned(), object.get(name).cloned().unwrap_or_default());
                }
            }
            apply::apply(schema, object, &configuration)
                .map_err(|why| format!("error applying patch: {why}"))?
        }
        PatchType::JsonPatch => {
            let operations = made::operations(value)?;
            match json_patch::apply(object.clone(), &operations) {
                Ok(changed) => still_an_object(changed)?,
                Err(json_patch::Halt::Untrue) => return Ok(None),
                Err(json_patch::Halt::Wrong(why)) => return Err(format!("JSON Patch: {why}").into()),
            }
        }
    };
    defaults::fill(schema, &mut changed);
    Ok(Some(changed))
}

/// A patch can reach everything, also what makes an object one.
fn still_an_object(changed: Json) -> Result<Json, Failed> {
    match changed.get("kind") {
        Some(Json::String(kind)) if !kind.is_empty() => Ok(changed),
        _ => {
            Err(Failed::Request(format!("Internal error occurred: Object 'Kind' is missing in '{changed}'")))
        }
    }
}

#[cfg(test)]
mod tests;
