//! A minimal JSON Patch.
//!
//! Fields are added one by one; what goes into the patch depends on which of their parents the object already has. The
//! object is scanned for that only when there is something to add.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

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
        self.0.push(Fill { path: path.split('.').map(Cow::Borrowed).collect(), value: value.into() });
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
        for character in part.chars() {
            match character {
                '~' => pointer.push_str("~0"),
                '/' => pointer.push_str("~1"),
                other => pointer.push(other),
            }
        }
    }
    pointer
}

/// Which of the fields that are asked for an object has. Everything else in it is skipped, not kept.
#[derive(Debug, Default)]
struct Shape {
    name: Cow<'static, str>,
    is_object: bool,
    inner: Vec<Shape>,
}

impl Shape {
    fn ask_for(&mut self, path: &[Cow<'static, str>]) {
        let Some((first, rest)) = path.split_first() else { return };
        match self.inner.iter_mut().find(|inner| inner.name == *first) {
            Some(inner) => inner.ask_for(rest),
            None => {
                let mut inner = Self { name: first.clone(), ..Self::default() };
                inner.ask_for(rest);
                self.inner.push(inner);
            }
        }
    }

    fn read(&mut self, object: &str) {
        let mut deserializer = serde_json::Deserializer::from_str(object);
        // What cannot be read to its end is no object to write into.
        if self.deserialize(&mut deserializer).is_err() {
            self.forget();
        }
    }

    /// Of a key that comes twice, the last one counts.
    fn forget(&mut self) {
        self.is_object = false;
        self.inner.iter_mut().for_each(Self::forget);
    }

    /// How many parts of the path, from its start, are objects that are there.
    fn depth_of(&self, path: &[Cow<'static, str>]) -> usize {
        let Some((first, rest)) = path.split_first() else { return 0 };
        match self.inner.iter().find(|inner| inner.name == *first) {
            Some(inner) if inner.is_object => 1 + inner.depth_of(rest),
            Some(_) | None => 0,
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Shape {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.forget();
        deserializer.deserialize_any(self)
    }
}

/// Which of these has the name that comes next.
struct OneOf<'a>(&'a [Shape]);

impl<'de> DeserializeSeed<'de> for OneOf<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for OneOf<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|shape| shape.name == name))
    }
}

impl<'de> Visitor<'de> for &mut Shape {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.is_object = true;
        while let Some(place) = map.next_key_seed(OneOf(&self.inner))? {
            match place.and_then(|place| self.inner.get_mut(place)) {
                Some(inner) => map.next_value_seed(inner)?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
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
