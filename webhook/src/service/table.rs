//! Objects as kubectl prints them: a row each, with the columns that are of use.

use serde_json::{Value, json};

use super::status::Refusal;

/// A column. Its name is printed in capitals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Whether only `-o wide` shows it.
    pub(super) is_wide: bool,
    /// What an object has in it.
    pub(super) cell: fn(&Value) -> String,
}

/// How much of an object goes with its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Include {
    Nothing,
    #[default]
    Metadata,
    Object,
}

impl Include {
    pub(super) fn read(text: Option<&str>) -> Result<Self, Refusal> {
        Ok(match text {
            None | Some("Metadata") => Self::Metadata,
            Some("None") => Self::Nothing,
            Some("Object") => Self::Object,
            Some(other) => {
                let message = format!(
                    "includeObject: Unsupported value: {other:?}: supported values: \"Metadata\", \"None\", \"Object\""
                );
                return Err(Refusal::bad_request(message));
            }
        })
    }
}

/// A table of these objects. `metadata` is that of their list.
pub(super) fn table(
    columns: &[Column],
    has_header: bool,
    include: Include,
    metadata: Value,
    objects: &[Value],
) -> Value {
    let definition = |column: &Column| {
        json!({
            "name": column.name,
            "type": "string",
            // kubectl sorts and finds rows by the one that is so marked.
            "format": if column.name == "Name" { "name" } else { "" },
            "description": column.about,
            "priority": i32::from(column.is_wide),
        })
    };
    let row = |object: &Value| {
        let cells: Vec<String> = columns.iter().map(|column| (column.cell)(object)).collect();
        let mut row = json!({ "cells": cells });
        let shown = match include {
            Include::Nothing => None,
            Include::Metadata => Some(metadata_of(object)),
            Include::Object => Some(object.clone()),
        };
        if let (Some(fields), Some(shown)) = (row.as_object_mut(), shown) {
            fields.insert("object".to_owned(), shown);
        }
        row
    };
    let definitions: Vec<Value> = columns.iter().filter(|_| has_header).map(definition).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": objects.iter().map(row).collect::<Vec<_>>(),
    })
}

/// What an object has at a place, such as `/metadata/name`; null if there is nothing.
pub(super) fn at<'v>(object: &'v Value, place: &str) -> &'v Value {
    object.pointer(place).unwrap_or(&Value::Null)
}

/// An object with nothing but its metadata.
pub(super) fn metadata_of(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": at(object, "/metadata"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        Column {
            name: "Name",
            about: "its name",
            is_wide: false,
            cell: |object| text(&object["metadata"]["name"]),
        },
        Column { name: "Says", about: "what it says", is_wide: true, cell: |object| text(&object["says"]) },
    ];

    fn text(value: &Value) -> String {
        value.as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_row_has_a_cell_for_every_column_and_as_much_of_the_object_as_is_wanted() {
        let object = json!({ "metadata": { "name": "a" }, "says": "hello" });
        let of = |include| table(COLUMNS, true, include, json!({}), std::slice::from_ref(&object));
        let shown = of(Include::Metadata);
        assert_eq!(shown["columnDefinitions"][1]["priority"], 1);
        assert_eq!(shown["columnDefinitions"][0]["format"], "name");
        assert_eq!(shown["rows"][0]["cells"], json!(["a", "hello"]));
        assert_eq!(shown["rows"][0]["object"]["kind"], "PartialObjectMetadata");
        assert_eq!(shown["rows"][0]["object"]["metadata"]["name"], "a");
        assert_eq!(of(Include::Nothing)["rows"][0].get("object"), None);
        assert_eq!(of(Include::Object)["rows"][0]["object"], object);
        let later = table(COLUMNS, false, Include::Nothing, json!({}), &[]);
        assert_eq!(later["columnDefinitions"], json!([]));
    }

    #[test]
    fn what_to_include_is_one_of_three_words() {
        assert_eq!(Include::read(None), Ok(Include::Metadata));
        assert_eq!(Include::read(Some("Object")), Ok(Include::Object));
        assert_eq!(Include::read(Some("None")), Ok(Include::Nothing));
        assert!(Include::read(Some("object")).is_err());
    }
}
