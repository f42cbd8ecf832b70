//! One request as policies see it. Nothing of it is read before a policy asks, and everything is read once for all.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map as JsonMap, Value as Json, json};

use super::set::PolicySet;
use super::surroundings::{Extra, Surroundings};
use crate::cel::{Item, Malformed, Tree, Value};
use crate::facts::Lookup;
use crate::review::{Operation, Review};

/// A document that is kept, such as a Namespace or a param.
pub type Document = Arc<Tree<'static>>;

/// A request for admission.
#[derive(Debug)]
pub struct Request<'a> {
    group: Cow<'a, str>,
    version: Cow<'a, str>,
    resource: Cow<'a, str>,
    subresource: Cow<'a, str>,
    name: Cow<'a, str>,
    namespace: Cow<'a, str>,
    operation: Operation,
    object: Option<&'a str>,
    old_object: Option<&'a str>,
    /// All of the request.
    text: &'a str,
    /// The field managers of both objects, where somebody knows where they are.
    managed_fields: [Option<&'a str>; 2],
    /// What of the request anybody looks at.
    fields: RequestFields,
    read: Read<'a>,
}

/// Fields of a request: those that expressions look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestFields(u16);

/// The fields that can be told apart; any other is always read.
const FIELDS: [&str; 12] = [
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "dryRun",
    "options",
];

impl RequestFields {
    pub(crate) const ALL: Self = Self(u16::MAX);

    /// The field of this name, or all of them if it is none that is told apart.
    pub(crate) fn named(name: &str) -> Self {
        FIELDS.iter().position(|field| *field == name).map_or(Self::ALL, |place| Self(1 << place))
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, name: &str) -> bool {
        self.0 & Self::named(name).0 != 0
    }
}

/// What has been read so far.
#[derive(Debug, Default)]
struct Read<'a> {
    object: OnceCell<Result<Option<Tree<'a>>, Malformed>>,
    old_object: OnceCell<Result<Option<Tree<'a>>, Malformed>>,
    request: OnceCell<Result<Option<Tree<'a>>, Malformed>>,
    namespace: OnceCell<Lookup<Document>>,
    extras: [OnceCell<Lookup<Document>>; Extra::ALL.len()],
}

impl<'a> Request<'a> {
    /// The request of a review.
    #[must_use]
    pub fn of_review(review: &'a Review<'_>) -> Self {
        Self {
            group: Cow::Borrowed(butler_api::GROUP),
            version: Cow::Borrowed(butler_api::VERSION),
            resource: Cow::Borrowed(review.kind.resource()),
            subresource: Cow::Borrowed(&review.request_part),
            name: Cow::Borrowed(&review.request_name),
            namespace: Cow::Borrowed(&review.namespace),
            operation: review.operation,
            object: review.object.map(|object| object.text),
            old_object: review.old_object,
            text: review.request,
            managed_fields: review.managed_fields,
            fields: RequestFields::ALL,
            read: Read::default(),
        }
    }

    /// The request in a JSON text, an AdmissionRequest as [`complete`] makes it.
    ///
    /// # Errors
    ///
    /// When the text is no such request.
    pub fn read(text: &'a str) -> Result<Self, String> {
        let parts: Parts<'a> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let present = |raw: Option<&'a RawValue>| raw.map(RawValue::get).filter(|text| *text != "null");
        Ok(Self {
            group: parts.resource.group,
            version: parts.resource.version,
            resource: parts.resource.resource,
            subresource: parts.sub_resource,
            name: parts.name,
            namespace: parts.namespace,
            operation: parts.operation,
            object: present(parts.object),
            old_object: present(parts.old_object),
            text,
            managed_fields: [None, None],
            fields: RequestFields::ALL,
            read: Read::default(),
        })
    }

    /// The same request about another object, as a mutation leaves it.
    #[must_use]
    pub fn with_object<'b>(&'b self, object: &'b str) -> Request<'b> {
        Request {
            group: Cow::Borrowed(&self.group),
            version: Cow::Borrowed(&self.version),
            resource: Cow::Borrowed(&self.resource),
            subresource: Cow::Borrowed(&self.subresource),
            name: Cow::Borrowed(&self.name),
            namespace: Cow::Borrowed(&self.namespace),
            operation: self.operation,
            object: Some(object),
            old_object: self.old_object,
            text: self.text,
            managed_fields: {
                let [_, old] = self.managed_fields;
                [None, old]
            },
            fields: self.fields,
            read: Read::default(),
        }
    }

    /// The same request, of which nobody looks at more than these policies do: only that is read.
    #[must_use]
    pub fn seen_by(self, set: &PolicySet) -> Self {
        Self { fields: set.request_fields, ..self }
    }

    /// The group of the resource.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The version of the resource.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The resource, such as `tenantclusters`.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The part of the object that is changed, empty for all of it.
    #[must_use]
    pub fn subresource(&self) -> &str {
        &self.subresource
    }

    /// The name of the object, empty while it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace, empty for objects that are in none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// What is done to the object.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The new object as it was sent.
    #[must_use]
    pub fn object_text(&self) -> Option<&'a str> {
        self.object
    }

    /// The new object; there is none when it is deleted.
    pub(crate) fn object(&self) -> Result<Option<&Tree<'a>>, &Malformed> {
        let [managed_fields, _] = self.managed_fields;
        tree(&self.read.object, || parse(self.object, managed_fields))
    }

    /// The object before; there is none when it is made.
    pub(crate) fn old_object(&self) -> Result<Option<&Tree<'a>>, &Malformed> {
        let [_, managed_fields] = self.managed_fields;
        tree(&self.read.old_object, || parse(self.old_object, managed_fields))
    }

    /// What expressions see as `request`: all but the objects, which they see by themselves, and the uid, which
    /// Kubernetes does not show them. Fields that no expression looks at are not read.
    pub(crate) fn request(&self) -> Result<Option<&Tree<'a>>, &Malformed> {
        let hidden = |name: &str| match name {
            "uid" => Some(Item::String(Cow::Borrowed(""))),
            "object" | "oldObject" => Some(Item::Null),
            name => (!self.fields.has(name)).then_some(Item::Null),
        };
        tree(&self.read.request, || {
            Tree::parse_knowing(self.text, &[self.object, self.old_object], hidden).map(Some)
        })
    }

    /// The objects, before and after, as far as they can be read.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Tree<'a>> {
        let after = self.object().ok().flatten();
        after.into_iter().chain(std::iter::once_with(|| self.old_object().ok().flatten()).flatten())
    }

    /// Whether it changes an object that is being deleted.
    pub(crate) fn is_of_leaving_object(&self) -> bool {
        let Ok(Some(old)) = self.old_object() else { return false };
        let Value::Map(old) = Value::of(old) else { return false };
        let Some(Value::Map(metadata)) = old.get("metadata") else { return false };
        let leaving = matches!(metadata.get("deletionTimestamp"), Some(Value::String(_)));
        leaving && self.operation == Operation::Update
    }

    /// The Namespace of the object.
    pub(crate) fn namespace_object(&self, surroundings: &dyn Surroundings) -> Lookup<&Tree<'static>> {
        as_tree(self.read.namespace.get_or_init(|| match &*self.namespace {
            "" => Lookup::Absent,
            name => surroundings.namespace(name),
        }))
    }

    /// What is known beside the standard.
    pub(crate) fn extra(&self, extra: Extra, surroundings: &dyn Surroundings) -> Lookup<&Tree<'static>> {
        match self.read.extras.get(extra as usize) {
            Some(cell) => as_tree(cell.get_or_init(|| surroundings.extra(extra, self))),
            None => Lookup::Unknown,
        }
    }
}

fn as_tree(lookup: &Lookup<Document>) -> Lookup<&Tree<'static>> {
    match lookup {
        Lookup::Found(document) => Lookup::Found(document),
        Lookup::Absent => Lookup::Absent,
        Lookup::Unknown => Lookup::Unknown,
    }
}

fn parse<'a>(object: Option<&'a str>, managed_fields: Option<&str>) -> Result<Option<Tree<'a>>, Malformed> {
    object.map(|text| Tree::parse_knowing(text, &[managed_fields], |_| None)).transpose()
}

fn tree<'c, 'a>(
    cell: &'c OnceCell<Result<Option<Tree<'a>>, Malformed>>,
    read: impl FnOnce() -> Result<Option<Tree<'a>>, Malformed>,
) -> Result<Option<&'c Tree<'a>>, &'c Malformed> {
    cell.get_or_init(read).as_ref().map(Option::as_ref)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parts<'a> {
    #[serde(borrow)]
    resource: Resource<'a>,
    #[serde(borrow, default)]
    sub_resource: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    operation: Operation,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default)]
    group: Cow<'a, str>,
    #[serde(borrow, default)]
    version: Cow<'a, str>,
    #[serde(borrow, default)]
    resource: Cow<'a, str>,
}

/// A request as the API server would have it, made of one that leaves things out: fields that are always there, and
/// none that are empty where Go leaves those out.
pub fn complete(request: &mut Json) {
    let Json::Object(request) = request else { return };
    fill(request, "uid", json!(""));
    fill(request, "kind", json!({"group": "", "version": "", "kind": ""}));
    fill(request, "resource", json!({"group": "", "version": "", "resource": ""}));
    fill(request, "operation", json!(""));
    fill(request, "userInfo", json!({}));
    for name in ["object", "oldObject", "options"] {
        fill(request, name, Json::Null);
    }
    for name in ["subResource", "requestSubResource", "name", "namespace"] {
        if request.get(name) == Some(&json!("")) {
            request.remove(name);
        }
    }
}

/// A Namespace as expressions see it.
pub fn complete_namespace(namespace: &mut Json) {
    let Json::Object(namespace) = namespace else { return };
    namespace.remove("apiVersion");
    namespace.remove("kind");
    for name in ["metadata", "spec", "status"] {
        fill(namespace, name, json!({}));
    }
}

fn fill(object: &mut JsonMap<String, Json>, name: &str, usual: Json) {
    object.entry(name).or_insert(usual);
}
