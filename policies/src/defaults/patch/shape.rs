//! Which objects there are in an object that fields could be written into.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Path;
use crate::review::scan::Scan;
use crate::review::spans::Object;

/// How far from the root the objects are that fields are written into: `spec.workers.machineTemplate.os`.
const DEEPEST: usize = 4;

/// The objects in an object, each after the one that it is in. What is in deeper ones is passed, not kept.
#[derive(Debug, Default)]
pub(super) struct Shape<'a> {
    objects: Vec<There<'a>>,
    /// Lists where an object could be. A list is read as one, its items as the fields in their order, but the user wrote
    /// it, and the API server's schema is about to say that it cannot be: it is not written over.
    lists: Vec<There<'a>>,
    /// Fields of one parent come one after the other.
    last: Option<(&'static str, Option<usize>)>,
}

#[derive(Debug)]
struct There<'a> {
    within: Place,
    name: Cow<'a, str>,
}

/// The place of an object; nothing for the outermost one.
type Place = Option<usize>;

impl<'a> Shape<'a> {
    pub(super) fn of(object: Object<'a>) -> Self {
        let mut shape = Self { objects: Vec::with_capacity(16), ..Self::default() };
        if shape.walk_parts(object).is_none() {
            shape.objects.clear();
            shape.lists.clear();
            // What cannot be read to its end is no object to write into.
            let object: Map<String, Value> = serde_json::from_str(object.text).unwrap_or_default();
            shape.add_all(None, 0, &object);
        }
        shape
    }

    /// The quick way, which gives up on what is out of the ordinary. Of the metadata nothing but annotations is written.
    fn walk_parts(&mut self, object: Object<'a>) -> Option<()> {
        let spans = object.spans?;
        if spans.has_metadata {
            let metadata = self.add(None, Cow::Borrowed("metadata"));
            if spans.metadata.annotations.is_some_and(|annotations| annotations.starts_with('{')) {
                self.add(metadata, Cow::Borrowed("annotations"));
            }
        }
        match spans.spec.filter(|spec| spec.starts_with('{')) {
            Some(spec) => {
                let place = self.add(None, Cow::Borrowed("spec"));
                self.walk(place, 1, &mut Scan::new(spec))
            }
            None => {
                if spans.spec.is_some_and(|spec| spec.starts_with('[')) {
                    self.lists.push(There { within: None, name: Cow::Borrowed("spec") });
                }
                Some(())
            }
        }
    }

    /// Walks through what is in the object at that place.
    fn walk(&mut self, place: Place, depth: usize, scan: &mut Scan<'a>) -> Option<()> {
        scan.object(|scan, name| {
            if self.find(place, name).is_some() {
                return None;
            }
            if !scan.is_object()? {
                let value = scan.value()?;
                if value.starts_with('[') {
                    self.lists.push(There { within: place, name: Cow::Borrowed(name) });
                }
                return Some(());
            }
            let inner = self.add(place, Cow::Borrowed(name));
            if depth + 1 < DEEPEST { self.walk(inner, depth + 1, scan) } else { scan.value().map(drop) }
        })
    }

    /// The other way, which takes whatever is JSON. Of a key that comes twice, the last one counts.
    fn add_all(&mut self, place: Place, depth: usize, object: &Map<String, Value>) {
        for (name, value) in object {
            let value = match value {
                Value::Object(value) => value,
                Value::Array(_) => {
                    self.lists.push(There { within: place, name: Cow::Owned(name.clone()) });
                    continue;
                }
                _ => continue,
            };
            let inner = self.add(place, Cow::Owned(name.clone()));
            if depth + 1 < DEEPEST {
                self.add_all(inner, depth + 1, value);
            }
        }
    }

    fn add(&mut self, within: Place, name: Cow<'a, str>) -> Place {
        self.objects.push(There { within, name });
        Some(self.objects.len() - 1)
    }

    fn find(&self, within: Place, name: &str) -> Option<usize> {
        self.objects.iter().position(|there| there.within == within && there.name == name)
    }

    /// How many names on the way to a field are objects that are there, from the start on; nothing if a list is in the
    /// way.
    pub(super) fn depth_of(&mut self, path: Path) -> Option<usize> {
        let Some(parent) = path.parent() else { return Some(0) };
        if let Some((_, depth)) = self.last.filter(|(last, _)| *last == parent) {
            return depth;
        }
        let (mut within, mut depth) = (None, Some(0));
        for name in Path::Field(parent).names() {
            let Some(place) = self.find(within, name) else {
                let is_list = self.lists.iter().any(|there| there.within == within && there.name == name);
                depth = depth.filter(|_| !is_list);
                break;
            };
            (within, depth) = (Some(place), depth.map(|depth| depth + 1));
        }
        self.last = Some((parent, depth));
        depth
    }
}
