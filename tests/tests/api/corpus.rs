//! The objects of `tests/corpus/`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A YAML file.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn read(name: &str) -> Self {
        let path = root().join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, text }
    }

    /// The files of a folder, by name.
    pub(crate) fn folder(name: &str) -> Vec<Self> {
        let entries = fs::read_dir(root().join(name)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| format!("{name}/{}", entry.unwrap().file_name().display())).collect();
        names.sort();
        names.iter().map(|name| Self::read(name)).collect()
    }

    /// The path as kubectl takes it.
    pub(crate) fn argument(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// The file's only document.
    pub(crate) fn document<T: DeserializeOwned>(&self) -> T {
        serde_saphyr::from_str(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()))
    }

    /// The file's documents.
    pub(crate) fn objects(&self) -> Vec<Value> {
        serde_saphyr::from_multiple(&self.text)
            .unwrap_or_else(|error| panic!("{}: {error}", self.path.display()))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Every object of `corpus/valid`.
pub(crate) fn valid_objects() -> Vec<Value> {
    File::folder("valid").iter().flat_map(File::objects).collect()
}

/// A text inside an object; missing text is an error of the corpus.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer} in {object}"))
}

/// Lays a merge patch over an object, as RFC 7386 defines it: `null` removes a key.
pub(crate) fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(serde_json::Map::new());
    }
    let Value::Object(fields) = object else { return };
    for (key, change) in changes {
        if change.is_null() {
            fields.remove(key);
        } else {
            merge(fields.entry(key).or_insert(Value::Null), change);
        }
    }
}

/// Where `stored` lacks or changes something of `sent`. What was added does not count.
pub(crate) fn lost(sent: &Value, stored: &Value) -> Vec<String> {
    lost_unless(sent, stored, |sent, stored| sent == stored)
}

/// The same with another opinion on when two values that are neither objects nor lists are the same.
pub(crate) fn lost_unless(sent: &Value, stored: &Value, same: fn(&Value, &Value) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    compare(sent, Some(stored), same, &mut String::new(), &mut findings);
    findings
}

fn compare(
    sent: &Value,
    stored: Option<&Value>,
    same: fn(&Value, &Value) -> bool,
    path: &mut String,
    findings: &mut Vec<String>,
) {
    let length = path.len();
    match (sent, stored) {
        (Value::Object(sent), Some(Value::Object(stored))) => {
            for (key, value) in sent {
                path.push_str(&format!(".{key}"));
                compare(value, stored.get(key), same, path, findings);
                path.truncate(length);
            }
        }
        (Value::Array(sent), Some(Value::Array(stored))) if sent.len() == stored.len() => {
            for (index, (sent, stored)) in sent.iter().zip(stored).enumerate() {
                path.push_str(&format!("[{index}]"));
                compare(sent, Some(stored), same, path, findings);
                path.truncate(length);
            }
        }
        (sent, Some(stored)) if same(sent, stored) => {}
        (sent, Some(stored)) => findings.push(format!("{path}: {sent} became {stored}")),
        (sent, None) => findings.push(format!("{path}: {sent} is gone")),
    }
}
