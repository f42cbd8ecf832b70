//! Which fields an object already has.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::review::scan::Scan;

/// Which of the fields that are asked for an object has. Everything else in it is skipped, not kept.
#[derive(Debug, Default)]
pub(super) struct Shape {
    name: Cow<'static, str>,
    is_object: bool,
    inner: Vec<Shape>,
}

impl Shape {
    pub(super) fn ask_for(&mut self, path: &[Cow<'static, str>]) {
        let Some((first, rest)) = path.split_first() else { return };
        match self.inner.iter_mut().find(|inner| inner.name == *first) {
            Some(inner) => inner.ask_for(rest),
            None => {
                let mut inner = Self { name: first.clone(), ..Self::default() };
                inner.ask_for(rest);
                self.inner.push(inner);
            }
        }
    }

    pub(super) fn read(&mut self, object: &str) {
        if self.walk(&mut Scan::new(object)).is_some() {
            return;
        }
        let mut deserializer = serde_json::Deserializer::from_str(object);
        // What cannot be read to its end is no object to write into.
        if self.deserialize(&mut deserializer).is_err() {
            self.forget();
        }
    }

    /// The quick way, which gives up on what is out of the ordinary.
    fn walk(&mut self, scan: &mut Scan<'_>) -> Option<()> {
        self.forget();
        if !scan.is_object()? {
            return scan.value().map(drop);
        }
        self.is_object = true;
        scan.object(|scan, name| match self.inner.iter_mut().find(|inner| inner.name == name) {
            Some(inner) => inner.walk(scan),
            None => scan.value().map(drop),
        })
    }

    /// Of a key that comes twice, the last one counts.
    fn forget(&mut self) {
        self.is_object = false;
        self.inner.iter_mut().for_each(Self::forget);
    }

    /// How many parts of the path, from its start, are objects that are there.
    pub(super) fn depth_of(&self, path: &[Cow<'static, str>]) -> usize {
        let Some((first, rest)) = path.split_first() else { return 0 };
        match self.inner.iter().find(|inner| inner.name == *first) {
            Some(inner) if inner.is_object => 1 + inner.depth_of(rest),
            Some(_) | None => 0,
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Shape {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.forget();
        deserializer.deserialize_any(self)
    }
}

/// Which of these has the name that comes next.
struct OneOf<'a>(&'a [Shape]);

impl<'de> DeserializeSeed<'de> for OneOf<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for OneOf<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|shape| shape.name == name))
    }
}

impl<'de> Visitor<'de> for &mut Shape {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.is_object = true;
        while let Some(place) = map.next_key_seed(OneOf(&self.inner))? {
            match place.and_then(|place| self.inner.get_mut(place)) {
                Some(inner) => map.next_value_seed(inner)?,
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
