//! What resources look like, for `kubectl explain` and for clients that check what they send: OpenAPI v3, and v2 of the same.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::resources::{RESOURCES, Resource};
use super::{API_VERSION, GROUP, VERSION};

/// What definitions of ours are called, as clients expect it: the group backwards.
pub(super) const PREFIX: &str = "dev.butlerlabs.butler.policy.v1alpha1";
const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// Both documents, made once, and what tells them from others.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) v2: Value,
    pub(super) v3: Value,
    /// Where the other documents are.
    pub(super) v3_index: Value,
    pub(super) hash: String,
}

impl Documents {
    pub(super) fn new() -> Self {
        let v3 = document("/components/schemas");
        let hash = Sha256::digest(v3.to_string().as_bytes());
        let hash: String = hash.iter().map(|byte| format!("{byte:02X}")).collect();
        let path = format!("apis/{API_VERSION}");
        let url = format!("/openapi/v3/{path}?hash={hash}");
        let v3_index = json!({ "paths": { path: { "serverRelativeURL": url } } });
        Self { v2: document("/definitions"), v3, v3_index, hash }
    }
}

/// Version 3 keeps schemas under `/components/schemas`, version 2 under `/definitions`.
fn document(place: &str) -> Value {
    let is_v2 = place == "/definitions";
    let mut settings = SchemaSettings::openapi3();
    settings.definitions_path = place.to_owned().into();
    let mut generator = settings.into_generator();
    for resource in RESOURCES {
        (resource.schema)(&mut generator);
    }
    let _ = generator.subschema_for::<k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta>();
    let mut schemas = generator.take_definitions(true);
    for resource in RESOURCES {
        if let Some(schema) = schemas.get_mut(&named(resource.kind)).and_then(Value::as_object_mut) {
            schema.insert("x-kubernetes-group-version-kind".to_owned(), json!([of_kind(resource.kind)]));
        }
        if resource.has("list") {
            schemas.insert(named(&resource.list_kind()), list_of(resource, place));
        }
    }
    if is_v2 {
        schemas.values_mut().for_each(as_version_2);
    }
    let paths: Map<String, Value> = RESOURCES.iter().flat_map(|resource| paths(resource, place)).collect();
    let info =
        json!({ "title": "Butler's policy service", "version": concat!("v", env!("CARGO_PKG_VERSION")) });
    if is_v2 {
        return json!({ "swagger": "2.0", "info": info, "paths": paths, "definitions": schemas });
    }
    json!({ "openapi": "3.0.0", "info": info, "paths": paths, "components": { "schemas": schemas } })
}

fn named(kind: &str) -> String {
    format!("{PREFIX}.{kind}")
}

fn of_kind(kind: &str) -> Value {
    json!({ "group": GROUP, "version": VERSION, "kind": kind })
}

fn list_of(resource: &Resource, place: &str) -> Value {
    let kind = resource.list_kind();
    let reference = |name: &str| json!({ "$ref": format!("#{place}/{name}") });
    json!({
        "description": format!("A list of {}.", resource.plural),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": { "type": "string", "description": "The version of the schema." },
            "kind": { "type": "string", "description": "The kind of the list." },
            "metadata": reference(LIST_META),
            "items": { "type": "array", "description": "The objects.", "items": reference(&named(resource.kind)) },
        },
        "x-kubernetes-group-version-kind": [of_kind(&kind)],
    })
}

/// Version 2 knows no `nullable`, and has descriptions beside a reference.
fn as_version_2(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("nullable");
            let only = match fields.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
                Some([only]) => only.get("$ref").cloned(),
                _ => None,
            };
            if let Some(reference) = only {
                fields.remove("allOf");
                fields.insert("$ref".to_owned(), reference);
            }
            fields.values_mut().for_each(as_version_2);
        }
        Value::Array(items) => items.iter_mut().for_each(as_version_2),
        _ => {}
    }
}

fn paths(resource: &Resource, place: &str) -> Vec<(String, Value)> {
    let scope = if resource.is_namespaced { "/namespaces/{namespace}" } else { "" };
    let base = format!("/apis/{API_VERSION}");
    let all = format!("{base}{scope}/{}", resource.plural);
    let mut collection = Map::new();
    if resource.has("list") {
        collection.insert("get".to_owned(), operation(resource, "list", &resource.list_kind(), place));
    }
    if resource.has("create") {
        collection.insert("post".to_owned(), operation(resource, "create", resource.kind, place));
    }
    let mut paths = vec![(all.clone(), with_parameters(collection, resource, false, place))];
    if resource.has("get") {
        let one = Map::from_iter([("get".to_owned(), operation(resource, "get", resource.kind, place))]);
        paths.push((format!("{all}/{{name}}"), with_parameters(one, resource, true, place)));
    }
    if resource.is_namespaced && resource.has("list") {
        let kind = resource.list_kind();
        let mut everywhere = operation(resource, "list", &kind, place);
        if let Some(fields) = everywhere.as_object_mut() {
            fields.insert(
                "operationId".to_owned(),
                format!("list{PREFIX}.{}ForAllNamespaces", resource.kind).into(),
            );
        }
        let everywhere = Map::from_iter([("get".to_owned(), everywhere)]);
        paths.push((format!("{base}/{}", resource.plural), everywhere.into()));
    }
    paths
}

/// What is in the path has to be told beside the operations.
fn with_parameters(
    mut operations: Map<String, Value>,
    resource: &Resource,
    has_name: bool,
    place: &str,
) -> Value {
    let parameter = |name: &str, about: &str| {
        let mut parameter = json!({ "name": name, "in": "path", "required": true, "description": about });
        typed(&mut parameter, "string", place);
        parameter
    };
    let mut parameters = Vec::new();
    if resource.is_namespaced {
        parameters.push(parameter("namespace", "The namespace of the object."));
    }
    if has_name {
        parameters.push(parameter("name", "The name of the object."));
    }
    if !parameters.is_empty() {
        operations.insert("parameters".to_owned(), parameters.into());
    }
    operations.into()
}

fn typed(parameter: &mut Value, kind: &str, place: &str) {
    if let Some(fields) = parameter.as_object_mut() {
        match place {
            "/definitions" => fields.insert("type".to_owned(), kind.into()),
            _ => fields.insert("schema".to_owned(), json!({ "type": kind, "uniqueItems": true })),
        };
    }
}

fn operation(resource: &Resource, verb: &str, answer: &str, place: &str) -> Value {
    let is_v2 = place == "/definitions";
    let schema = json!({ "$ref": format!("#{place}/{}", named(answer)) });
    let media_types = ["application/json", "application/yaml"];
    let content: Map<String, Value> =
        media_types.iter().map(|it| ((*it).to_owned(), json!({ "schema": schema }))).collect();
    let response = if is_v2 {
        json!({ "description": "OK", "schema": schema })
    } else {
        json!({ "description": "OK", "content": content })
    };
    let query: &[(&str, &str, &str)] = match verb {
        "list" => &[
            ("allowWatchBookmarks", "boolean", "Whether a watch tells now and then that nothing happens."),
            ("continue", "string", "Where a list goes on that was limited."),
            ("fieldSelector", "string", "Only objects with these fields: metadata.name, metadata.namespace."),
            ("labelSelector", "string", "Only objects with these labels."),
            ("limit", "integer", "How many objects there are on a page."),
            ("resourceVersion", "string", "From where on a watch tells, or how new a list has to be."),
            ("resourceVersionMatch", "string", "How resourceVersion is meant: Exact or NotOlderThan."),
            ("sendInitialEvents", "boolean", "Whether a watch begins with what there is."),
            ("timeoutSeconds", "integer", "How long a watch goes on."),
            ("watch", "boolean", "Tell of changes, as they happen."),
        ],
        _ => &[],
    };
    let parameters = query.iter().map(|(name, kind, about)| {
        let mut parameter = json!({ "name": name, "in": "query", "description": about });
        typed(&mut parameter, kind, place);
        parameter
    });
    let mut operation = json!({
        "description": resource.about,
        "operationId": format!("{verb}{PREFIX}.{}", resource.kind),
        "tags": [GROUP],
        "responses": { "200": response, "401": { "description": "Unauthorized" } },
        "x-kubernetes-action": match verb { "create" => "post", verb => verb },
        "x-kubernetes-group-version-kind": of_kind(resource.kind),
    });
    if let Some(fields) = operation.as_object_mut() {
        let mut parameters: Vec<Value> = parameters.collect();
        if verb == "create" {
            let body = json!({ "$ref": format!("#{place}/{}", named(resource.kind)) });
            if is_v2 {
                parameters.push(json!({ "name": "body", "in": "body", "required": true, "schema": body }));
            } else {
                let body = json!({ "required": true, "content": { "*/*": { "schema": body } } });
                fields.insert("requestBody".to_owned(), body);
            }
        }
        if is_v2 {
            fields.insert("produces".to_owned(), json!(media_types));
            fields.insert("consumes".to_owned(), json!(["*/*"]));
            fields.insert("schemes".to_owned(), json!(["https"]));
        }
        if !parameters.is_empty() {
            fields.insert("parameters".to_owned(), parameters.into());
        }
    }
    operation
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reference in a document.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_kind_is_there() {
        let documents = Documents::new();
        for document in [&documents.v2, &documents.v3] {
            let mut found = Vec::new();
            references(document, &mut found);
            assert!(!found.is_empty());
            for reference in found {
                let pointer = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(pointer).is_some(), "{reference}");
            }
        }
        for resource in RESOURCES {
            let schema = &documents.v3["components"]["schemas"][named(resource.kind)];
            assert_eq!(schema["x-kubernetes-group-version-kind"][0]["kind"], resource.kind);
            assert!(schema["properties"]["metadata"].is_object(), "{schema}");
            assert_eq!(documents.v2["definitions"][named(resource.kind)]["type"], "object");
        }
    }

    #[test]
    fn version_2_has_nothing_that_it_does_not_know() {
        let text = Documents::new().v2.to_string();
        for word in ["nullable", "anyOf", "oneOf", "\"const\"", "components"] {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn every_field_says_what_it_is() {
        let documents = Documents::new();
        let schemas = documents.v3["components"]["schemas"].as_object().unwrap();
        let ours = schemas.iter().filter(|(name, _)| name.starts_with(PREFIX));
        for (name, schema) in ours {
            for (field, property) in schema["properties"].as_object().into_iter().flatten() {
                let has_words = property.get("description").is_some() || property.get("$ref").is_some();
                assert!(has_words, "{name}.{field}");
            }
        }
    }
}
