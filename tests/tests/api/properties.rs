//! Walks the schemas of the definitions, and objects beside them.
//!
//! A property is named by its kind and path: `Team.spec.environments[].name` is a property of the items of a list, and
//! `ClusterCreationPolicy.spec.options{}.mode` one of the values of a map. Where any fields are allowed the walk ends.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

use crate::platform::definitions;

/// Every kind with its schema.
pub(crate) fn schemas() -> impl Iterator<Item = (&'static str, &'static JSONSchemaProps)> {
    definitions().iter().map(|definition| {
        let [version] = definition.spec.versions.as_slice() else { panic!("more versions than one") };
        let validation = version.schema.as_ref().unwrap();
        (definition.spec.names.kind.as_str(), validation.open_api_v3_schema.as_ref().unwrap())
    })
}

/// Every property of every kind with its schema, by path.
pub(crate) fn all() -> BTreeMap<String, JSONSchemaProps> {
    let mut found = BTreeMap::new();
    for (kind, schema) in schemas() {
        visit_schema(kind, schema, &mut |path, schema| {
            found.insert(path.to_owned(), schema.clone());
        });
    }
    found
}

fn visit_schema(path: &str, schema: &JSONSchemaProps, see: &mut impl FnMut(&str, &JSONSchemaProps)) {
    for (name, property) in schema.properties.iter().flatten() {
        let path = format!("{path}.{name}");
        see(&path, property);
        visit_schema(&path, property, see);
    }
    if let Some(items) = items(schema) {
        visit_schema(&format!("{path}[]"), items, see);
    }
    if let Some(values) = values(schema) {
        visit_schema(&format!("{path}{{}}"), values, see);
    }
}

/// Shows every property that an object uses, with the value it has there.
pub(crate) fn visit_object(
    path: &str,
    schema: &JSONSchemaProps,
    object: &Value,
    see: &mut impl FnMut(&str, &Value),
) {
    for (name, property) in schema.properties.iter().flatten() {
        if let Some(value) = object.get(name).filter(|value| !value.is_null()) {
            let path = format!("{path}.{name}");
            see(&path, value);
            visit_object(&path, property, value, see);
        }
    }
    if let (Some(items), Value::Array(list)) = (items(schema), object) {
        list.iter().for_each(|item| visit_object(&format!("{path}[]"), items, item, see));
    }
    if let (Some(values), Value::Object(map)) = (values(schema), object) {
        map.values().for_each(|value| visit_object(&format!("{path}{{}}"), values, value, see));
    }
}

/// The schema of a list's items.
pub(crate) fn items(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(_) => panic!("the API server takes no tuples"),
    }
}

fn values(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.additional_properties.as_ref()? {
        JSONSchemaPropsOrBool::Schema(values) => Some(values),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}
