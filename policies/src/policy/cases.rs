//! Cases beside a policy: what is asked, what is known, and what has to come of it.
//!
//! Follow a case by opening the modules in this order: `read` makes it of a file, `plain` makes a request of what it
//! leaves out, `told` is what is known around the request, `run` lets the policies answer and holds that against what is
//! expected, and `seen` counts what each validation and each mutation came to. How they are written is told in
//! `policies/cases.md`.

mod merge;
mod plain;
mod read;
mod run;
mod seen;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

pub use self::run::Ran;
pub use self::seen::{Seen, Side, Unseen};
use self::told::Param;
use super::asked::Asked;
use super::problem::{Problem, SourceFile};
use crate::review::Kind;

/// The cases of a file, in their order.
#[derive(Debug)]
pub struct Cases {
    /// The path of the file.
    pub file: String,
    /// The cases.
    pub cases: Vec<Case>,
}

impl Cases {
    /// Reads the cases of a file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, by place.
    pub fn read(file: &SourceFile) -> Result<Self, Vec<Problem>> {
        read::read(file)
    }
}

/// One case. What it is made of is put together only when it runs, so that many small changes of a large object stay
/// small.
#[derive(Debug)]
pub struct Case {
    /// What is asked for, in a sentence.
    pub name: String,
    /// The line it begins at, from 1.
    pub line: usize,
    /// What stands at the top of the file.
    common: Arc<Given>,
    own: Given,
    kind: Kind,
    change: Json,
    /// The new number of workers, if it is scaled.
    replicas: Option<i64>,
    expected: Expected,
}

/// What may stand at the top of a file and in a case.
#[derive(Debug, Default)]
struct Given {
    object: Option<Json>,
    operation: Option<Asked>,
    old: Option<Json>,
    request: Option<Json>,
    namespace: Option<Json>,
    params: Option<Arc<Vec<Param>>>,
    facts: Option<Json>,
}

/// What has to come of a case.
#[derive(Debug)]
struct Expected {
    /// The messages; nothing if it is admitted.
    denied: Option<Vec<String>>,
    warnings: Vec<String>,
    audit: Option<BTreeMap<String, String>>,
    patched: Option<Json>,
}

#[cfg(test)]
mod tests;
