//! Which requests a policy, or a binding of it, is about.

use super::fields::{Fields, Written};
use super::names::is_path_segment;
use super::problem::{Problems, quoted};
use super::request::Request;
use super::selector::Selector;
use super::surroundings::Surroundings;
use crate::facts::Lookup;
use crate::review::Operation;

/// What `matchConstraints` and `matchResources` say.
///
/// Every resource that reaches us has one version, so `matchPolicy: Equivalent` finds what `Exact` does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Matching {
    pub(crate) rules: Vec<Rule>,
    excluded: Vec<Rule>,
    namespaces: Selector,
    objects: Selector,
}

/// One of `resourceRules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) operations: Operations,
    pub(crate) groups: Vec<String>,
    pub(crate) versions: Vec<String>,
    /// Resource and subresource, empty for the object itself.
    pub(crate) resources: Vec<(String, String)>,
    scope: Scope,
    names: Vec<String>,
}

/// A set of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operations(u8);

impl Operations {
    const ALL: Self = Self(0b1111);

    pub(crate) fn of(operation: Operation) -> Self {
        Self(1 << Self::place(operation))
    }

    /// The number of an operation, below 4.
    pub(crate) fn place(operation: Operation) -> usize {
        match operation {
            Operation::Create => 0,
            Operation::Update => 1,
            Operation::Delete => 2,
            Operation::Connect => 3,
        }
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn has(self, operation: Operation) -> bool {
        self.0 & Self::of(operation).0 != 0
    }
}

const OPERATIONS: [(&str, Operations); 5] = [
    ("CREATE", Operations(1)),
    ("UPDATE", Operations(2)),
    ("DELETE", Operations(4)),
    ("CONNECT", Operations(8)),
    ("*", Operations::ALL),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Any,
    Cluster,
    Namespaced,
}

const SCOPES: [(&str, Scope); 3] =
    [("*", Scope::Any), ("Cluster", Scope::Cluster), ("Namespaced", Scope::Namespaced)];

/// Why nobody can say whether a request is matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unmatchable(pub(crate) String);

impl Matching {
    /// Reads `matchConstraints` or `matchResources`.
    pub(crate) fn read(mut fields: Fields<'_>, problems: &mut Problems) -> Self {
        let file = fields.place.file;
        let rules = |fields: &mut Fields<'_>, name: &'static str, problems: &mut Problems| {
            let mut rules = Vec::new();
            for (path, node) in fields.list(name, problems) {
                let Some(mut fields) = Fields::open(node, file, &path, problems) else { continue };
                rules.push(Rule::read(&mut fields, problems));
                fields.finish(problems);
            }
            rules
        };
        let matched = rules(&mut fields, "resourceRules", problems);
        let excluded = rules(&mut fields, "excludeResourceRules", problems);
        fields.one_of("matchPolicy", &[("Exact", ()), ("Equivalent", ())], problems);
        let namespaces = fields.object("namespaceSelector", problems);
        let objects = fields.object("objectSelector", problems);
        fields.finish(problems);
        Self {
            rules: matched,
            excluded,
            namespaces: namespaces.map(|fields| Selector::read(fields, problems)).unwrap_or_default(),
            objects: objects.map(|fields| Selector::read(fields, problems)).unwrap_or_default(),
        }
    }

    /// Whether the labels of a Namespace decide.
    pub(crate) fn selects_namespaces(&self) -> bool {
        !self.namespaces.is_empty()
    }

    /// Whether a request is matched.
    pub(crate) fn matches(
        &self,
        request: &Request<'_>,
        surroundings: &dyn Surroundings,
    ) -> Result<bool, Unmatchable> {
        // What is cheap comes first: the answer is the same in any order, but for what cannot be looked up, which
        // counts only if everything else matches.
        if self.excluded.iter().any(|rule| rule.matches(request)) {
            return Ok(false);
        }
        if !self.rules.is_empty() && !self.rules.iter().any(|rule| rule.matches(request)) {
            return Ok(false);
        }
        if !self.objects.is_empty() && !request.objects().any(|object| self.objects.matches_object(object)) {
            return Ok(false);
        }
        if self.namespaces.is_empty() || request.namespace().is_empty() {
            return Ok(true);
        }
        match request.namespace_object(surroundings) {
            Lookup::Found(namespace) => Ok(self.namespaces.matches_object(namespace)),
            Lookup::Absent => Err(Unmatchable(format!("namespaces {:?} not found", request.namespace()))),
            Lookup::Unknown => {
                Err(Unmatchable(format!("namespaces {:?} cannot be read", request.namespace())))
            }
        }
    }
}

impl Rule {
    fn read(fields: &mut Fields<'_>, problems: &mut Problems) -> Self {
        let words = |fields: &mut Fields<'_>, name: &'static str, problems: &mut Problems| {
            let words = fields.texts(name, problems);
            if words.is_empty() {
                fields.missing(name, problems);
            }
            if words.len() > 1 && words.iter().any(|word| &*word.text == "*") {
                let message =
                    format!("{}: `*` stands for all of them, so it has to stand alone", fields.path_of(name));
                problems.error(&fields.key_place(name), "invalid-value", message);
            }
            words
        };
        let groups = words(fields, "apiGroups", problems);
        let versions = words(fields, "apiVersions", problems);
        for version in versions.iter().filter(|version| version.text.is_empty()) {
            problems.error(
                &version.place,
                "missing-field",
                format!("{}: is empty; it has to be set", version.path),
            );
        }
        let operations =
            words(fields, "operations", problems).iter().fold(Operations::default(), |all, word| {
                all.with(super::fields::one_of(word, &OPERATIONS, problems).unwrap_or_default())
            });
        let resources = fields.texts("resources", problems);
        if resources.is_empty() {
            fields.missing("resources", problems);
        }
        let resources = read_resources(&resources, problems);
        let scope = fields.one_of("scope", &SCOPES, problems).unwrap_or(Scope::Any);
        let names = fields.texts("resourceNames", problems);
        for (at, name) in names.iter().enumerate() {
            if !is_path_segment(&name.text) {
                let message =
                    format!("{}: is {}, which no object can be named", name.path, quoted(&name.text));
                problems.error(&name.place, "invalid-value", message);
            }
            if names.iter().take(at).any(|earlier| earlier.text == name.text) {
                let message = format!("{}: {} is there twice", name.path, quoted(&name.text));
                problems.error(&name.place, "duplicate-name", message);
            }
        }
        let texts = |words: Vec<Written>| words.iter().map(|word| word.text.to_string()).collect();
        Self {
            operations,
            groups: texts(groups),
            versions: texts(versions),
            resources,
            scope,
            names: texts(names),
        }
    }

    /// Whether it names deletions, and not only all operations.
    pub(crate) fn names_deletion(&self) -> bool {
        self.operations.has(Operation::Delete) && self.operations != Operations::ALL
    }

    fn matches(&self, request: &Request<'_>) -> bool {
        let is_namespaced = !request.namespace().is_empty();
        let scope = match self.scope {
            Scope::Any => true,
            Scope::Cluster => !is_namespaced,
            Scope::Namespaced => is_namespaced,
        };
        scope
            && self.operations.has(request.operation())
            && one_or_all(&self.groups, request.group())
            && one_or_all(&self.versions, request.version())
            && self.resources.iter().any(|(resource, subresource)| {
                (resource == "*" || resource == request.resource())
                    && (subresource == "*" || subresource == request.subresource())
            })
            && (self.names.is_empty() || self.names.iter().any(|name| name == request.name()))
    }
}

pub(crate) fn one_or_all(words: &[String], wanted: &str) -> bool {
    words.iter().any(|word| word == "*" || word == wanted)
}

/// Resources and subresources, which may not say the same thing twice.
fn read_resources(written: &[Written], problems: &mut Problems) -> Vec<(String, String)> {
    let texts: Vec<&str> = written.iter().map(|word| &*word.text).collect();
    let mut read = Vec::new();
    for word in written {
        let (resource, subresource) = word.text.split_once('/').unwrap_or((&word.text, ""));
        let covers = |other: &&&str| match **other {
            "*/*" => true,
            "*" => !word.text.contains('/'),
            other => match other.split_once('/') {
                Some(("*", all)) => all == subresource && !all.is_empty(),
                Some((all, "*")) => all == resource && word.text.contains('/'),
                _ => false,
            },
        };
        let covered = texts.iter().filter(|other| **other != &*word.text).find(covers);
        let wrong = match covered {
            _ if word.text.is_empty() => Some("is empty; it has to be set".to_owned()),
            Some(all) => Some(format!("{} is among `{all}` already; keep one of them", quoted(&word.text))),
            None => None,
        };
        if let Some(wrong) = wrong {
            problems.error(&word.place, "invalid-value", format!("{}: {wrong}", word.path));
        }
        read.push((resource.to_owned(), subresource.to_owned()));
    }
    read
}
