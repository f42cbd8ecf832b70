//! Types, each kept once and named by number, and which of them fit each other.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// A type as declarations name it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Known only while evaluating.
    Dyn,
    /// `null`.
    Null,
    /// `bool`.
    Bool,
    /// A signed integer of 64 bits.
    Int,
    /// An unsigned integer of 64 bits.
    Uint,
    /// A binary floating-point number of 64 bits.
    Double,
    /// Text.
    String,
    /// Bytes.
    Bytes,
    /// A length of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// A list of elements of one type.
    List(Box<Type>),
    /// A map from keys of one type to values of one type.
    Map(Box<Type>, Box<Type>),
    /// A value that may be absent.
    Optional(Box<Type>),
    /// An object with named fields, declared under this name.
    Object(Arc<str>),
}

/// The number of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeId(u32);

/// A type as the checker sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    Dyn,
    /// The type of what was refused already: fits everything, so that one mistake is reported once.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(TypeId),
    Map(TypeId, TypeId),
    Optional(TypeId),
    /// The type of a type.
    Type(TypeId),
    /// Kubernetes' addresses and networks.
    Opaque(&'static str),
    Object(Arc<str>),
    /// Not yet known; found out from use.
    Variable(u32),
}

impl Shape {
    /// Whether its values have no parts and no length.
    pub(crate) fn is_scalar(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Bool
                | Self::Int
                | Self::Uint
                | Self::Double
                | Self::Duration
                | Self::Timestamp
                | Self::Type(_)
        )
    }
}

/// Nodes of the largest type that is looked into: types that share parts can grow faster than their text.
const MAXIMUM_WEIGHT: u32 = 4_000;

/// All types of one check, and what the variables among them stand for.
#[derive(Debug, Default)]
pub(crate) struct Types {
    shapes: Vec<Shape>,
    weights: Vec<u32>,
    known: HashMap<Shape, TypeId>,
    bindings: Vec<Option<TypeId>>,
    /// Bindings made since the last decision and what they were, so that a failed attempt leaves no trace.
    trail: Vec<(u32, Option<TypeId>)>,
    pub(crate) too_large: bool,
}

impl Types {
    pub(crate) fn id(&mut self, shape: Shape) -> TypeId {
        if let Some(id) = self.known.get(&shape) {
            return *id;
        }
        let weight = match shape {
            Shape::List(of) | Shape::Optional(of) | Shape::Type(of) => self.weight(of).saturating_add(1),
            Shape::Map(key, value) => self.weight(key).saturating_add(self.weight(value)).saturating_add(1),
            _ => 1,
        };
        if weight > MAXIMUM_WEIGHT {
            self.too_large = true;
            return self.id(Shape::Error);
        }
        let id = TypeId(u32::try_from(self.shapes.len()).unwrap_or(u32::MAX));
        self.shapes.push(shape.clone());
        self.weights.push(weight);
        self.known.insert(shape, id);
        id
    }

    pub(crate) fn declared(&mut self, of: &Type) -> TypeId {
        let shape = match of {
            Type::Dyn => Shape::Dyn,
            Type::Null => Shape::Null,
            Type::Bool => Shape::Bool,
            Type::Int => Shape::Int,
            Type::Uint => Shape::Uint,
            Type::Double => Shape::Double,
            Type::String => Shape::String,
            Type::Bytes => Shape::Bytes,
            Type::Duration => Shape::Duration,
            Type::Timestamp => Shape::Timestamp,
            Type::List(of) => Shape::List(self.declared(of)),
            Type::Map(key, value) => Shape::Map(self.declared(key), self.declared(value)),
            Type::Optional(of) => Shape::Optional(self.declared(of)),
            Type::Object(name) => Shape::Object(Arc::clone(name)),
        };
        self.id(shape)
    }

    /// The type as a later expression may name it: lists and maps of simple types, and `dyn` for all else.
    pub(crate) fn reusable(&self, id: TypeId) -> Type {
        match *self.shape(id) {
            Shape::Null => Type::Null,
            Shape::Bool => Type::Bool,
            Shape::Int => Type::Int,
            Shape::Uint => Type::Uint,
            Shape::Double => Type::Double,
            Shape::String => Type::String,
            Shape::Bytes => Type::Bytes,
            Shape::Duration => Type::Duration,
            Shape::Timestamp => Type::Timestamp,
            Shape::List(of) => Type::List(Box::new(self.reusable(of))),
            Shape::Map(key, value) => Type::Map(Box::new(self.reusable(key)), Box::new(self.reusable(value))),
            _ => Type::Dyn,
        }
    }

    /// A type that is not known yet.
    pub(crate) fn variable(&mut self) -> TypeId {
        let number = u32::try_from(self.bindings.len()).unwrap_or(u32::MAX);
        self.bindings.push(None);
        self.id(Shape::Variable(number))
    }

    pub(crate) fn shape(&self, id: TypeId) -> &Shape {
        self.shapes.get(id.0 as usize).unwrap_or(&Shape::Error)
    }

    fn weight(&self, id: TypeId) -> u32 {
        self.weights.get(id.0 as usize).copied().unwrap_or(1)
    }

    fn binding(&self, variable: u32) -> Option<TypeId> {
        self.bindings.get(variable as usize).copied().flatten()
    }

    fn bind(&mut self, variable: u32, to: TypeId) {
        if let Some(place) = self.bindings.get_mut(variable as usize) {
            self.trail.push((variable, place.replace(to)));
        }
    }

    /// Whether each of `left` fits the one of `right` in its place; what that tells of variables is kept if so.
    pub(crate) fn assignable_all(&mut self, left: &[TypeId], right: &[TypeId]) -> bool {
        self.trail.clear();
        let fits =
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| self.fits(*left, *right));
        if !fits {
            while let Some((variable, before)) = self.trail.pop() {
                if let Some(place) = self.bindings.get_mut(variable as usize) {
                    *place = before;
                }
            }
        }
        fits
    }

    pub(crate) fn assignable(&mut self, left: TypeId, right: TypeId) -> bool {
        self.assignable_all(&[left], &[right])
    }

    fn fits(&mut self, left: TypeId, right: TypeId) -> bool {
        if let Shape::Variable(variable) = *self.shape(right) {
            match self.substitutes(left, right, variable) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if let Shape::Variable(variable) = *self.shape(left) {
            return self.substitutes(right, left, variable).0;
        }
        match (self.shape(left).clone(), self.shape(right).clone()) {
            (Shape::Dyn | Shape::Error, _) | (_, Shape::Dyn | Shape::Error) => true,
            (Shape::Null, other) | (other, Shape::Null) => other.nullable(),
            (Shape::List(left), Shape::List(right)) | (Shape::Optional(left), Shape::Optional(right)) => {
                self.fits(left, right)
            }
            (Shape::Map(left_key, left), Shape::Map(right_key, right)) => {
                self.fits(left_key, right_key) && self.fits(left, right)
            }
            (Shape::Type(_), Shape::Type(_)) => true,
            (left, right) => left == right,
        }
    }

    /// Whether `variable` can stand for `other`, and whether it stood for something already.
    fn substitutes(&mut self, other: TypeId, this: TypeId, variable: u32) -> (bool, bool) {
        if other == this {
            return (true, true);
        }
        if let Some(bound) = self.binding(variable) {
            if other == bound {
                return (true, true);
            }
            if !self.fits(other, bound) {
                return (false, true);
            }
            let general = self.most_general(other, bound);
            if !self.occurs(this, general) {
                self.bind(variable, general);
            }
            return (true, true);
        }
        if self.occurs(this, other) {
            return (false, false);
        }
        self.bind(variable, other);
        (true, false)
    }

    /// Whether `this` is part of `within`, also through what variables stand for.
    fn occurs(&self, this: TypeId, within: TypeId) -> bool {
        if this == within {
            return true;
        }
        match *self.shape(within) {
            Shape::Variable(variable) => self.binding(variable).is_some_and(|bound| self.occurs(this, bound)),
            Shape::List(of) | Shape::Optional(of) | Shape::Type(of) => self.occurs(this, of),
            Shape::Map(key, value) => self.occurs(this, key) || self.occurs(this, value),
            _ => false,
        }
    }

    /// The less specific of two types that fit.
    pub(crate) fn most_general(&self, left: TypeId, right: TypeId) -> TypeId {
        if self.no_more_specific(left, right) { left } else { right }
    }

    fn no_more_specific(&self, left: TypeId, right: TypeId) -> bool {
        match (self.shape(left), self.shape(right)) {
            (Shape::Dyn | Shape::Variable(_), _) | (Shape::Type(_), Shape::Type(_)) => true,
            (_, Shape::Dyn | Shape::Variable(_)) => false,
            (Shape::List(left), Shape::List(right)) | (Shape::Optional(left), Shape::Optional(right)) => {
                self.no_more_specific(*left, *right)
            }
            (Shape::Map(left_key, left), Shape::Map(right_key, right)) => {
                self.no_more_specific(*left_key, *right_key) && self.no_more_specific(*left, *right)
            }
            (left, right) => left == right,
        }
    }

    /// `id` with every variable replaced by what it stands for; by `dyn` when it stands for nothing and `finally`.
    pub(crate) fn substitute(&mut self, id: TypeId, finally: bool) -> TypeId {
        let shape = match *self.shape(id) {
            Shape::Variable(variable) => match self.binding(variable) {
                Some(bound) => return self.substitute(bound, finally),
                None if finally => Shape::Dyn,
                None => return id,
            },
            Shape::List(of) => Shape::List(self.substitute(of, finally)),
            Shape::Optional(of) => Shape::Optional(self.substitute(of, finally)),
            Shape::Type(of) => Shape::Type(self.substitute(of, finally)),
            Shape::Map(key, value) => {
                Shape::Map(self.substitute(key, finally), self.substitute(value, finally))
            }
            _ => return id,
        };
        self.id(shape)
    }

    /// The type as a person reads it.
    pub(crate) fn name(&self, id: TypeId) -> String {
        let mut out = String::new();
        self.write(id, &mut out);
        out
    }

    fn write(&self, id: TypeId, out: &mut String) {
        let of = |name: &str, of: TypeId, out: &mut String| {
            out.push_str(name);
            out.push('(');
            self.write(of, out);
            out.push(')');
        };
        match self.shape(id) {
            Shape::List(element) => of("list", *element, out),
            Shape::Optional(value) => of("optional_type", *value, out),
            Shape::Type(value) => of("type", *value, out),
            Shape::Map(key, value) => {
                out.push_str("map(");
                self.write(*key, out);
                out.push_str(", ");
                self.write(*value, out);
                out.push(')');
            }
            Shape::Object(name) => out.push_str(name),
            Shape::Opaque(name) => out.push_str(name),
            Shape::Variable(number) => {
                // Writing to a string does not fail.
                let _ = write!(out, "_var{number}");
            }
            simple => out.push_str(simple.simple_name()),
        }
    }
}

impl Shape {
    fn nullable(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Opaque(_)
                | Self::Object(_)
                | Self::Optional(_)
                | Self::Duration
                | Self::Timestamp
        )
    }

    fn simple_name(&self) -> &'static str {
        match self {
            Self::Dyn => "dyn",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            _ => "!error!",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, Types};

    #[test]
    fn a_variable_takes_the_most_general_type_it_meets() {
        let mut types = Types::default();
        let (dyn_type, int) = (types.id(Shape::Dyn), types.id(Shape::Int));
        let (variable, string) = (types.variable(), types.id(Shape::String));
        assert!(types.assignable(int, variable));
        assert_eq!(types.substitute(variable, false), int);
        assert!(!types.assignable(string, variable), "an int stays an int");
        assert!(types.assignable(dyn_type, variable));
        assert_eq!(types.substitute(variable, false), dyn_type);
    }

    #[test]
    fn a_failed_attempt_leaves_no_trace() {
        let mut types = Types::default();
        let (int, string) = (types.id(Shape::Int), types.id(Shape::String));
        let variable = types.variable();
        assert!(!types.assignable_all(&[int, int], &[variable, string]));
        assert_eq!(types.substitute(variable, false), variable);
    }

    #[test]
    fn null_fits_what_may_be_absent_only() {
        let mut types = Types::default();
        let (null, int) = (types.id(Shape::Null), types.id(Shape::Int));
        let (list, ip) = (types.id(Shape::List(int)), types.id(Shape::Opaque("net.IP")));
        let time = types.id(Shape::Timestamp);
        assert!(!types.assignable(null, int) && !types.assignable(list, null));
        assert!(types.assignable(null, ip) && types.assignable(time, null) && types.assignable(null, null));
    }

    #[test]
    fn no_type_contains_itself() {
        let mut types = Types::default();
        let variable = types.variable();
        let list = types.id(Shape::List(variable));
        assert!(!types.assignable(list, variable));
    }
}
