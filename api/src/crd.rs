//! The CustomResourceDefinitions of all kinds, made from the types.
//!
//! kube's own derivation is not used for the schema: it marks every optional field `nullable`, so that an
//! explicit `null` would be stored and would keep the default away, and it lets the text about an enum's type
//! replace the text about the field. Here `null` is the same as leaving a field out, and every field speaks
//! for itself.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation, JSONSchemaProps,
};
use kube::CustomResourceExt;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, IPAllocation, ManagementAddon, NetworkPool,
    ProviderConfig, QuotaLedger, Team, TenantAddon, TenantCluster, User,
};

/// The most that a list in a spec may hold, unless its field says otherwise: far more than anybody writes, and little
/// enough that judging the object stays quick. Status is written by Butler alone and has to hold what there is.
const MOST_ITEMS: u32 = 1000;

/// Every CustomResourceDefinition that Butler serves, by name.
pub fn all() -> Vec<CustomResourceDefinition> {
    vec![
        definition::<AddonDefinition>(),
        definition::<ButlerConfig>(),
        definition::<ClusterCreationPolicy>(),
        definition::<IPAllocation>(),
        definition::<ManagementAddon>(),
        definition::<NetworkPool>(),
        definition::<ProviderConfig>(),
        definition::<QuotaLedger>(),
        definition::<Team>(),
        definition::<TenantAddon>(),
        definition::<TenantCluster>(),
        definition::<User>(),
    ]
}

/// The name of the file that holds a definition, for example `butler.butlerlabs.dev_teams.yaml`.
pub fn file_name(definition: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", definition.spec.group, definition.spec.names.plural)
}

fn definition<K: CustomResourceExt + JsonSchema>() -> CustomResourceDefinition {
    let mut definition = K::crd();
    for version in &mut definition.spec.versions {
        let open_api_v3_schema = Some(schema_of::<K>());
        version.schema = Some(CustomResourceValidation { open_api_v3_schema });
    }
    definition
}

#[expect(
    clippy::expect_used,
    reason = "depends on the types alone, so a test that calls it once proves it for ever"
)]
fn schema_of<K: JsonSchema>() -> JSONSchemaProps {
    let settings = SchemaSettings::default().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<K>().to_value();
    make_structural(&mut schema);
    settle_spec(&mut schema);
    serde_json::from_value(schema).expect("the schema of a kind is a JSONSchemaProps")
}

/// An object may leave `spec` out only if nothing in it is required; then it gets an empty one, so that the
/// defaults inside it apply.
fn settle_spec(root: &mut Value) {
    let Some(root) = root.as_object_mut() else { return };
    root.remove("required");
    let Some(spec) = root.get_mut("properties").and_then(|fields| fields.get_mut("spec")) else { return };
    bound_lists(spec);
    let Some(spec) = spec.as_object_mut() else { return };
    if spec.contains_key("required") {
        spec.remove("default");
        root.insert("required".to_owned(), json!(["spec"]));
    } else {
        spec.insert("default".to_owned(), json!({}));
    }
}

/// Gives every list that nobody bounded the bound for all.
fn bound_lists(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if schema.get("type").is_some_and(|kind| kind == "array") {
        schema.entry("maxItems").or_insert_with(|| json!(MOST_ITEMS));
    }
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.values_mut().for_each(bound_lists);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(inner) {
            bound_lists(inner);
        }
    }
}

/// Rewrites a schema, and everything inside it, into what the API server takes.
fn make_structural(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    schema.remove("title");
    drop_null(schema);
    describe(schema);
    if schema.get("type").is_some_and(|kind| kind == "array") {
        // A list nobody marked is replaced as a whole by whoever applies it, the way it is written in the
        // file.
        schema.entry("x-kubernetes-list-type").or_insert_with(|| json!("atomic"));
    }
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.values_mut().for_each(make_structural);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(inner) {
            make_structural(inner);
        }
    }
}

/// An optional field comes as "this or null". The API server drops `null` by itself where it is not allowed.
fn drop_null(schema: &mut Map<String, Value>) {
    let is_null = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "null");
    let is_optional =
        schema.get("anyOf").and_then(Value::as_array).is_some_and(|any| any.iter().any(is_null));
    if is_optional && let Some(Value::Array(any)) = schema.remove("anyOf") {
        let inner = any.into_iter().find(|schema| !is_null(schema));
        if let Some(Value::Object(inner)) = inner {
            for (key, value) in inner {
                schema.entry(key).or_insert(value);
            }
        }
    }
    if let Some(kinds) = schema.get("type").and_then(Value::as_array) {
        let kind = kinds.iter().find(|kind| *kind != "null").cloned();
        schema.insert("type".to_owned(), kind.unwrap_or_default());
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// Completes the description with what `kubectl explain` would not show by itself: the default, and what each
/// value of a choice means.
fn describe(schema: &mut Map<String, Value>) {
    let values = join_variants(schema);
    let Some(Value::String(description)) = schema.get("description") else { return };
    let mut description = unwrap_lines(description);
    match schema.get("default") {
        Some(Value::String(text)) => description.push_str(&format!(" Default: `{text}`.")),
        Some(default @ (Value::Number(_) | Value::Bool(_))) => {
            description.push_str(&format!(" Default: `{default}`."));
        }
        _ => {}
    }
    if !values.is_empty() {
        description.push_str("\n\n");
        description.push_str(&values.join("\n"));
    }
    schema.insert("description".to_owned(), Value::String(description));
}

/// A choice whose values have a text of their own comes as one schema per value. The API server wants a
/// single list of values; their texts are returned as lines for the description, unless all they say is the
/// name.
fn join_variants(schema: &mut Map<String, Value>) -> Vec<String> {
    let Some(Value::Array(variants)) = schema.remove("oneOf") else { return Vec::new() };
    let mut values = Vec::new();
    let mut lines = Vec::new();
    let mut tells_more = false;
    for variant in variants {
        let text = variant.get("description").and_then(Value::as_str).map(unwrap_lines);
        let (constant, several) = (variant.get("const"), variant.get("enum").and_then(Value::as_array));
        for value in constant.into_iter().chain(several.into_iter().flatten()) {
            if let (Some(name), Some(text)) = (value.as_str(), &text) {
                tells_more |= !says_only_the_name(name, text);
                let name = if name.is_empty() { "\"\"" } else { name };
                lines.push(format!("- `{name}`: {text}"));
            }
            values.push(value.clone());
        }
    }
    schema.insert("type".to_owned(), json!("string"));
    schema.insert("enum".to_owned(), Value::Array(values));
    if tells_more { lines } else { Vec::new() }
}

/// Whether a text merely repeats the value, as in `github`: GitHub.
fn says_only_the_name(name: &str, text: &str) -> bool {
    let letters =
        |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    letters(name) == letters(text)
}

/// Source lines are broken where the editor ends; whoever reads the text has a window of another width. Blank
/// lines and list items stay lines of their own.
fn unwrap_lines(text: &str) -> String {
    let mut unwrapped = String::new();
    for line in text.lines().map(str::trim_end) {
        let starts_anew = line.is_empty() || line.starts_with("- ") || unwrapped.ends_with('\n');
        if !unwrapped.is_empty() {
            unwrapped.push(if starts_anew { '\n' } else { ' ' });
        }
        unwrapped.push_str(line.trim_start());
    }
    unwrapped
}

#[cfg(test)]
mod tests;
