//! An object of a request, not read yet: where its parts are.

use std::collections::BTreeMap;

use butler_api::TenantClusterSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::scan::{Scan, plain};

/// An object as it was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a> {
    pub(crate) text: &'a str,
    /// Nothing if it is none that could be walked through.
    pub(crate) spans: Option<Spans<'a>>,
}

/// The spec of a cluster that was read in passing, so that it is not walked over before.
#[derive(Debug, Default)]
pub(super) struct Read(pub(super) Option<Box<TenantClusterSpec>>);

/// The parts of an object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spans<'a> {
    pub(crate) has_metadata: bool,
    pub(crate) metadata: Metadata<'a>,
    pub(crate) spec: Option<&'a str>,
    pub(super) status: Option<&'a str>,
}

/// The parts of the metadata that anybody looks at, and the list of field managers, often half of an object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Metadata<'a> {
    pub(super) name: Option<&'a str>,
    generate_name: Option<&'a str>,
    namespace: Option<&'a str>,
    uid: Option<&'a str>,
    resource_version: Option<&'a str>,
    generation: Option<&'a str>,
    labels: Option<&'a str>,
    pub(crate) annotations: Option<&'a str>,
    finalizers: Option<&'a str>,
    creation_timestamp: Option<&'a str>,
    deletion_timestamp: Option<&'a str>,
    /// Nobody reads it, but whoever walks over the object again can jump over it.
    pub(crate) managed_fields: Option<&'a str>,
}

impl<'a> Object<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let mut scan = Scan::new(text);
        Self { text, spans: Spans::walk(&mut scan, None).filter(|_| scan.end().is_some()) }
    }

    /// Walks past an object, or past `null`. What has a place to be read into is read.
    pub(super) fn walk(scan: &mut Scan<'a>, read: Option<&mut Read>) -> Option<Option<Self>> {
        if scan.is_null()? {
            scan.value()?;
            return Some(None);
        }
        let start = scan.place()?;
        let spans = Spans::walk(scan, read)?;
        Some(Some(Self { text: scan.since(start)?, spans: Some(spans) }))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'a RawValue>::deserialize(deserializer).map(|raw| Self::of(raw.get()))
    }
}

impl<'a> Spans<'a> {
    fn walk(scan: &mut Scan<'a>, mut read: Option<&mut Read>) -> Option<Self> {
        let mut spans = Self::default();
        let mut metadata = None;
        scan.object(|scan, name| match name {
            "metadata" if metadata.is_none() => {
                metadata = Some(Metadata::walk(scan)?);
                Some(())
            }
            "metadata" => None,
            "spec" => match read.take() {
                Some(Read(read)) => {
                    let start = scan.place()?;
                    *read = Some(scan.read()?);
                    once(&mut spans.spec, scan.since(start)?)
                }
                None => note(&mut spans.spec, scan),
            },
            "status" => note(&mut spans.status, scan),
            _ => scan.value().map(drop),
        })?;
        Some(Self { has_metadata: metadata.is_some(), metadata: metadata.unwrap_or_default(), ..spans })
    }
}

impl<'a> Metadata<'a> {
    fn walk(scan: &mut Scan<'a>) -> Option<Self> {
        let mut all = Self::default();
        scan.object(|scan, name| {
            let place = match name {
                "name" => &mut all.name,
                "generateName" => &mut all.generate_name,
                "namespace" => &mut all.namespace,
                "uid" => &mut all.uid,
                "resourceVersion" => &mut all.resource_version,
                "generation" => &mut all.generation,
                "labels" => &mut all.labels,
                "annotations" => &mut all.annotations,
                "finalizers" => &mut all.finalizers,
                "creationTimestamp" => &mut all.creation_timestamp,
                "deletionTimestamp" => &mut all.deletion_timestamp,
                "managedFields" => &mut all.managed_fields,
                _ => return scan.value().map(drop),
            };
            note(place, scan)
        })?;
        Some(all)
    }

    /// Reads them, unless one of them is not what it should be.
    pub(super) fn read(&self) -> Option<ObjectMeta> {
        Some(ObjectMeta {
            name: text(self.name)?,
            generate_name: text(self.generate_name)?,
            namespace: text(self.namespace)?,
            uid: text(self.uid)?,
            resource_version: text(self.resource_version)?,
            generation: value(self.generation)?,
            labels: map(self.labels)?,
            annotations: map(self.annotations)?,
            finalizers: value(self.finalizers)?,
            creation_timestamp: value(self.creation_timestamp)?,
            deletion_timestamp: value(self.deletion_timestamp)?,
            ..ObjectMeta::default()
        })
    }
}

/// Notes where a field is.
fn note<'a>(place: &mut Option<&'a str>, scan: &mut Scan<'a>) -> Option<()> {
    once(place, scan.value()?)
}

/// A field that comes twice is for the slower way to judge.
pub(super) fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

fn value<T: DeserializeOwned>(span: Option<&str>) -> Option<Option<T>> {
    span.map_or(Some(None), |span| serde_json::from_str(span).ok())
}

/// A string, or nothing.
pub(super) fn text(span: Option<&str>) -> Option<Option<String>> {
    match span {
        Some(span) if span.starts_with('"') => string(span).map(Some),
        span => value(span),
    }
}

fn string(span: &str) -> Option<String> {
    match plain(span) {
        Some(plain) => Some(plain.to_owned()),
        None => serde_json::from_str(span).ok(),
    }
}

fn map(span: Option<&str>) -> Option<Option<BTreeMap<String, String>>> {
    let Some(span) = span.filter(|span| *span != "null") else { return Some(None) };
    let mut map = BTreeMap::new();
    Scan::new(span).object(|scan, name| {
        map.insert(name.to_owned(), string(scan.string()?)?);
        Some(())
    })?;
    Some(Some(map))
}
