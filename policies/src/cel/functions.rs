//! Every function and operator, one file for each library; each says what it takes, what it gives and does it.

mod arithmetic;
pub(crate) mod cidr;
mod collections;
mod comparison;
pub(crate) mod conversions;
mod dates;
pub(crate) mod format;
pub(crate) mod formats;
pub(crate) mod ip;
mod lists;
mod optionals;
pub(crate) mod quantity;
mod quoted;
pub(crate) mod regex;
pub(crate) mod semver;
mod sets;
mod strings;
pub(crate) mod unfit;
pub(crate) mod urls;

use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) use self::collections::inserted_all;
use self::regex::Pattern;
use super::cost::Meter;
use super::types::{Shape, TypeId, Types};
use super::value::Value;

/// What a function may use besides its arguments.
pub(crate) struct Scene<'s> {
    pub(crate) meter: &'s mut Meter,
    /// The compiled pattern, when it is written in the expression.
    pub(crate) pattern: Option<&'s Pattern>,
}

/// Computes a call whose arguments are no errors.
pub(crate) type Implementation = for<'a> fn(&mut Scene<'_>, &[Value<'a>]) -> Value<'a>;

/// A function as its library declares it.
pub(crate) struct Declaration {
    name: &'static str,
    /// Identity, signature such as `string.(int): string`, and implementation.
    overloads: &'static [(&'static str, &'static str, Implementation)],
    /// One implementation serves all overloads, so arguments are computed all before any is looked at.
    single: bool,
}

/// A function with all its overloads, from all libraries.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
    pub(crate) single: bool,
}

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) member: bool,
    pub(crate) arguments: Vec<Template>,
    pub(crate) result: Template,
    pub(crate) call: Implementation,
}

/// A type in a signature, which may have parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Template {
    Simple(Shape),
    List(Box<Template>),
    Map(Box<Template>, Box<Template>),
    Optional(Box<Template>),
    Type(Box<Template>),
    Parameter(usize),
}

/// The libraries, in the order in which Kubernetes adds them.
const LIBRARIES: [&[Declaration]; 17] = [
    arithmetic::FUNCTIONS,
    comparison::FUNCTIONS,
    collections::FUNCTIONS,
    conversions::FUNCTIONS,
    lists::FUNCTIONS,
    strings::FUNCTIONS,
    optionals::FUNCTIONS,
    regex::FUNCTIONS,
    format::FUNCTIONS,
    formats::FUNCTIONS,
    urls::FUNCTIONS,
    dates::FUNCTIONS,
    sets::FUNCTIONS,
    quantity::FUNCTIONS,
    semver::FUNCTIONS,
    ip::FUNCTIONS,
    cidr::FUNCTIONS,
];

static TABLE: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Function> = HashMap::new();
    for declaration in LIBRARIES.iter().copied().flatten() {
        let function = table.entry(declaration.name).or_insert_with(|| Function {
            name: declaration.name,
            overloads: Vec::new(),
            single: declaration.single,
        });
        for (id, signature, call) in declaration.overloads {
            if let Some((member, arguments, result)) = signature_of(signature) {
                function.overloads.push(Overload { id, member, arguments, result, call: *call });
            }
        }
    }
    table
});

/// The function of this name.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    TABLE.get(name)
}

impl Function {
    /// Calls the first overload that takes values of these kinds, if one does; used when types left more than one.
    pub(crate) fn dispatch<'a>(
        &self,
        member: bool,
        scene: &mut Scene<'_>,
        arguments: &[Value<'a>],
    ) -> Option<Value<'a>> {
        let overload = self.overloads.iter().find(|overload| {
            overload.member == member
                && overload.arguments.len() == arguments.len()
                && overload.takes(arguments)
        });
        // An implementation that serves all overloads says itself what it does not take.
        let overload = overload.or_else(|| self.overloads.first().filter(|_| self.single));
        overload.map(|overload| (overload.call)(scene, arguments))
    }
}

impl Overload {
    /// Whether the values are of the kinds it is declared for.
    pub(crate) fn takes(&self, arguments: &[Value<'_>]) -> bool {
        self.arguments.iter().zip(arguments).all(|(template, value)| template.takes(value))
    }
}

/// The error of a call whose arguments no overload takes.
pub(crate) fn no_such_overload<'a>() -> Value<'a> {
    Value::error(NO_SUCH_OVERLOAD)
}

const NO_SUCH_OVERLOAD: &str = "no such overload";

impl Template {
    /// The type it stands for, with `parameters` in the place of its own.
    pub(crate) fn instance(&self, types: &mut Types, parameters: &[TypeId]) -> TypeId {
        let shape = match self {
            Self::Simple(shape) => shape.clone(),
            Self::Parameter(number) => match parameters.get(*number) {
                Some(parameter) => return *parameter,
                None => Shape::Dyn,
            },
            Self::List(of) => Shape::List(of.instance(types, parameters)),
            Self::Optional(of) => Shape::Optional(of.instance(types, parameters)),
            Self::Type(of) => Shape::Type(of.instance(types, parameters)),
            Self::Map(key, value) => {
                Shape::Map(key.instance(types, parameters), value.instance(types, parameters))
            }
        };
        types.id(shape)
    }

    /// Whether a value is of this type; of a container, the first part tells.
    pub(crate) fn takes(&self, value: &Value<'_>) -> bool {
        match self {
            Self::Parameter(_) | Self::Simple(Shape::Dyn) => true,
            Self::List(of) => match value {
                Value::List(list) => list.get(0).is_none_or(|first| of.takes(&first)),
                _ => false,
            },
            Self::Map(key, of) => match value {
                Value::Map(map) => {
                    map.entry(0).is_none_or(|(first, value)| key.takes(&first) && of.takes(&value))
                }
                _ => false,
            },
            Self::Optional(_) => matches!(value, Value::Optional(_)),
            Self::Type(_) => matches!(value, Value::Type(_)),
            Self::Simple(shape) => match shape {
                Shape::Bool => matches!(value, Value::Bool(_)),
                Shape::Int => matches!(value, Value::Int(_)),
                Shape::Uint => matches!(value, Value::Uint(_)),
                Shape::Double => matches!(value, Value::Double(_)),
                Shape::String => matches!(value, Value::String(_)),
                Shape::Bytes => matches!(value, Value::Bytes(_)),
                Shape::Duration => matches!(value, Value::Duration(_)),
                Shape::Timestamp => matches!(value, Value::Timestamp(_)),
                Shape::Opaque(name) => value.type_name() == *name,
                Shape::Object(name) => value.type_name() == &**name,
                _ => false,
            },
        }
    }
}

/// Reads a signature: whether it is called on its first argument, all arguments, and the result.
fn signature_of(text: &str) -> Option<(bool, Vec<Template>, Template)> {
    let (arguments, result) = text.split_once("): ")?;
    let (target, rest) = match arguments.strip_prefix('(') {
        Some(rest) => (None, rest),
        None => {
            let (target, rest) = arguments.split_once(".(")?;
            (Some(template_of(target)?), rest)
        }
    };
    let mut all = Vec::new();
    let member = target.is_some();
    all.extend(target);
    for part in split(rest) {
        all.push(template_of(part)?);
    }
    Some((member, all, template_of(result)?))
}

/// The parts of a list that no parentheses enclose.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let mut parts: Vec<&str> = text
        .split(|character| {
            match character {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' => return depth == 0,
                _ => {}
            }
            false
        })
        .map(str::trim)
        .collect();
    parts.retain(|part| !part.is_empty());
    parts
}

fn template_of(text: &str) -> Option<Template> {
    if let Some((name, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let parts = split(inner);
        return match (name, parts.as_slice()) {
            ("list", [of]) => Some(Template::List(Box::new(template_of(of)?))),
            ("map", [key, value]) => {
                Some(Template::Map(Box::new(template_of(key)?), Box::new(template_of(value)?)))
            }
            ("optional", [of]) => Some(Template::Optional(Box::new(template_of(of)?))),
            ("type", [of]) => Some(Template::Type(Box::new(template_of(of)?))),
            _ => None,
        };
    }
    Some(Template::Simple(match text {
        "A" => return Some(Template::Parameter(0)),
        "B" => return Some(Template::Parameter(1)),
        "dyn" => Shape::Dyn,
        "bool" => Shape::Bool,
        "int" => Shape::Int,
        "uint" => Shape::Uint,
        "double" => Shape::Double,
        "string" => Shape::String,
        "bytes" => Shape::Bytes,
        "duration" => Shape::Duration,
        "timestamp" => Shape::Timestamp,
        "net.IP" => Shape::Opaque("net.IP"),
        "net.CIDR" => Shape::Opaque("net.CIDR"),
        name if name.starts_with("kubernetes.") => Shape::Object(name.into()),
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::{LIBRARIES, Shape, Template, signature_of};

    #[test]
    fn every_signature_is_understood() {
        for declaration in LIBRARIES.iter().copied().flatten() {
            for (id, signature, _) in declaration.overloads {
                assert!(signature_of(signature).is_some(), "{} {id}: {signature}", declaration.name);
            }
        }
    }

    #[test]
    fn signatures_have_targets_arguments_and_results() {
        let (member, arguments, result) = signature_of("map(A, list(B)).(int, A): optional(B)").unwrap();
        assert!(member);
        assert_eq!(arguments.len(), 3);
        assert_eq!(arguments[1], Template::Simple(Shape::Int));
        assert_eq!(result, Template::Optional(Box::new(Template::Parameter(1))));
        let (member, arguments, _) = signature_of("(): bool").unwrap();
        assert!(!member && arguments.is_empty());
    }
}
