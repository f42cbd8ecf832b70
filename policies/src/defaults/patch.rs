//! A minimal JSON Patch.
//!
//! Fields are added one by one; what goes into the patch depends on which of their parents the object already has. The
//! object is walked over for that only when there is something to add.

mod path;
mod shape;

use self::path::Below;
pub(crate) use self::path::Path;
use self::shape::Shape;
use crate::review::scan::plain_bytes;
use crate::review::spans::Object;

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
    Object(Vec<(&'static str, Written)>),
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

impl Written {
    fn write(&self, into: &mut Vec<u8>) {
        match self {
            Self::Text(text) => quote(text, into),
            Self::Number(number) => into.extend_from_slice(number.to_string().as_bytes()),
            Self::List(texts) => {
                for (place, text) in texts.iter().enumerate() {
                    into.push(if place == 0 { b'[' } else { b',' });
                    quote(text, into);
                }
                into.extend_from_slice(if texts.is_empty() { b"[]" } else { b"]" });
            }
            Self::Object(fields) => {
                for (place, (name, value)) in fields.iter().enumerate() {
                    into.push(if place == 0 { b'{' } else { b',' });
                    quote(name, into);
                    into.push(b':');
                    value.write(into);
                }
                into.extend_from_slice(if fields.is_empty() { b"{}" } else { b"}" });
            }
        }
    }
}

/// Writes text as a JSON string.
pub(crate) fn quote(text: &str, into: &mut Vec<u8>) {
    // Almost no text has anything to escape.
    if plain_bytes(text.as_bytes()).is_some() {
        // Text always has a form in JSON, and a vector takes whatever is written to it.
        let _ = serde_json::to_writer(into, text);
        return;
    }
    into.push(b'"');
    into.extend_from_slice(text.as_bytes());
    into.push(b'"');
}

/// The fields to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fills(Vec<(Path, Written)>);

impl Fills {
    /// Writes a field of the object, by its dotted path, unless it is there already.
    pub fn add(&mut self, path: &'static str, value: impl Into<Written>) {
        self.0.push((Path::Field(path), value.into()));
    }

    /// Writes an annotation.
    pub fn annotate(&mut self, key: &'static str, value: impl Into<Written>) {
        self.0.push((Path::Annotation(key), value.into()));
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The dotted paths of the fields of the spec.
    pub fn spec_paths(&self) -> impl Iterator<Item = &'static str> + use<'_> {
        self.0.iter().filter_map(|(path, _)| match path {
            Path::Field(path) => path.starts_with("spec.").then_some(*path),
            Path::Annotation(_) => None,
        })
    }

    /// The patch that writes them into that object; none of them into one that has a list where one of them belongs.
    pub(crate) fn into_patch(self, object: Option<Object<'_>>) -> Patch {
        if self.0.is_empty() {
            return Patch::default();
        }
        let mut shape = object.map(Shape::of).unwrap_or_default();
        let mut patch = Patch { operations: Vec::with_capacity(8), paths: Vec::with_capacity(self.0.len()) };
        for (path, value) in self.0 {
            match shape.depth_of(path) {
                Some(there) => patch.write(there, path, value),
                None => return Patch::default(),
            }
        }
        patch
    }
}

/// Operations in the order of writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    operations: Vec<(Path, Written)>,
    paths: Vec<Path>,
}

impl Patch {
    /// Whether the object stays as it is.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The dotted paths of all fields that are written, joined by commas.
    pub fn paths(&self) -> String {
        let mut text = String::with_capacity(self.paths.len() * 40);
        for path in &self.paths {
            if !text.is_empty() {
                text.push(',');
            }
            path.dotted(&mut text);
        }
        text
    }

    /// The patch as RFC 6902 has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 + self.operations.len() * 128);
        bytes.push(b'[');
        for (place, (path, value)) in self.operations.iter().enumerate() {
            if place > 0 {
                bytes.push(b',');
            }
            bytes.extend_from_slice(br#"{"op":"add","path":""#);
            path.write_pointer(&mut bytes);
            bytes.extend_from_slice(br#"","value":"#);
            value.write(&mut bytes);
            bytes.push(b'}');
        }
        bytes.push(b']');
        bytes
    }

    /// Adds below the deepest parent that is there, or into an operation that already makes one that is not. That many
    /// parents are there.
    fn write(&mut self, there: usize, path: Path, value: Written) {
        self.paths.push(path);
        let (at, below) = path.split_after(there);
        // Fields of one parent come one after the other.
        match self.operations.iter_mut().rev().find(|(made, _)| *made == at) {
            Some((_, made)) => insert(made, below, value),
            None => self.operations.push((at, nest(below, value))),
        }
    }
}

fn nest(mut below: Below, value: Written) -> Written {
    match below.next() {
        Some(name) => Written::Object(vec![(name, nest(below, value))]),
        None => value,
    }
}

fn insert(made: &mut Written, mut below: Below, value: Written) {
    let (Written::Object(fields), Some(name)) = (made, below.next()) else { return };
    match fields.iter_mut().find(|(existing, _)| *existing == name) {
        Some((_, inner)) => insert(inner, below, value),
        None => fields.push((name, nest(below, value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(object: &str, fills: impl FnOnce(&mut Fills)) -> String {
        let mut all = Fills::default();
        fills(&mut all);
        String::from_utf8(all.into_patch(Some(Object::of(object))).to_bytes()).unwrap()
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
    fn a_list_in_the_place_of_a_parent_is_left_to_the_schema() {
        for object in [
            r#"{"spec": {"workers": {"machineTemplate": [4, "16Gi"]}}}"#,
            r#"{"spec": {"work\u0065rs": {"machineTemplate": [4, "16Gi"]}}}"#,
            r#"{"spec": {"workers": [3]}}"#,
            r#"{"spec": ["v1.31.4"]}"#,
        ] {
            let written = patch(object, |fills| {
                fills.add("spec.workers.machineTemplate.os.type", "talos");
                fills.annotate("a", "b");
            });
            assert_eq!(written, "[]", "{object}");
        }
    }

    #[test]
    fn of_a_parent_that_comes_twice_the_last_one_counts() {
        let written = patch(r#"{"spec": {"workers": {"a": 1}, "workers": 7}}"#, |fills| {
            fills.add("spec.workers.replicas", 3);
        });
        assert_eq!(written, r#"[{"op":"add","path":"/spec/workers","value":{"replicas":3}}]"#);
    }
}
