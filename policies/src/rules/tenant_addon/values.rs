//! Whether values suit the chart, where the catalogue knows.
//!
//! A schema is compiled once per content and kept. The number kept is bounded: schemas are few, and change seldom.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use butler_api::helm_values::HelmValues;
use butler_api::{AddonDefinition, TenantAddon};
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

use super::super::{Case, name_of};
use super::effort;
use crate::facts::FactKey;
use crate::finding::{Fault, Finding, Findings};

/// The values do not satisfy the schema.
const VALUES: &str = "Values";

/// More mistakes than this in one object say nothing more.
const MOST_ERRORS: usize = 8;
/// A catalogue has a few dozen entries; above this many the store starts anew.
const MOST_SCHEMAS: usize = 128;
/// What the machine of one pattern may take in memory. It also bounds what a step of it costs.
const LARGEST_PATTERN: usize = 128 * 1024;
/// A larger schema is refused when its definition is written.
pub(in crate::rules) const LARGEST_SCHEMA: usize = 128 * 1024;

pub(super) fn check(case: &Case<'_, TenantAddon>, definition: &AddonDefinition, findings: &mut Findings) {
    let Some(schema) = &definition.spec.values_schema else { return };
    let name = name_of(&definition.metadata);
    let key = FactKey::Definition(name.to_owned());
    let Ok(compiled) = compiled(schema) else {
        let message = format!(
            "the AddonDefinition `{name}` has a `valuesSchema` that cannot be used; tell the platform's administrators"
        );
        return findings.add(Finding::deny(Fault::Invalid, VALUES, "spec.values", message).resting_on(key));
    };
    let mut values = Value::Object(case.object.spec.values(Some(definition)).0);
    drop_nulls(&mut values);
    if let Err(why) = effort::check_values(&compiled.schema, &values) {
        let message = format!(
            "these cannot be checked, because `valuesSchema` of the AddonDefinition `{name}` makes too much work of them: \
             {why}; shorten the values, or ask the platform's administrators to mend the AddonDefinition"
        );
        return findings.add(Finding::deny(Fault::Invalid, VALUES, "spec.values", message).resting_on(key));
    }
    // The errors are all collected before the first is given; mostly there are none.
    if compiled.validator.is_valid(&values) {
        return;
    }
    for error in compiled.validator.iter_errors(&values).take(MOST_ERRORS) {
        let path = excerpt_line(&error.instance_path().as_str().replace('/', "."));
        let message = excerpt_line(&error.to_string());
        findings.add(
            Finding::deny(
                Fault::Invalid,
                VALUES,
                format!("spec.values{path}"),
                format!("{message}; see `valuesSchema` of the AddonDefinition `{name}`"),
            )
            .resting_on(key.clone()),
        );
    }
}

/// Helm takes `null` for "not this key", so the chart never sees it and no schema should.
fn drop_nulls(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, field| !field.is_null());
        fields.values_mut().for_each(drop_nulls);
    }
}

/// The library quotes values whole; a message must stay readable.
fn excerpt_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() { format!("{line}…") } else { line }
}

/// Why a schema cannot be compiled, for people who do not know the library.
fn why_not(error: &jsonschema::ValidationError<'_>) -> String {
    if let jsonschema::error::ValidationErrorKind::Referencing(_) = error.kind() {
        return "it refers to another place, and nothing is fetched; put what it needs under `$defs`"
            .to_owned();
    }
    let path = excerpt_line(&error.instance_path().as_str().trim_start_matches('/').replace('/', "."));
    let at = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
    format!("{at}{}; write it by JSON Schema 2020-12", excerpt_line(&error.to_string()))
}

/// A schema that can be used.
#[derive(Debug)]
pub(in crate::rules) struct Compiled {
    schema: Value,
    validator: Validator,
}

/// The compiled schema, or why it cannot be compiled.
pub(in crate::rules) fn compiled(schema: &HelmValues) -> Result<Arc<Compiled>, String> {
    static STORE: Mutex<Option<HashMap<String, Arc<Compiled>>>> = Mutex::new(None);
    let text = serde_json::to_string(schema).map_err(|error| error.to_string())?;
    if text.len() > LARGEST_SCHEMA {
        return Err(format!("it has {} bytes; at most {LARGEST_SCHEMA} are allowed", text.len()));
    }
    let mut store = STORE.lock().unwrap_or_else(PoisonError::into_inner);
    let store = store.get_or_insert_default();
    if let Some(compiled) = store.get(&text) {
        return Ok(Arc::clone(compiled));
    }
    let schema = Value::Object(schema.0.clone());
    // First of all: compiling a schema follows the same ways as using it.
    effort::check_schema(&schema)?;
    // This engine takes a number of steps that grows with the text alone. The price is that a pattern cannot look ahead
    // or back.
    let patterns = PatternOptions::regex().size_limit(LARGEST_PATTERN).dfa_size_limit(LARGEST_PATTERN);
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(patterns)
        .build(&schema)
        .map_err(|error| why_not(&error))?;
    if store.len() >= MOST_SCHEMAS {
        store.clear();
    }
    let compiled = Arc::new(Compiled { schema, validator });
    store.insert(text, Arc::clone(&compiled));
    Ok(compiled)
}
