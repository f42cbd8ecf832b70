//! Values: borrowed from the documents and the program where they can be, shared where they are made.

mod equal;
mod list;
mod map;
mod object;
mod opaque;
mod order;
mod show;

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

pub(crate) use equal::{Equality, equal};
pub use list::List;
pub(crate) use map::Made;
pub use map::Map;
pub use object::Object;
pub(crate) use opaque::Opaque;
pub(crate) use order::{compare, double_to_int, double_to_uint};
pub(crate) use show::{civil, double_text, duration_text, timestamp_text};

use super::tree::{Item, Node, Tree};

/// Containers within containers that an expression may build itself.
pub(crate) const MAXIMUM_DEPTH: u32 = 600;

/// A value of the language. An error is one too: `||` and `&&` go on past it.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating-point number.
    Double(f64),
    /// Text.
    String(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A length of time in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// A list.
    List(List<'a>),
    /// A map.
    Map(Map<'a>),
    /// A type, by name.
    Type(Arc<str>),
    /// A value that may be absent.
    Optional(Option<Arc<Value<'a>>>),
    /// An address, network, quantity, version, URL or format.
    Opaque(OpaqueValue),
    /// A message that an expression made.
    Object(Arc<Object<'a>>),
    /// The variables of the policy, which are evaluated when they are looked at.
    Variables,
    /// What went wrong.
    Error(Arc<str>),
}

/// A value of one of Kubernetes' own types.
#[derive(Clone, Debug)]
pub struct OpaqueValue(pub(crate) Arc<Opaque>);

/// A point in time.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    /// Since 1970.
    pub(crate) seconds: i64,
    /// After that second.
    pub(crate) nanoseconds: u32,
    /// Seconds east of Greenwich it was written with; it shows only when written out again.
    pub(crate) offset: i32,
}

impl Timestamp {
    fn instant(self) -> (i64, u32) {
        (self.seconds, self.nanoseconds)
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.instant() == other.instant()
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.instant().cmp(&other.instant())
    }
}

/// Text, borrowed or shared.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// Part of a document or of the program.
    Borrowed(&'a str),
    /// Made while evaluating.
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl<'a> Value<'a> {
    /// The root of a document.
    #[must_use]
    pub fn of(tree: &'a Tree<'a>) -> Self {
        tree.root().map_or(Self::Null, |node| Self::node(tree, node))
    }

    pub(crate) fn node(tree: &'a Tree<'a>, node: &'a Node<'a>) -> Self {
        match &node.item {
            Item::Null => Self::Null,
            Item::Bool(value) => Self::Bool(*value),
            Item::Int(value) => Self::Int(*value),
            Item::Double(value) => Self::Double(*value),
            Item::String(text) => Self::String(Text::Borrowed(text)),
            Item::List(children) => Self::List(List::document(tree, *children)),
            Item::Map(children) => Self::Map(Map::document(tree, *children)),
            Item::Late(late) => late.tree().map_or_else(|| Self::error("number out of range"), Self::of),
        }
    }

    /// The value without counting references, for as long as what holds it is borrowed.
    pub(crate) fn borrowed(&'a self) -> Self {
        match self {
            Self::String(text) => Self::String(Text::Borrowed(text)),
            Self::List(list) => Self::List(list.borrowed()),
            Self::Map(map) => Self::Map(map.borrowed()),
            other => other.clone(),
        }
    }

    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    pub(crate) fn error(message: impl Into<Arc<str>>) -> Self {
        Self::Error(message.into())
    }

    pub(crate) fn opaque(value: Opaque) -> Self {
        Self::Opaque(OpaqueValue(Arc::new(value)))
    }

    pub(crate) fn some(value: Self) -> Self {
        if value.depth() >= MAXIMUM_DEPTH {
            return too_deep();
        }
        Self::Optional(Some(Arc::new(value)))
    }

    /// The value as it is once read through a name or chosen by a condition. Kubernetes takes an optional apart there
    /// and makes it anew from the bare value, and what has no bare value it knows is lost.
    pub(crate) fn reread(self) -> Self {
        let Self::Optional(Some(value)) = &self else { return self };
        match &**value {
            Self::Optional(_) => {
                let mut inner = value;
                loop {
                    match &**inner {
                        Self::Optional(Some(next)) => inner = next,
                        Self::Optional(None) => return Self::Optional(Some(Arc::new(Self::Null))),
                        _ => return Self::Optional(Some(Arc::clone(inner))).reread(),
                    }
                }
            }
            Self::Type(name) => Self::Optional(Some(Arc::new(Self::text(Arc::clone(name))))),
            Self::Opaque(value) if !matches!(*value.0, Opaque::Format(_)) => {
                Self::Optional(Some(Arc::new(Self::error("unsupported conversion to ref.Val"))))
            }
            _ => self,
        }
    }

    pub(crate) fn into_result(self) -> Result<Self, String> {
        match self {
            Self::Error(message) => Err(message.to_string()),
            value => Ok(value),
        }
    }

    pub(crate) fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }

    /// How many containers built while evaluating are nested in this one; those of documents count as none, since
    /// they are dropped without recursion.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Self::List(list) => list.depth(),
            Self::Map(map) => map.depth(),
            Self::Object(object) => object.depth(),
            Self::Optional(Some(value)) => value.depth() + 1,
            _ => 0,
        }
    }

    /// The name of the value's type.
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Opaque(value) => value.0.type_name(),
            Self::Object(object) => object.name(),
            Self::Variables => crate::cel::compose::TYPE,
            Self::Error(_) => "error",
        }
    }

    /// The name of what holds it in Kubernetes, which some of its errors tell.
    pub(crate) fn go_name(&self) -> &'static str {
        match self {
            Self::Null => "types.Null",
            Self::Bool(_) => "types.Bool",
            Self::Int(_) => "types.Int",
            Self::Uint(_) => "types.Uint",
            Self::Double(_) => "types.Double",
            Self::String(_) => "types.String",
            Self::Bytes(_) => "types.Bytes",
            Self::Duration(_) => "types.Duration",
            Self::Timestamp(_) => "types.Timestamp",
            Self::List(list) if list.is_document() => "[]interface {}",
            Self::List(_) => "*types.baseList",
            Self::Map(map) if map.is_document() => "map[string]interface {}",
            Self::Map(_) => "*types.baseMap",
            Self::Type(_) => "*types.Type",
            Self::Optional(_) => "*types.Optional",
            Self::Opaque(value) => value.0.go_name(),
            Self::Object(_) => "*dynamic.ObjectVal",
            Self::Variables => "*lazy.MapValue",
            Self::Error(_) => "*types.Err",
        }
    }

    /// How long a text is, or bytes are; nothing else is read byte by byte.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::String(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// What its traversal is charged for: characters, bytes, elements or entries; 1 of anything else.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::String(text) => characters(text) as u64,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            Self::Optional(Some(value)) => value.size(),
            Self::Opaque(value) => value.0.size(),
            _ => 1,
        }
    }
}

/// The number of characters of a text.
pub(crate) fn characters(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

pub(crate) fn too_deep<'a>() -> Value<'a> {
    Value::error("value is nested too deeply")
}
