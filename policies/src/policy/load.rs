//! From files to a set: everything is read, held against each other, and compiled; or everything wrong is told.

mod check;
mod shadow;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use self::check::Checked;
use super::compile::{Compiled, Effort, ExtraUse, compile};
use super::definition::{Binding, Definition};
use super::fields::Written;
use super::index::Index;
use super::inspect::inspect;
use super::problem::{Place, Problem, Problems, SourceFile, line_and_column, quoted};
use super::read::{Object, RawBinding, RawPolicy, read};
use super::request::RequestFields;
use super::set::{Bound, Kind, Loaded, OursOnly, Policy, PolicySet, Stated};
use super::yaml::{self, Budget};

/// The largest file that is read.
pub const LARGEST_FILE: usize = 4 << 20;
/// All files together.
pub const LARGEST_LOAD: usize = 32 << 20;

/// How closely expressions are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Whether they can be used.
    Usual,
    /// Whether they fit the kinds that they are about, and what they can cost, too.
    Thorough,
}

/// Loads files, all or nothing.
pub(crate) fn load(files: &[SourceFile], care: Care) -> Result<Loaded, Vec<Problem>> {
    let mut problems = Problems::default();
    let objects = read_all(files, &mut problems);
    let checked = check::check(objects, &mut problems);
    let mut set = build(checked, files, &mut problems);
    let failed = problems.has_errors();
    if care == Care::Thorough && !failed {
        // Read once more, since building used up what was read; only tools that people wait for do this.
        let unheard = &mut Problems::default();
        let objects = read_all(files, unheard);
        let checked = check::check(objects, unheard);
        shadow::tell(&checked, &mut problems);
        for policy in &checked.policies {
            let cost = inspect(policy, text_of(files, policy.place.file), &mut problems);
            let is_same = |own: &&mut Policy| own.kind == policy.kind && own.name == *policy.name.text;
            if let Some(own) = set.policies.iter_mut().find(is_same) {
                own.cost = cost;
            }
        }
    }
    let problems = problems.sorted(files);
    if failed { Err(problems) } else { Ok(Loaded { set, problems }) }
}

fn read_all(files: &[SourceFile], problems: &mut Problems) -> Vec<Object> {
    let mut objects = Vec::new();
    let mut budget = Budget::default();
    let mut total = 0_usize;
    for (number, file) in files.iter().enumerate() {
        total = total.saturating_add(file.text.len());
        if file.text.len() > LARGEST_FILE || total > LARGEST_LOAD {
            let (what, most) = if total > LARGEST_LOAD {
                ("all files together are", LARGEST_LOAD)
            } else {
                ("the file is", LARGEST_FILE)
            };
            let message = format!("{what} larger than {most} bytes");
            problems.error(&Place { file: number, span: 0..0 }, "too-large", message);
            continue;
        }
        for document in yaml::read(&file.text, number, &mut budget, problems) {
            if problems.is_full() {
                objects.push(Object::Unreadable);
                return objects;
            }
            read(&document, number, &mut objects, problems);
        }
    }
    objects
}

fn build(checked: Checked, files: &[SourceFile], problems: &mut Problems) -> PolicySet {
    let Checked { policies, mut bindings, params, param_kinds, wanted_params } = checked;
    let mut set = PolicySet { params, param_kinds, wanted_params, hash: hash(files), ..PolicySet::default() };
    let mut effort = Effort::default();
    let lines = Lines::of(files);
    for raw in policies {
        let key = (raw.kind, raw.name.text.to_string());
        let bound = bindings.remove(&key).unwrap_or_default();
        let source = text_of(files, raw.place.file);
        let mut policy = summary(&raw, &bound, &lines);
        let (compiled, extra) = compile(raw, source, &mut effort, problems);
        policy.ours_only = extra.map(|extra| ours_only(&extra, files));
        set.policies.push(policy);
        let bind = |definition: Definition| Definition {
            bindings: bound.into_iter().map(binding).collect(),
            ..definition
        };
        match compiled {
            Compiled::Validating(mut policy) => {
                policy.definition = bind(policy.definition);
                set.validating.push(policy);
            }
            Compiled::Mutating(mut policy) => {
                policy.definition = bind(policy.definition);
                set.mutating.push(policy);
            }
        }
    }
    set.validating_index = Index::of(set.validating.iter().map(|policy| &policy.definition.matching));
    set.mutating_index = Index::of(set.mutating.iter().map(|policy| &policy.definition.matching));
    let validating = set.validating.iter().map(|policy| &policy.definition);
    let all = validating.chain(set.mutating.iter().map(|policy| &policy.definition));
    set.request_fields = all.fold(RequestFields::default(), |all, one| all.and(one.uses.fields));
    set
}

fn binding(raw: RawBinding) -> Binding {
    let param_ref = raw.param_ref.map(|(reference, _)| reference);
    Binding { name: Arc::clone(&raw.name.text), matching: raw.matching, param_ref, actions: raw.actions }
}

fn summary(raw: &RawPolicy, bound: &[RawBinding], lines: &Lines<'_>) -> Policy {
    let (file, line) = lines.place(&raw.place);
    let bindings = bound.iter().map(|binding| {
        let (file, line) = lines.place(&binding.place);
        Bound { name: binding.name.text.to_string(), file, line, actions: binding.actions.clone() }
    });
    let validations = raw.validations.iter().map(|validation| &validation.expression);
    let expressions = validations.chain(raw.mutations.iter().map(|(_, expression)| expression));
    Policy {
        name: raw.name.text.to_string(),
        kind: raw.kind,
        file,
        line,
        text: document(text_of(lines.files, raw.place.file), raw.place.span.start).to_owned(),
        bindings: bindings.collect(),
        ours_only: None,
        expressions: expressions.map(|expression| stated(expression, lines)).collect(),
        cost: None,
    }
}

fn stated(expression: &Written, lines: &Lines<'_>) -> Stated {
    // Of a block, the first line of the expression and not that of the `|`.
    let first = expression.locate(text_of(lines.files, expression.place.file), &(0..1));
    Stated { text: expression.text.trim().to_owned(), line: lines.place(&first).1 }
}

/// Where the lines of the files end, so that the line of each of many places is found without reading the file again.
struct Lines<'f> {
    files: &'f [SourceFile],
    ends: Vec<Vec<usize>>,
}

impl<'f> Lines<'f> {
    fn of(files: &'f [SourceFile]) -> Self {
        let ends = |file: &SourceFile| file.text.match_indices('\n').map(|(at, _)| at).collect();
        Self { files, ends: files.iter().map(ends).collect() }
    }

    /// The path of the file, and the line.
    fn place(&self, place: &Place) -> (String, usize) {
        let (Some(file), Some(ends)) = (self.files.get(place.file), self.ends.get(place.file)) else {
            return Default::default();
        };
        (file.path.clone(), ends.partition_point(|end| *end < place.span.start) + 1)
    }
}

/// The document of a text that a place is in: between the lines that begin with `---`.
fn document(text: &str, at: usize) -> &str {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.rfind("\n---").map_or(0, |line| line + 1);
    let start = match text.get(start..) {
        Some(rest) if rest.starts_with("---") => start + rest.find('\n').map_or(rest.len(), |end| end + 1),
        _ => start,
    };
    let end = after.find("\n---").map_or(text.len(), |line| at + line + 1);
    text.get(start.min(at)..end).unwrap_or(text)
}

fn text_of(files: &[SourceFile], number: usize) -> &str {
    files.get(number).map_or("", |file| file.text.as_str())
}

fn ours_only(used: &ExtraUse, files: &[SourceFile]) -> OursOnly {
    let text = text_of(files, used.place.file);
    OursOnly { extra: used.extra, place: line_and_column(text, used.place.span.start) }
}

/// What tells files from others: a hash over names and texts, each with its length, so that nothing can move from one to
/// the other unnoticed. Where the directory is that they are in does not count, so that it is the same on a desk and in
/// a cluster.
#[must_use]
pub fn hash(files: &[SourceFile]) -> String {
    let mut sorted: Vec<&SourceFile> = files.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    let above = match (sorted.first(), sorted.last()) {
        (Some(first), Some(last)) => common_directory(&first.path, &last.path),
        _ => 0,
    };
    let mut hasher = Sha256::new();
    for file in sorted {
        let name = file.path.get(above..).unwrap_or(&file.path);
        for text in [name, &file.text] {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    hasher.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// How long the directory is that two paths are in. All paths that are between them by order are in it, too.
fn common_directory(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other);
    let slash = same.enumerate().filter(|(_, (byte, _))| *byte == b'/').last();
    slash.map_or(0, |(at, _)| at + 1)
}

/// The bindings by the policy that they are of.
type Bindings = BTreeMap<(Kind, String), Vec<RawBinding>>;

/// How a message names a policy.
fn named(kind: Kind, name: &str) -> String {
    let kind = match kind {
        Kind::Validating => "ValidatingAdmissionPolicy",
        Kind::Mutating => "MutatingAdmissionPolicy",
    };
    format!("{kind} {}", quoted(name))
}

#[cfg(test)]
mod tests;
