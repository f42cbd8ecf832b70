//! The policies, their params and their cases as the folders have them.

use std::fs;
use std::path::{Path, PathBuf};

use butler_policies::policy::{PolicySet, SourceFile};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::editions::editions;
use crate::objects::repository;

const CORPUS: &str = "webhook/tests/same_verdict/corpus";

/// What a folder holds: policies with their bindings, params, and cases.
#[derive(Clone)]
pub(crate) struct Folder {
    pub(crate) name: String,
    /// Policies and bindings.
    pub(crate) rules: Vec<Value>,
    /// Every other object in the files.
    pub(crate) params: Vec<Value>,
    pub(crate) file: CaseFile,
    /// Whether its cases are written for a whole platform. Those of the library are about the policy alone: what rules and
    /// defaults say of their objects besides is not in them.
    pub(crate) is_whole: bool,
    /// Whether a policy looks at what Kubernetes does not have.
    pub(crate) is_ours_only: bool,
}

/// `cases.yaml`. What stands at its top holds for all cases that do not say otherwise.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseFile {
    pub(crate) object: Option<Value>,
    pub(crate) operation: Option<Operation>,
    pub(crate) old: Option<Value>,
    pub(crate) request: Option<Value>,
    pub(crate) namespace: Option<Value>,
    #[serde(default)]
    pub(crate) params: Vec<Value>,
    #[serde(rename = "facts")]
    _facts: Option<Value>,
    pub(crate) cases: Vec<Case>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) object: Option<Value>,
    #[serde(default = "nothing")]
    pub(crate) change: Value,
    pub(crate) operation: Option<Operation>,
    pub(crate) replicas: Option<i32>,
    pub(crate) old: Option<Value>,
    pub(crate) request: Option<Value>,
    pub(crate) namespace: Option<Value>,
    pub(crate) params: Option<Vec<Value>>,
    #[serde(rename = "facts")]
    _facts: Option<Value>,
    #[serde(rename = "admitted")]
    _admitted: Option<bool>,
    pub(crate) denied: Option<Messages>,
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
    pub(crate) audit: Option<Value>,
    pub(crate) patched: Option<Value>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
    Scale,
}

/// Of a request what a client has a say in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Asked {
    pub(crate) user_info: Option<Person>,
    pub(crate) dry_run: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Person {
    #[serde(default = "somebody")]
    pub(crate) username: String,
    #[serde(default)]
    pub(crate) groups: Vec<String>,
}

/// One message, or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Messages {
    One(String),
    Several(Vec<String>),
}

impl Messages {
    pub(crate) fn first(&self) -> &str {
        match self {
            Self::One(message) => message,
            Self::Several(messages) => &messages[0],
        }
    }
}

fn somebody() -> String {
    "ana@example.org".to_owned()
}

fn nothing() -> Value {
    json!({})
}

/// All folders of the corpus and of the library, by name.
pub(crate) fn read() -> Vec<Folder> {
    let directories = [repository(CORPUS), repository("policies/library")];
    let mut folders: Vec<PathBuf> =
        directories.iter().flat_map(|directory| entries(directory)).filter(|path| path.is_dir()).collect();
    folders.sort_by_key(|path| path.file_name().unwrap().to_owned());
    let (read, refused): (Vec<_>, Vec<_>) =
        folders.iter().map(|path| Folder::read(path)).partition(Result::is_ok);
    let refused: Vec<String> = refused.into_iter().filter_map(Result::err).collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    read.into_iter().flatten().flat_map(editions).collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

impl Folder {
    fn read(path: &Path) -> Result<Self, String> {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_read = |path: &&PathBuf| {
            let extension = path.extension().and_then(|extension| extension.to_str());
            extension.is_some_and(|extension| ["yaml", "yml", "json"].contains(&extension))
        };
        let (mut files, mut file) = (Vec::new(), None);
        for path in entries(path).iter().filter(is_read) {
            let text = fs::read_to_string(path).unwrap();
            let shown = path.display().to_string();
            if path.file_name().is_some_and(|own| own == "cases.yaml") {
                file = Some(serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{shown}: {error}")));
            } else {
                files.push(SourceFile { path: shown, text });
            }
        }
        let loaded = PolicySet::load(&files).map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            format!("{name} cannot be loaded:\n{}", problems.join("\n"))
        })?;
        let objects = files.iter().flat_map(|file| {
            serde_saphyr::from_multiple::<Value>(&file.text)
                .unwrap_or_else(|error| panic!("{}: {error}", file.path))
        });
        let is_rule = |object: &Value| {
            object["apiVersion"].as_str().is_some_and(|it| it.starts_with("admissionregistration.k8s.io/"))
        };
        let (rules, params) = objects.partition(is_rule);
        let is_ours_only = loaded.set.policies().iter().any(|policy| policy.ours_only.is_some());
        let file = file.unwrap_or_else(|| panic!("{name} has no cases.yaml"));
        let is_whole = path.parent() == Some(&repository(CORPUS));
        Ok(Self { name, rules, params, file, is_whole, is_ours_only })
    }

    /// How many policies it has.
    pub(crate) fn policies(&self) -> usize {
        self.policy_names().len()
    }

    /// Whether one policy is bound once, to at most one param.
    pub(crate) fn is_ordered(&self) -> bool {
        let bindings = || self.rules.iter().filter(|object| !is_policy(object));
        bindings().count() == 1 && bindings().all(|binding| binding["spec"]["paramRef"]["selector"].is_null())
    }

    pub(crate) fn policy_names(&self) -> Vec<String> {
        let policies = self.rules.iter().filter(|object| is_policy(object));
        policies.map(|policy| policy["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// Whether an object is a policy and no binding.
pub(crate) fn is_policy(object: &Value) -> bool {
    object["kind"].as_str().is_some_and(|kind| kind.ends_with("Policy"))
}
