//! A minimal JSON Patch.
//!
//! Fields are added one by one; what goes into the patch depends on which of their parents the object already has. The
//! object is scanned for that only when there is something to add.

mod shape;

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use self::shape::Shape;

/// A value to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// Text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A list of texts.
    List(Vec<String>),
    /// An object, its fields in the order of writing.
    Object(Vec<(Cow<'static, str>, Written)>),
}

impl From<&str> for Written {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Written {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&[String]> for Written {
    fn from(texts: &[String]) -> Self {
        Self::List(texts.to_vec())
    }
}

impl From<i32> for Written {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::List(texts) => serializer.collect_seq(texts),
            Self::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

/// One field to write: its path in parts, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    path: Vec<Cow<'static, str>>,
    value: Written,
}

/// The fields to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fills(Vec<Fill>);

impl Fills {
    /// Writes a field of the object, by its dotted path, unless it is there already.
    pub fn add(&mut self, path: &'static str, value: impl Into<Written>) {
        let mut parts = Vec::with_capacity(6);
        parts.extend(path.split('.').map(Cow::Borrowed));
        self.0.push(Fill { path: parts, value: value.into() });
    }

    /// Writes an annotation.
    pub fn annotate(&mut self, key: &'static str, value: impl Into<Written>) {
        let path = vec!["metadata".into(), "annotations".into(), key.into()];
        self.0.push(Fill { path, value: value.into() });
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The dotted paths of the fields of the spec.
    pub fn spec_paths(&self) -> impl Iterator<Item = String> + use<'_> {
        let in_spec = self.0.iter().filter(|fill| fill.path.first().is_some_and(|first| first == "spec"));
        in_spec.map(|fill| fill.path.join("."))
    }

    /// The patch that writes them into that object.
    pub(crate) fn into_patch(self, object: Option<&str>) -> Patch {
        if self.0.is_empty() {
            return Patch::default();
        }
        let mut shape = Shape::default();
        self.0.iter().for_each(|fill| shape.ask_for(&fill.path));
        if let Some(object) = object {
            shape.read(object);
        }
        let mut patch = Patch::default();
        for fill in self.0 {
            patch.write(&shape, fill);
        }
        patch
    }
}

/// Operations in the order of writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    operations: Vec<(Vec<Cow<'static, str>>, Written)>,
    paths: Vec<String>,
}

impl Patch {
    /// Whether the object stays as it is.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The dotted paths of all fields that are written.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The patch as RFC 6902 has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Only a map with keys that are no text, or a type that refuses, could fail; there is neither.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Adds below the deepest parent that is there, or into an operation that already makes one that is not.
    fn write(&mut self, shape: &Shape, fill: Fill) {
        self.paths.push(fill.path.join("."));
        let present = shape.depth_of(&fill.path);
        let split = (present + 1).min(fill.path.len());
        let (at, below) = fill.path.split_at(split);
        let existing = self.operations.iter_mut().find(|(path, _)| path == at);
        match existing {
            Some((_, made)) => insert(made, below, fill.value),
            None => {
                let value = below
                    .iter()
                    .rev()
                    .fold(fill.value, |value, name| Written::Object(vec![(name.clone(), value)]));
                self.operations.push((at.to_vec(), value));
            }
        }
    }
}

fn insert(made: &mut Written, below: &[Cow<'static, str>], value: Written) {
    let (Written::Object(fields), Some((name, rest))) = (made, below.split_first()) else { return };
    match fields.iter_mut().find(|(existing, _)| existing == name) {
        Some((_, inner)) => insert(inner, rest, value),
        None => {
            let value =
                rest.iter().rev().fold(value, |value, name| Written::Object(vec![(name.clone(), value)]));
            fields.push((name.clone(), value));
        }
    }
}

impl Serialize for Patch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Operation<'a> {
            op: &'static str,
            path: String,
            value: &'a Written,
        }
        serializer.collect_seq(self.operations.iter().map(|(path, value)| Operation {
            op: "add",
            path: pointer(path),
            value,
        }))
    }
}

/// A path as RFC 6901 has it.
fn pointer(path: &[Cow<'static, str>]) -> String {
    let mut pointer = String::with_capacity(64);
    for part in path {
        pointer.push('/');
        if part.contains(['~', '/']) {
            pointer.push_str(&part.replace('~', "~0").replace('/', "~1"));
        } else {
            pointer.push_str(part);
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(object: &str, fills: impl FnOnce(&mut Fills)) -> String {
        let mut all = Fills::default();
        fills(&mut all);
        String::from_utf8(all.into_patch(Some(object)).to_bytes()).unwrap()
    }

    #[test]
    fn missing_parents_are_made_once() {
        let written = patch(r#"{"metadata": {}, "spec": {"workers": {"replicas": 3}}}"#, |fills| {
            fills.add("spec.kubernetesVersion", "v1.31.4");
            fills.add("spec.workers.machineTemplate.cpu", 4);
            fills.add("spec.workers.machineTemplate.os.type", "talos");
            fills.annotate("butler.butlerlabs.dev/owner", "ana");
        });
        assert_eq!(
            written,
            concat!(
                r#"[{"op":"add","path":"/spec/kubernetesVersion","value":"v1.31.4"},"#,
                r#"{"op":"add","path":"/spec/workers/machineTemplate","value":{"cpu":4,"os":{"type":"talos"}}},"#,
                r#"{"op":"add","path":"/metadata/annotations","value":{"butler.butlerlabs.dev/owner":"ana"}}]"#,
            )
        );
    }

    #[test]
    fn an_object_without_a_spec_gets_one() {
        let written = patch(r#"{"metadata": {"annotations": {"a/b": "c"}}}"#, |fills| {
            fills.add("spec.kubernetesVersion", "v1.31.4");
            fills.annotate("a/d~", "e");
        });
        assert_eq!(
            written,
            concat!(
                r#"[{"op":"add","path":"/spec","value":{"kubernetesVersion":"v1.31.4"}},"#,
                r#"{"op":"add","path":"/metadata/annotations/a~1d~0","value":"e"}]"#,
            )
        );
    }

    #[test]
    fn a_parent_that_is_null_is_made() {
        let written = patch(r#"{"spec": {"workers": null}}"#, |fills| fills.add("spec.workers.replicas", 3));
        assert_eq!(written, r#"[{"op":"add","path":"/spec/workers","value":{"replicas":3}}]"#);
    }

    #[test]
    fn of_a_parent_that_comes_twice_the_last_one_counts() {
        let written = patch(r#"{"spec": {"workers": {"a": 1}, "workers": 7}}"#, |fills| {
            fills.add("spec.workers.replicas", 3);
        });
        assert_eq!(written, r#"[{"op":"add","path":"/spec/workers","value":{"replicas":3}}]"#);
    }
}
