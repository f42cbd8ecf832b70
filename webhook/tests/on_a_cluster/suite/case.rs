//! The cases as they are written in `cases/`, and the objects that they make.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A file of cases about one rule, or about the defaults of one kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseFile {
    /// The kind of the object that the cases are about.
    pub(super) object: String,
    /// Who asks, unless a case says otherwise.
    #[serde(rename = "as")]
    pub(super) caller: Person,
    pub(super) cases: Vec<Case>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// A sentence.
    pub(super) name: String,
    #[serde(rename = "as")]
    pub(super) caller: Option<Person>,
    /// Objects that are there for this case only, or that differ from the platform's.
    #[serde(default)]
    pub(super) platform: Vec<Value>,
    /// The object as it is stored first, as a change of the minimal one.
    pub(super) old: Option<Value>,
    /// Who stores it, if not who asks.
    #[serde(rename = "old-by")]
    pub(super) old_by: Option<Person>,
    /// What differs from the minimal object, or from `old`.
    #[serde(default = "nothing")]
    pub(super) change: Value,
    #[serde(default)]
    pub(super) operation: Operation,
    /// The number of workers, for `operation: scale`.
    pub(super) replicas: Option<i32>,
    /// Whether it happens in earnest and not as a dry run.
    #[serde(default)]
    pub(super) stored: bool,
    /// Who answers, if it is not the gate.
    #[serde(default)]
    pub(super) by: By,
    /// All that kubectl prints, if it succeeds.
    pub(super) admitted: Option<String>,
    /// All that kubectl prints, if it fails.
    pub(super) denied: Option<String>,
    /// What was filled in: one operation of a JSON Patch a line.
    pub(super) patch: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Operation {
    #[default]
    Create,
    Update,
    Delete,
    Scale,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    #[default]
    Gate,
    /// The API server itself, from the schema of the kind.
    Schema,
}

fn nothing() -> Value {
    json!({})
}

/// Somebody, by name or by name and groups.
#[derive(Clone, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub(super) enum Person {
    Name(String),
    Member { name: String, groups: Vec<String> },
}

impl Person {
    pub(super) fn name(&self) -> &str {
        let (Self::Name(name) | Self::Member { name, .. }) = self;
        name
    }

    pub(super) fn groups(&self) -> Vec<&str> {
        match self {
            Self::Name(_) => Vec::new(),
            Self::Member { groups, .. } => groups.iter().map(String::as_str).collect(),
        }
    }
}

/// One case, with what its file says for all.
#[derive(Clone)]
pub(super) struct Planned {
    pub(super) file: PathBuf,
    /// The rule, or `defaults-…`.
    pub(super) topic: String,
    pub(super) caller: Person,
    pub(super) case: Case,
    /// The object as it is to be.
    pub(super) object: Value,
    /// The object as it is stored first.
    pub(super) old: Option<Value>,
}

impl Planned {
    /// Whether it leaves the platform as it is, so that others can run beside it.
    pub(super) fn is_alone(&self) -> bool {
        self.case.platform.is_empty() && self.old.is_none() && !self.case.stored
    }
}

pub(super) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/on_a_cluster/cases")
}

/// The objects of a file with several YAML documents.
pub(super) fn documents(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file of a directory that holds YAML, in the order of their names.
pub(super) fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect();
    files.sort();
    files
}

/// All cases, with their objects made.
pub(super) fn plan(minimal: &[Value]) -> Vec<Planned> {
    let mut planned = Vec::new();
    for path in files(&directory()).into_iter().filter(|path| !path.ends_with("minimal.yaml")) {
        let text = fs::read_to_string(&path).unwrap();
        let file: CaseFile =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let topic = path.file_stem().unwrap().to_string_lossy().into_owned();
        let base = of_kind(minimal, &file.object).unwrap_or_else(|| panic!("no minimal {}", file.object));
        for case in file.cases {
            let at = format!("{}: {}", path.display(), case.name);
            assert!(case.admitted.is_some() != case.denied.is_some(), "{at}: write `admitted` or `denied`");
            let old = case.old.as_ref().map(|old| merged(base.clone(), old));
            let object = merged(old.clone().unwrap_or_else(|| base.clone()), &case.change);
            let is_update = case.operation == Operation::Update;
            assert!(!is_update || old.as_ref() != Some(&object), "{at}: old and new are the same");
            let caller = case.caller.clone().unwrap_or_else(|| file.caller.clone());
            planned.push(Planned { file: path.clone(), topic: topic.clone(), caller, case, object, old });
        }
    }
    planned
}

pub(super) fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Option<&'a Value> {
    objects.iter().find(|object| object["kind"] == kind)
}

/// `base` with `change` laid over it, as a merge patch does it: `null` removes.
pub(super) fn merged(mut base: Value, change: &Value) -> Value {
    json_patch::merge(&mut base, change);
    base
}

/// Where an object is: kind, namespace, name.
pub(super) fn place(object: &Value) -> (String, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    (text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
}

/// What was filled in between the object that was sent and the one that came back, one operation a line.
pub(super) fn filled_in(sent: &Value, returned: &Value) -> String {
    let mut returned = returned.clone();
    if let Some(metadata) = returned["metadata"].as_object_mut() {
        for field in ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"] {
            metadata.remove(field);
        }
    }
    // What a team uses is written into its status whenever it was counted.
    let operations = json_patch::diff(&without_status(sent), &without_status(&returned));
    operations.iter().map(|operation| json!(operation).to_string() + "\n").collect()
}

/// The object without its status, which is written apart.
pub(super) fn without_status(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().map(|object: &mut Map<String, Value>| object.remove("status"));
    object
}
