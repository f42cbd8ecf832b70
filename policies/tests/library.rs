//! The library of policies: every folder is whole and loads without a word, alone and together with all others.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test by panicking, like the test itself")]
#![expect(clippy::panic, reason = "a test's helpers fail the test by panicking, like the test itself")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use butler_policies::policy::{Loaded, Policy, PolicySet, Severity, SourceFile};

/// A folder of the library, by the names of its files.
struct Folder {
    name: String,
    files: BTreeMap<String, String>,
}

fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn folders() -> Vec<Folder> {
    let read = |path: PathBuf| {
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let mut folders: Vec<Folder> = fs::read_dir(home().join("library"))
        .unwrap()
        .map(|folder| {
            let folder = folder.unwrap();
            let files = fs::read_dir(folder.path()).unwrap().map(|file| {
                let file = file.unwrap();
                (file.file_name().into_string().unwrap(), read(file.path()))
            });
            Folder { name: folder.file_name().into_string().unwrap(), files: files.collect() }
        })
        .collect();
    folders.sort_by(|one, other| one.name.cmp(&other.name));
    assert!(folders.len() >= 18, "{}", folders.len());
    folders
}

impl Folder {
    /// What is loaded.
    fn sources(&self) -> Vec<SourceFile> {
        let loaded = ["policy.yaml", "params.yaml"].into_iter().filter_map(|name| {
            let path = format!("{}/{name}", self.name);
            Some(SourceFile { path, text: self.files.get(name)?.clone() })
        });
        loaded.collect()
    }
}

/// What is loaded of files, or all that there is to say about them. Params that are not in the files are no mistake. Nor is
/// that a field without a longest length could be as long as a whole request: who sends such a request is denied by budget.
fn check(files: &[SourceFile]) -> Result<PolicySet, String> {
    let (set, problems) = match PolicySet::check(files) {
        Ok(Loaded { set, problems }) => (Some(set), problems),
        Err(problems) => (None, problems),
    };
    let told = problems.iter().filter(|problem| problem.severity != Severity::Note && problem.code != "cost");
    let told: Vec<String> = told.map(|problem| problem.render(files)).collect();
    set.filter(|_| told.is_empty()).ok_or_else(|| told.join("\n\n"))
}

fn checked(files: &[SourceFile]) -> PolicySet {
    check(files).unwrap_or_else(|told| panic!("{told}"))
}

#[test]
fn every_folder_loads_without_a_word() {
    let folders = folders();
    let told: Vec<String> = folders.iter().filter_map(|folder| check(&folder.sources()).err()).collect();
    assert!(told.is_empty(), "{}", told.join("\n\n"));
    for folder in folders {
        let set = checked(&folder.sources());
        assert!(!set.policies().is_empty(), "{}", folder.name);
        for policy in set.policies() {
            assert_eq!(policy.name, folder.name);
            assert!(!policy.bindings.is_empty(), "{}", folder.name);
        }
    }
}

#[test]
fn the_whole_library_loads_as_one_set() {
    let files: Vec<SourceFile> = folders().iter().flat_map(Folder::sources).collect();
    let names: BTreeSet<String> =
        checked(&files).policies().iter().map(|policy| policy.name.clone()).collect();
    assert!(names.iter().eq(folders().iter().map(|folder| &folder.name)));
}

#[test]
fn every_folder_has_a_policy_its_cases_and_a_paragraph_of_why() {
    let known = ["README.md", "cases.yaml", "params.yaml", "policy.yaml"];
    for Folder { name, files } in folders() {
        let unknown: Vec<&String> = files.keys().filter(|file| !known.contains(&file.as_str())).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
        for needed in ["README.md", "cases.yaml", "policy.yaml"] {
            assert!(files.contains_key(needed), "{name} has no {needed}");
        }
        let readme = &files["README.md"];
        let (title, why) = readme.split_once("\n\n").unwrap();
        assert_eq!(title, format!("# {name}"));
        assert!(why.len() > 200 && !why.trim_end().contains("\n\n"), "{name} says why in one paragraph");
    }
}

#[test]
fn the_index_lists_every_folder_and_says_where_it_can_be_used() {
    let readme = fs::read_to_string(home().join("README.md")).unwrap();
    let rows: Vec<(&str, bool)> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| [")?.split_once("](library/"))
        .map(|(name, rest)| (name, rest.contains("Butler only")))
        .collect();
    let is_ours = |policy: &Policy| policy.ours_only.is_some();
    let folders = folders();
    let expected: Vec<(&str, bool)> = folders
        .iter()
        .map(|folder| (folder.name.as_str(), checked(&folder.sources()).policies().iter().any(is_ours)))
        .collect();
    assert_eq!(rows, expected);
}
