//! How values of one kind are merged: its structural schema, compiled to what merging asks for.
//!
//! The same types come out as in Kubernetes, which makes them from the schemas that it publishes. Every kind of Butler
//! has one, compiled from the generated CustomResourceDefinitions when first asked for.

mod metadata;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde_json::{Map as Fields, Value};

/// The types of one kind.
#[derive(Debug)]
pub(crate) struct Schema {
    types: Vec<Type>,
    root: Ref,
}

/// The place of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ref(usize);

/// Anything, replaced as a whole.
const UNTYPED: Ref = Ref(0);
/// Anything; objects are merged, lists are replaced.
const DEDUCED: Ref = Ref(1);

/// What a value may be, and how it is merged as such. At least one of them is there.
#[derive(Debug, Default)]
pub(super) struct Type {
    pub(super) scalar: Option<Scalar>,
    pub(super) list: Option<List>,
    pub(super) map: Option<Map>,
}

/// The scalars that merging tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Number,
    Text,
    Bool,
    Any,
}

#[derive(Debug)]
pub(super) struct List {
    pub(super) items: Ref,
    pub(super) by: By,
}

/// By what an item of a list is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// By nothing: the list is replaced as a whole.
    Place,
    /// By itself.
    Value,
    /// By these fields.
    Keys(Vec<String>),
}

#[derive(Debug, Default)]
pub(super) struct Map {
    pub(super) fields: BTreeMap<String, Field>,
    /// Of keys that are no field; nothing if there may be none.
    pub(super) others: Option<Ref>,
    pub(super) atomic: bool,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) of: Ref,
    pub(super) default: Option<Value>,
}

static SCHEMAS: LazyLock<HashMap<(String, String, String), Schema>> = LazyLock::new(|| {
    let mut schemas = HashMap::new();
    for definition in butler_api::crd::all() {
        let spec = definition.spec;
        for version in spec.versions {
            let schema = version.schema.and_then(|schema| schema.open_api_v3_schema);
            let Some(Ok(schema)) = schema.map(serde_json::to_value) else { continue };
            let key = (spec.group.clone(), version.name, spec.names.kind.clone());
            schemas.insert(key, Schema::compile(&schema));
        }
    }
    schemas
});

impl Schema {
    /// The schema of a kind, if it is one of Butler's.
    pub(crate) fn of(group: &str, version: &str, kind: &str) -> Option<&'static Self> {
        SCHEMAS.get(&(group.to_owned(), version.to_owned(), kind.to_owned()))
    }

    /// The schema of a kind whose definition says this.
    pub(crate) fn compile(schema: &Value) -> Self {
        let mut compiled = Self { types: Vec::new(), root: UNTYPED };
        for (items, atomic) in [(UNTYPED, true), (DEDUCED, false)] {
            let list = Some(List { items: UNTYPED, by: By::Place });
            let map = Some(Map { fields: BTreeMap::new(), others: Some(items), atomic });
            compiled.add(Type { scalar: Some(Scalar::Any), list, map });
        }
        let mut root = compiled.object(schema, false);
        for name in ["apiVersion", "kind"] {
            let of = compiled.add(Type::scalar(Scalar::Text));
            root.fields.insert(name.to_owned(), Field { of, default: None });
        }
        let of = compiled.metadata();
        root.fields.insert("metadata".to_owned(), Field { of, default: None });
        compiled.root = compiled.add(Type { map: Some(root), ..Type::default() });
        compiled
    }

    pub(super) fn root(&self) -> Ref {
        self.root
    }

    pub(super) fn get(&self, of: Ref) -> &Type {
        static NOTHING: Type = Type { scalar: None, list: None, map: None };
        self.types.get(of.0).unwrap_or(&NOTHING)
    }

    fn add(&mut self, of: Type) -> Ref {
        self.types.push(of);
        Ref(self.types.len() - 1)
    }

    /// `keeps_unknown` is inherited: within what keeps unknown fields, everything does.
    fn any(&mut self, schema: &Value, keeps_unknown: bool) -> Ref {
        let keeps_unknown = keeps_unknown || flag(schema, "x-kubernetes-preserve-unknown-fields");
        let format = schema.get("format").and_then(Value::as_str);
        let of = match schema.get("type").and_then(Value::as_str) {
            Some("object") => Type { map: Some(self.object(schema, keeps_unknown)), ..Type::default() },
            Some("array") => Type { list: Some(self.list(schema, keeps_unknown)), ..Type::default() },
            Some("integer" | "number") => Type::scalar(Scalar::Number),
            Some("boolean") => Type::scalar(Scalar::Bool),
            Some("string") if matches!(format, None | Some("" | "byte")) => Type::scalar(Scalar::Text),
            Some(_) => Type::scalar(Scalar::Any),
            // Without a type it may be any, as with `x-kubernetes-int-or-string`.
            None => Type {
                scalar: Some(Scalar::Any),
                list: Some(self.list(schema, keeps_unknown)),
                map: Some(self.object(schema, keeps_unknown)),
            },
        };
        self.add(of)
    }

    fn object(&mut self, schema: &Value, keeps_unknown: bool) -> Map {
        let none = Fields::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let mut fields = BTreeMap::new();
        for (name, property) in properties {
            let of = self.any(property, keeps_unknown);
            fields.insert(name.clone(), Field { of, default: property.get("default").cloned() });
        }
        let others = match schema.get("additionalProperties") {
            Some(Value::Bool(allowed)) => allowed.then_some(DEDUCED),
            Some(others) => Some(self.any(others, keeps_unknown)),
            // An object that says nothing about its fields may have any.
            None => (keeps_unknown || fields.is_empty()).then_some(DEDUCED),
        };
        let atomic = schema.get("x-kubernetes-map-type").is_some_and(|of| of == "atomic");
        Map { fields, others, atomic }
    }

    fn list(&mut self, schema: &Value, keeps_unknown: bool) -> List {
        let items = schema.get("items").map_or(UNTYPED, |items| self.any(items, keeps_unknown));
        let by = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
            Some("set") => By::Value,
            Some("map") => {
                let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                let keys = keys.into_iter().flatten().filter_map(Value::as_str);
                By::Keys(keys.map(str::to_owned).collect())
            }
            _ => By::Place,
        };
        List { items, by }
    }
}

impl Type {
    fn scalar(scalar: Scalar) -> Self {
        Self { scalar: Some(scalar), ..Self::default() }
    }
}

fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}
