//! What an expression may name: variables and the objects they are.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::schema::Bound;
use super::types::Type;

/// An object whose fields are known.
#[derive(Clone, Debug, Default)]
pub struct ObjectType {
    /// The types of its fields by name; any other field is a mistake.
    pub fields: BTreeMap<String, Type>,
}

/// The variables of an expression, and the object types among theirs.
#[derive(Clone, Debug, Default)]
pub struct Declarations {
    variables: Vec<(Arc<str>, Type)>,
    places: HashMap<Arc<str>, usize>,
    objects: HashMap<Arc<str>, ObjectType>,
    bounds: HashMap<Arc<str>, Arc<Bound>>,
    mutates: bool,
}

impl Declarations {
    /// Adds a variable, or gives one another type.
    #[must_use]
    pub fn variable(mut self, name: &str, of: Type) -> Self {
        let name: Arc<str> = name.into();
        match self.places.get(&name).and_then(|place| self.variables.get_mut(*place)) {
            Some(variable) => variable.1 = of,
            None => {
                self.places.insert(Arc::clone(&name), self.variables.len());
                self.variables.push((name, of));
            }
        }
        self
    }

    /// Adds the fields of the object type of this name.
    #[must_use]
    pub fn object(mut self, name: &str, object: ObjectType) -> Self {
        self.objects.insert(name.into(), object);
        self
    }

    /// Takes a variable away. It keeps its place among the values that are bound.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.places.remove(name);
        self
    }

    /// Bounds the value of a variable.
    pub(crate) fn bounded(mut self, name: &str, bound: Bound) -> Self {
        self.bounds.insert(name.into(), Arc::new(bound));
        self
    }

    /// Gives a variable the type of another, and its bound.
    #[must_use]
    pub(crate) fn alike(self, name: &str, other: &str) -> Self {
        let Some(of) = self.find(other).map(|(_, of)| of.clone()) else { return self };
        let bound = self.bounds.get(other).map(Arc::clone);
        let mut made = self.variable(name, of);
        made.bounds.extend(bound.map(|bound| (name.into(), bound)));
        made
    }

    /// How large the value of a variable can be, if that is known.
    pub(crate) fn bound(&self, place: usize) -> Option<&Bound> {
        let (name, _) = self.variables.get(place)?;
        self.bounds.get(name).map(Arc::as_ref)
    }

    /// Adds a field to the object type of this name, or gives one another type.
    pub(crate) fn add_field(&mut self, object: &str, field: &str, of: Type) {
        self.objects.entry(object.into()).or_default().fields.insert(field.to_owned(), of);
    }

    /// Adds what only an expression of a mutation has: `Object{…}`, `JSONPatch{…}` and `jsonpatch.escapeKey`.
    #[must_use]
    pub fn mutation(mut self) -> Self {
        self.mutates = true;
        self
    }

    /// The type of a field of a message that a mutation may make; nothing if there is no such message.
    pub(crate) fn message_field(&self, message: &str, field: &str) -> Option<Option<Type>> {
        if !self.mutates {
            return None;
        }
        match (message, field) {
            ("JSONPatch", "op" | "path" | "from") => Some(Some(Type::String)),
            ("JSONPatch", "value") => Some(Some(Type::Dyn)),
            ("JSONPatch", _) => Some(None),
            _ if message == "Object" || message.starts_with("Object.") => Some(Some(Type::Dyn)),
            _ => None,
        }
    }

    /// Whether a function exists here.
    pub(crate) fn allows(&self, function: &str) -> bool {
        self.mutates || function != "jsonpatch.escapeKey"
    }

    /// The place of a variable among all of them, and its type.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Type)> {
        let place = *self.places.get(name)?;
        self.variables.get(place).map(|(_, of)| (place, of))
    }

    pub(crate) fn object_type(&self, name: &str) -> Option<&ObjectType> {
        self.objects.get(name)
    }

    /// The names of all variables, in the order in which their values are bound.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| name.as_ref())
    }
}
