//! From a file to cases, as strictly as policies are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::told::Param;
use super::{Case, Cases, Expected, Given};
use crate::cel::Tree;
use crate::policy::asked::Asked;
use crate::policy::fields::{Fields, Written};
use crate::policy::load::LARGEST_FILE;
use crate::policy::problem::{Place, Problem, Problems, SourceFile, line_and_column, quoted};
use crate::policy::read::{RawParam, each, param, twice};
use crate::policy::surroundings::Extra;
use crate::policy::yaml::{self, Budget, Node, Yaml};
use crate::review::Kind;

const OPERATIONS: [(&str, Asked); 4] = [
    ("create", Asked::Create),
    ("update", Asked::Update),
    ("delete", Asked::Delete),
    ("scale", Asked::Scale),
];

pub(super) fn read(file: &SourceFile) -> Result<Cases, Vec<Problem>> {
    let mut problems = Problems::default();
    let cases = document(file, &mut problems).unwrap_or_default();
    if problems.has_errors() {
        return Err(problems.sorted(std::slice::from_ref(file)));
    }
    Ok(Cases { file: file.path.clone(), cases })
}

fn document(file: &SourceFile, problems: &mut Problems) -> Option<Vec<Case>> {
    let start = Place { file: 0, span: 0..0 };
    if file.text.len() > LARGEST_FILE {
        problems.error(&start, "too-large", format!("the file is larger than {LARGEST_FILE} bytes"));
        return None;
    }
    let documents = yaml::read(&file.text, 0, &mut Budget::default(), problems);
    if problems.has_errors() {
        return None;
    }
    let node = match documents.as_slice() {
        [one] => one,
        [] => {
            problems.error(&start, "missing-field", "cases: has to be set");
            return None;
        }
        [_, second, ..] => {
            let place = Place { file: 0, span: second.span.clone() };
            problems.error(&place, "too-many", "there is a second document; all cases are in one");
            return None;
        }
    };
    let mut fields = Fields::open(node, 0, "", problems)?;
    let (common, kind) = given(&mut fields, problems);
    let common = Arc::new(common);
    fields.require("cases", problems);
    let mut names = Vec::new();
    let cases = each(&mut fields, "cases", problems, |fields, problems| {
        let (name, case) = case(fields, &file.text, &common, kind, problems)?;
        names.push(name);
        Some(case)
    });
    twice(names.iter(), problems);
    fields.finish(problems);
    Some(cases)
}

fn case(
    fields: &mut Fields<'_>,
    text: &str,
    common: &Arc<Given>,
    kind: Option<Kind>,
    problems: &mut Problems,
) -> Option<(Written, Case)> {
    let name = fields.some_text("name", problems);
    let (own, own_kind) = given(fields, problems);
    let change = changes(fields, "change", problems);
    let replicas = fields.whole_number("replicas", problems);
    let expected = expected(fields, problems);
    let operation = own.operation.or(common.operation).unwrap_or(Asked::Create);
    if replicas.is_some() != (operation == Asked::Scale) && (replicas.is_some() || !fields.has("replicas")) {
        let what = if replicas.is_some() { "is only for" } else { "has to be set with" };
        let message = format!("{}: {what} `operation: scale`", fields.path_of("replicas"));
        problems.error(&fields.key_place("replicas"), "invalid-value", message);
    }
    if own.old.is_some() && operation == Asked::Create {
        let message = format!("{}: there is no old object of one that is created", fields.path_of("old"));
        let help = "set `operation: update`, or remove it";
        problems.error_with_help(&fields.key_place("old"), "invalid-value", message, help);
    }
    let kind = own_kind.or(kind);
    if kind.is_none() && !fields.has("object") && common.object.is_none() {
        let message = format!("{}: has to be set, here or at the top of the file", fields.path_of("object"));
        problems.error(&fields.key_place("name"), "missing-field", message);
    }
    if operation == Asked::Scale && kind.is_some_and(|kind| kind != Kind::TenantCluster) {
        let message = format!("{}: only a TenantCluster can be scaled", fields.path_of("operation"));
        problems.error(&fields.key_place("operation"), "invalid-value", message);
    }
    let (name, kind, expected) = (name?, kind?, expected?);
    let line = line_and_column(text, fields.key_place("name").span.start).0;
    let case = Case {
        name: name.text.trim().to_owned(),
        line,
        common: Arc::clone(common),
        own,
        kind,
        change: change.unwrap_or_else(|| Json::Object(serde_json::Map::new())),
        replicas,
        expected,
    };
    Some((name, case))
}

/// What may stand at the top of a file and in a case, and the kind of the object.
fn given(fields: &mut Fields<'_>, problems: &mut Problems) -> (Given, Option<Kind>) {
    let kind = fields.object("object", problems).and_then(|fields| object(fields, problems));
    if let Some(fields) = fields.object("request", problems) {
        request(fields, problems);
    }
    if let Some(fields) = fields.object("namespace", problems) {
        namespace(fields, problems);
    }
    if let Some(mut facts) = fields.object("facts", problems) {
        for extra in Extra::ALL {
            facts.object(extra.as_str(), problems);
        }
        facts.finish(problems);
    }
    let given = Given {
        object: changes(fields, "object", problems),
        operation: fields.one_of("operation", &OPERATIONS, problems),
        old: changes(fields, "old", problems),
        request: changes(fields, "request", problems),
        namespace: changes(fields, "namespace", problems),
        params: params(fields, problems),
        facts: changes(fields, "facts", problems),
    };
    (given, kind)
}

/// An object, as JSON. That it is none is told once.
fn changes(fields: &mut Fields<'_>, name: &'static str, problems: &mut Problems) -> Option<Json> {
    fields.object(name, problems)?;
    let mut json = String::new();
    fields.take(name)?.write_json(&mut json);
    serde_json::from_str(&json).ok()
}

/// The kind of the object that cases are about.
fn object(mut fields: Fields<'_>, problems: &mut Problems) -> Option<Kind> {
    let api_version = fields.some_text("apiVersion", problems)?;
    let kind = fields.some_text("kind", problems)?;
    fields.require("metadata", problems)?;
    let mut metadata = fields.object("metadata", problems)?;
    for name in ["name", "generateName", "namespace"] {
        metadata.text(name, problems);
    }
    let ours = format!("{}/{}", butler_api::GROUP, butler_api::VERSION);
    let known =
        Kind::ALL.into_iter().find(|known| *api_version.text == ours && *kind.text == *known.as_str());
    if known.is_none() {
        let message = format!(
            "{}: {} of {} is nothing that is sent to Butler",
            kind.path,
            quoted(&kind.text),
            quoted(&api_version.text)
        );
        let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        let help = format!("sent are {} of `{ours}`", kinds.join(", "));
        problems.error_with_help(&kind.place, "unknown-kind", message, help);
    }
    known
}

/// The fields of an AdmissionRequest that a case may change.
fn request(mut fields: Fields<'_>, problems: &mut Problems) {
    for name in ["name", "namespace", "subResource", "requestSubResource"] {
        fields.text(name, problems);
    }
    for (name, last) in
        [("kind", "kind"), ("requestKind", "kind"), ("resource", "resource"), ("requestResource", "resource")]
    {
        if let Some(mut fields) = fields.object(name, problems) {
            for name in ["group", "version", last] {
                fields.text(name, problems);
            }
            fields.finish(problems);
        }
    }
    if let Some(mut user) = fields.object("userInfo", problems) {
        user.text("username", problems);
        user.text("uid", problems);
        user.texts("groups", problems);
        user.object("extra", problems);
        user.finish(problems);
    }
    fields.boolean("dryRun", problems);
    fields.object("options", problems);
    fields.finish(problems);
}

/// The fields of a Namespace.
fn namespace(mut fields: Fields<'_>, problems: &mut Problems) {
    fields.text("apiVersion", problems);
    fields.text("kind", problems);
    if let Some(mut metadata) = fields.object("metadata", problems) {
        for name in
            ["name", "generateName", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"]
        {
            metadata.text(name, problems);
        }
        metadata.object("labels", problems);
        metadata.object("annotations", problems);
        metadata.texts("finalizers", problems);
        for name in ["generation", "deletionGracePeriodSeconds"] {
            metadata.whole_number(name, problems);
        }
        metadata.finish(problems);
    }
    fields.object("spec", problems);
    fields.object("status", problems);
    fields.finish(problems);
}

fn params(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Arc<Vec<Param>>> {
    fields.take("params")?;
    let file = fields.place.file;
    let mut params: Vec<Param> = Vec::new();
    for (path, node) in fields.list("params", problems) {
        let Some((written, param)) = one_param(node, file, &path, problems) else { continue };
        let same = |other: &Param| {
            (&other.kind, &other.namespace, &other.name) == (&param.kind, &param.namespace, &param.name)
        };
        if params.iter().any(same) {
            let message =
                format!("{}: there is another object {} of this kind", written.path, quoted(&param.name));
            problems.error(&written.place, "duplicate-name", message);
        }
        params.push(param);
    }
    Some(Arc::new(params))
}

fn one_param(node: &Node, file: usize, path: &str, problems: &mut Problems) -> Option<(Written, Param)> {
    let mut fields = Fields::open(node, file, path, problems)?;
    let (api_version, kind) = (fields.some_text("apiVersion", problems), fields.some_text("kind", problems));
    let raw = param(node, &mut fields, &api_version?, &kind?, problems)?;
    let RawParam { kind, namespace, name, json } = raw;
    match Tree::parse(&json) {
        Ok(tree) => {
            let object = Arc::new(tree.into_owned());
            let param = Param { kind, namespace, name: name.text.to_string(), object };
            Some((name, param))
        }
        Err(error) => {
            problems.error(&name.place, "yaml", format!("the object cannot be used: {}", error.message));
            None
        }
    }
}

fn expected(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Expected> {
    let admitted = fields.boolean("admitted", problems);
    if admitted == Some(false) {
        let message = format!("{}: is false; only `true` can be written", fields.path_of("admitted"));
        let help = "write `denied` with the message";
        problems.error_with_help(&fields.key_place("admitted"), "invalid-value", message, help);
    }
    let denied = match fields.take("denied") {
        None => None,
        Some(Node { value: Yaml::List(_), .. }) => Some(fields.texts("denied", problems)),
        Some(_) => Some(fields.text("denied", problems).into_iter().collect()),
    };
    let has = (fields.has("admitted"), fields.has("denied"));
    if has.0 == has.1 {
        let what =
            if has.0 { "has both `admitted` and `denied`" } else { "has neither `admitted` nor `denied`" };
        let message = format!("{}: {what}; exactly one says what has to come of it", fields.path);
        let place = fields.key_place(if has.0 { "denied" } else { "name" });
        problems.error(&place, "invalid-value", message);
    }
    let message = |written: Written| written.text.trim().to_owned();
    let denied: Option<Vec<String>> = denied.map(|denied| denied.into_iter().map(message).collect());
    if denied.as_ref().is_some_and(|denied| denied.is_empty() || denied.iter().any(String::is_empty)) {
        let message = format!("{}: has to be the whole message", fields.path_of("denied"));
        problems.error(&fields.key_place("denied"), "invalid-value", message);
    }
    let warnings = fields.texts("warnings", problems).into_iter().map(message).collect();
    let audit = fields.take("audit").is_some().then(|| {
        let pairs = fields.string_map("audit", problems).into_iter();
        pairs.map(|(key, value)| (key.text.to_string(), message(value))).collect::<BTreeMap<_, _>>()
    });
    let patched = changes(fields, "patched", problems);
    (admitted == Some(true) || denied.is_some()).then_some(Expected { denied, warnings, audit, patched })
}
