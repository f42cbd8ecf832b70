//! The objects of a request.

use std::collections::BTreeMap;

use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, NetworkPool, ProviderConfig, Team, TenantAddon,
    TenantCluster,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Change;
use super::envelope::{Operation, Request, ReviewError};
use super::spans::{Object, Read, Spans, text};
use super::unreadable::{explain, missing};

/// What could be read of a change.
pub(super) enum Decoded<T> {
    Change(Box<Change<T>>),
    Untouched,
    UnreadableDelete,
}

/// An object with its spec not read yet.
#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(default)]
    metadata: Option<Meta>,
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
}

/// The part of the metadata that anybody looks at, as in [`super::spans::Metadata`].
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    finalizers: Option<Vec<String>>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
}

impl From<Meta> for ObjectMeta {
    fn from(meta: Meta) -> Self {
        Self {
            name: meta.name,
            generate_name: meta.generate_name,
            namespace: meta.namespace,
            uid: meta.uid,
            resource_version: meta.resource_version,
            generation: meta.generation,
            labels: meta.labels,
            annotations: meta.annotations,
            finalizers: meta.finalizers,
            creation_timestamp: meta.creation_timestamp,
            deletion_timestamp: meta.deletion_timestamp,
            ..Self::default()
        }
    }
}

/// A kind whose objects are judged.
pub(super) trait Judged: Sized {
    type Spec: DeserializeOwned;
    type Status: DeserializeOwned;
    /// The spec of an object that has none, if all of it may be left out.
    fn empty() -> Option<Self::Spec>;
    fn assemble(metadata: ObjectMeta, spec: Self::Spec, status: Option<Self::Status>) -> Self;
    /// The spec that was read in passing, of a kind that is.
    fn of_read(_: Read) -> Option<Self::Spec> {
        None
    }
}

macro_rules! judged {
    ($kind:ident, $spec:ident, $status:ident, $empty:expr $(, $of_read:item)?) => {
        impl Judged for $kind {
            type Spec = butler_api::$spec;
            type Status = butler_api::$status;
            fn empty() -> Option<Self::Spec> {
                $empty
            }
            fn assemble(metadata: ObjectMeta, spec: Self::Spec, status: Option<Self::Status>) -> Self {
                Self { metadata, spec, status }
            }
            $($of_read)?
        }
    };
}

judged!(
    TenantCluster,
    TenantClusterSpec,
    TenantClusterStatus,
    Some(Default::default()),
    fn of_read(Read(spec): Read) -> Option<Self::Spec> {
        spec.map(|spec| *spec)
    }
);
judged!(TenantAddon, TenantAddonSpec, TenantAddonStatus, None);
judged!(Team, TeamSpec, TeamStatus, Some(Default::default()));
judged!(ButlerConfig, ButlerConfigSpec, ButlerConfigStatus, Some(Default::default()));
judged!(ProviderConfig, ProviderConfigSpec, ProviderConfigStatus, None);
judged!(NetworkPool, NetworkPoolSpec, NetworkPoolStatus, None);
judged!(ClusterCreationPolicy, ClusterCreationPolicySpec, ClusterCreationPolicyStatus, None);

impl Judged for AddonDefinition {
    type Spec = butler_api::AddonDefinitionSpec;
    type Status = serde::de::IgnoredAny;
    fn empty() -> Option<Self::Spec> {
        None
    }
    fn assemble(metadata: ObjectMeta, spec: Self::Spec, _: Option<Self::Status>) -> Self {
        Self { metadata, spec }
    }
}

pub(super) fn decode_change<T: Judged>(request: &mut Request<'_>) -> Result<Decoded<T>, ReviewError> {
    whole_change(request).map_or_else(|| decode_parts(request), |change| Ok(Decoded::Change(change)))
}

/// The change, if there is nothing wrong with what it is made of.
fn whole_change<T: Judged>(request: &mut Request<'_>) -> Option<Box<Change<T>>> {
    let (read, old_read) = std::mem::take(&mut request.read);
    Some(Box::new(match request.operation {
        Operation::Create => Change::Create(whole(request.object?, read)?),
        Operation::Update => {
            Change::Update { old: whole(request.old_object?, old_read)?, new: whole(request.object?, read)? }
        }
        Operation::Delete => Change::Delete(whole(request.old_object?, old_read)?),
        Operation::Connect => return None,
    }))
}

fn whole<T: Judged>(object: Object<'_>, read: Read) -> Option<T> {
    let Spans { metadata, spec, status, .. } = object.spans?;
    let spec = match (T::of_read(read), spec) {
        (Some(spec), _) => spec,
        (None, None | Some("null")) => T::empty()?,
        (None, Some(text)) => serde_json::from_str(text).ok()?,
    };
    Some(T::assemble(metadata.read()?, spec, read_status::<T>(status)))
}

/// Status is Butler's own; one that cannot be read says nothing.
fn read_status<T: Judged>(status: Option<&str>) -> Option<T::Status> {
    status.and_then(|status| serde_json::from_str(status).ok())
}

/// The change, part by part, for what is wrong with it, and for what may pass all the same.
fn decode_parts<T: Judged>(request: &Request<'_>) -> Result<Decoded<T>, ReviewError> {
    let missing = |which: &str| ReviewError::malformed(format!("the request has no `{which}`"));
    let (object, old_object) = (request.object, request.old_object);
    Ok(match request.operation {
        Operation::Connect => Decoded::Untouched,
        Operation::Create => {
            let object = outer(object.ok_or_else(|| missing("object"))?, "object")?;
            Decoded::Change(Box::new(Change::Create(inner(object, "object")?)))
        }
        Operation::Delete => {
            let old = old_object.map(|old| outer(old, "oldObject").and_then(|old| inner(old, "oldObject")));
            match old {
                Some(Ok(old)) => Decoded::Change(Box::new(Change::Delete(old))),
                Some(Err(_)) | None => Decoded::UnreadableDelete,
            }
        }
        Operation::Update => {
            let new = outer(object.ok_or_else(|| missing("object"))?, "object")?;
            let old = outer(old_object.ok_or_else(|| missing("oldObject"))?, "oldObject")?;
            // An object on its way out, or one of which only metadata changes, must be able to pass even if its spec
            // makes no sense to anybody any more: otherwise its finalizers could never be removed.
            let leaving = new.metadata.as_ref().is_some_and(|meta| meta.deletion_timestamp.is_some());
            let same_spec = old.spec.map(RawValue::get) == new.spec.map(RawValue::get);
            match (inner(old, "oldObject"), inner(new, "object")) {
                (Ok(old), Ok(new)) => Decoded::Change(Box::new(Change::Update { old, new })),
                (_, _) if leaving || same_spec => Decoded::Untouched,
                // What was there made no sense, what is to be does: a repair, with nothing to compare it with.
                (Err(_), Ok(new)) => Decoded::Change(Box::new(Change::Create(new))),
                (_, Err(error)) => return Err(error),
            }
        }
    })
}

fn outer<'a>(object: Object<'a>, which: &str) -> Result<Outer<'a>, ReviewError> {
    serde_json::from_str(object.text).map_err(|error| unreadable(which, explain("", object.text, &error)))
}

fn inner<T: Judged>(object: Outer<'_>, which: &str) -> Result<T, ReviewError> {
    let spec = match object.spec.map(RawValue::get) {
        None | Some("null") => T::empty().ok_or_else(|| unreadable(which, missing("spec")))?,
        Some(text) => {
            serde_json::from_str(text).map_err(|error| unreadable(which, explain("spec", text, &error)))?
        }
    };
    Ok(T::assemble(
        object.metadata.unwrap_or_default().into(),
        spec,
        read_status::<T>(object.status.map(RawValue::get)),
    ))
}

/// The object as it was is not what the user typed, so that is said.
fn unreadable(which: &str, problem: String) -> ReviewError {
    ReviewError::object(if which == "object" {
        problem
    } else {
        format!("the object as it is stored cannot be read: {problem}")
    })
}

/// The number of workers in an autoscaling/v1 Scale.
pub(super) fn replicas_in(object: Option<Object<'_>>) -> Result<Option<i32>, ReviewError> {
    #[derive(Deserialize)]
    struct Scale {
        spec: Option<Spec>,
    }
    #[derive(Deserialize)]
    struct Spec {
        replicas: Option<i32>,
    }
    let Some(object) = object else { return Ok(None) };
    let scale: Scale = serde_json::from_str(object.text)
        .map_err(|error| ReviewError::object(explain("", object.text, &error)))?;
    // A client written in Go leaves a zero out.
    Ok(Some(scale.spec.and_then(|spec| spec.replicas).unwrap_or(0)))
}

/// The name of an object whose request does not repeat it, as is so for creations.
pub(super) fn name_in(object: Option<Object<'_>>) -> Option<String> {
    text(object?.spans?.metadata.name).flatten()
}
