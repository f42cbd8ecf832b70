//! Which of the parents of the fields to write an object already has.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Path;
use crate::review::scan::Scan;

/// The parents that are asked for, each after its own. Everything else in an object is skipped, not kept.
#[derive(Debug, Default)]
pub(super) struct Shape {
    parents: Vec<Parent>,
    /// Fields of one parent come one after the other.
    last: Option<(&'static str, usize)>,
}

#[derive(Debug)]
struct Parent {
    /// Nothing for a field of the object itself.
    within: Option<usize>,
    name: &'static str,
    is_object: bool,
}

impl Shape {
    /// Asks for what is around that field, and gives its place; nothing for a field of the object itself.
    pub(super) fn ask_for(&mut self, path: Path) -> Option<usize> {
        let parent = path.parent()?;
        if let Some((_, place)) = self.last.filter(|(last, _)| *last == parent) {
            return Some(place);
        }
        let mut within = None;
        for name in Path::Field(parent).names() {
            let place = self.find(within, name).unwrap_or_else(|| {
                self.parents.push(Parent { within, name, is_object: false });
                self.parents.len() - 1
            });
            within = Some(place);
        }
        self.last = within.map(|place| (parent, place));
        within
    }

    fn find(&self, within: Option<usize>, name: &str) -> Option<usize> {
        self.parents.iter().position(|parent| parent.within == within && parent.name == name)
    }

    pub(super) fn read(&mut self, object: &str) {
        if self.walk(None, &mut Scan::new(object)).is_some() {
            return;
        }
        self.parents.iter_mut().for_each(|parent| parent.is_object = false);
        let mut deserializer = serde_json::Deserializer::from_str(object);
        // What cannot be read to its end is no object to write into.
        if (Careful { shape: self, place: None }).deserialize(&mut deserializer).is_err() {
            self.parents.iter_mut().for_each(|parent| parent.is_object = false);
        }
    }

    /// The quick way, which gives up on what is out of the ordinary.
    fn walk(&mut self, place: Option<usize>, scan: &mut Scan<'_>) -> Option<()> {
        let is_object = scan.is_object()?;
        self.note(place, is_object);
        if !is_object {
            return scan.value().map(drop);
        }
        scan.object(|scan, name| match self.find(place, name) {
            Some(inner) => self.walk(Some(inner), scan),
            None => scan.value().map(drop),
        })
    }

    /// Of a key that comes twice, the last one counts.
    fn note(&mut self, place: Option<usize>, is_object: bool) {
        let Some(place) = place else { return };
        let Some(parent) = self.parents.get_mut(place) else { return };
        if !std::mem::replace(&mut parent.is_object, is_object) {
            return;
        }
        // It was met before. What is within comes after it, and only counts if it is met again.
        let within: Vec<usize> = (0..self.parents.len())
            .filter(|inner| {
                self.parents.get(*inner).is_some_and(|it| it.within == Some(place) && it.is_object)
            })
            .collect();
        within.into_iter().for_each(|inner| self.note(Some(inner), false));
    }

    /// How many names on the way to that place, and of it, are objects that are there, from the start on.
    pub(super) fn depth_of(&self, place: Option<usize>) -> usize {
        let mut depth = 0;
        let mut upwards = place;
        while let Some(parent) = upwards.and_then(|place| self.parents.get(place)) {
            depth = if parent.is_object { depth + 1 } else { 0 };
            upwards = parent.within;
        }
        depth
    }
}

/// The other way, which takes whatever is JSON.
struct Careful<'a> {
    shape: &'a mut Shape,
    place: Option<usize>,
}

impl<'de> DeserializeSeed<'de> for Careful<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.shape.note(self.place, false);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Careful<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.shape.note(self.place, true);
        while let Some(name) = map.next_key::<String>()? {
            match self.shape.find(self.place, &name) {
                Some(inner) => {
                    map.next_value_seed(Careful { shape: &mut *self.shape, place: Some(inner) })?
                }
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
