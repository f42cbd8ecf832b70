//! A document taken apart as far as a patch reaches into it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{MAXIMUM_DEPTH, same_scalar};

/// An object, or a list, since a patch may replace one by the other.
#[derive(Debug)]
pub(super) struct Document(Node);

/// A value, whole until a path leads into it. A `null` that the object has is another thing than one that a patch
/// wrote, which is `Whole`.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Null,
    Whole(Value),
    Object(BTreeMap<String, Node>),
    List(Vec<Node>),
}

/// A key or index in what holds it.
#[derive(Debug)]
pub(super) struct Place<'a> {
    holder: &'a mut Node,
    pub(super) key: String,
    /// Containers around it.
    depth: usize,
}

impl Document {
    pub(super) fn of(value: Value) -> Self {
        let mut root = Node::Whole(value);
        root.open();
        Self(root)
    }

    pub(super) fn root(&self) -> &Node {
        &self.0
    }

    pub(super) fn into_value(self) -> Value {
        self.0.into_value()
    }

    /// The place that a pointer names, if everything around it is there.
    pub(super) fn find(&mut self, pointer: &str) -> Option<Place<'_>> {
        let (_, names) = pointer.split_once('/')?;
        let mut holder = &mut self.0;
        let mut depth = 1;
        let mut names = names.split('/').map(unescape).peekable();
        while let Some(key) = names.next() {
            if names.peek().is_none() {
                return Some(Place { holder, key, depth });
            }
            holder = match holder {
                Node::Object(fields) => fields.get_mut(&key)?,
                Node::List(items) => {
                    let index = index(&key, items.len()).ok()?;
                    items.get_mut(index)?
                }
                Node::Null | Node::Whole(_) => return None,
            };
            holder.open();
            // What a patch wrote as `null` is read as an empty object.
            if !matches!(holder, Node::Object(_) | Node::List(_) | Node::Whole(Value::Null)) {
                return None;
            }
            depth += 1;
        }
        None
    }
}

impl Node {
    /// What a patch writes; no value is `null`.
    pub(super) fn of(value: Option<Value>) -> Self {
        value.map_or(Self::Null, Self::Whole)
    }

    /// What lies inside another value.
    fn inner(value: Value) -> Self {
        if value.is_null() { Self::Null } else { Self::Whole(value) }
    }

    fn open(&mut self) {
        match self {
            Self::Whole(Value::Object(fields)) => {
                let fields = std::mem::take(fields);
                *self =
                    Self::Object(fields.into_iter().map(|(key, value)| (key, Self::inner(value))).collect());
            }
            Self::Whole(Value::Array(items)) => {
                let items = std::mem::take(items);
                *self = Self::List(items.into_iter().map(Self::inner).collect());
            }
            _ => {}
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Whole(value) => value,
            Self::Object(fields) => {
                Value::Object(fields.into_iter().map(|(key, node)| (key, node.into_value())).collect())
            }
            Self::List(items) => Value::Array(items.into_iter().map(Self::into_value).collect()),
        }
    }

    /// How many bytes it takes when written.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Null => 4,
            // A value always has a form in JSON.
            Self::Whole(value) => serde_json::to_string(value).map_or(0, |text| text.len()),
            Self::Object(fields) => {
                let quoted = |key: &String| serde_json::to_string(key).map_or(0, |text| text.len());
                let entries = fields.iter().map(|(key, node)| quoted(key) + 2 + node.length());
                (1 + entries.sum::<usize>()).max(2)
            }
            Self::List(items) => (1 + items.iter().map(|node| 1 + node.length()).sum::<usize>()).max(2),
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Whole(value) => depth(value),
            Self::Object(fields) => 1 + fields.values().map(Self::depth).max().unwrap_or(0),
            Self::List(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
        }
    }

    /// Whether a `test` for `expected` holds here.
    pub(super) fn equals(&self, expected: &Value) -> bool {
        match (self, expected) {
            (Self::Null, expected) => expected.is_null(),
            // Read as an object or a list, `null` is an empty one.
            (Self::Whole(Value::Null), Value::Object(fields)) => fields.is_empty(),
            (Self::Whole(Value::Object(fields)), Value::Null) => fields.is_empty(),
            (Self::Whole(Value::Array(items)), Value::Null) => items.is_empty(),
            (Self::Object(fields), Value::Null) => fields.is_empty(),
            (Self::List(items), Value::Null) => items.is_empty(),
            (Self::Whole(value), expected) => same(value, expected),
            (Self::Object(fields), Value::Object(expected)) => {
                fields.len() == expected.len()
                    && fields
                        .iter()
                        .all(|(key, node)| expected.get(key).is_some_and(|other| node.within(other)))
            }
            (Self::List(items), Value::Array(expected)) => {
                items.len() == expected.len()
                    && items.iter().zip(expected).all(|(node, other)| node.within(other))
            }
            _ => false,
        }
    }

    /// The same for what lies inside another value.
    fn within(&self, expected: &Value) -> bool {
        matches!(self, Self::Null) == expected.is_null() && self.equals(expected)
    }
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(value, other)| same(value, other))
        }
        _ => same_scalar(left, right),
    }
}

/// Containers within containers of a value, which is itself one of a bounded depth.
fn depth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

impl Place<'_> {
    /// What is there; nothing if it is a missing key.
    pub(super) fn get(&self) -> Result<Option<&Node>, String> {
        match &*self.holder {
            Node::List(items) => {
                let index = index(&self.key, items.len())?;
                items.get(index).map(Some).ok_or_else(|| out_of_range(&self.key))
            }
            Node::Object(fields) => Ok(fields.get(&self.key)),
            Node::Null | Node::Whole(_) => Ok(None),
        }
    }

    /// Takes out what is there.
    pub(super) fn take(&mut self) -> Result<Node, String> {
        match self.holder {
            Node::List(items) => {
                let index = index(&self.key, items.len())?;
                if index >= items.len() {
                    return Err(out_of_range(&self.key));
                }
                Ok(items.remove(index))
            }
            Node::Object(fields) => fields.remove(&self.key).ok_or_else(|| nonexistent(&self.key)),
            Node::Null | Node::Whole(_) => Err(nonexistent(&self.key)),
        }
    }

    /// Puts something in; in a list, before what is there.
    pub(super) fn add(&mut self, node: Node) -> Result<(), String> {
        self.bound(&node)?;
        match self.holder {
            Node::List(items) if self.key == "-" => items.push(node),
            Node::List(items) => {
                let wrong = |why| format!("value was not a proper array index: '{}': {why}", self.key);
                number(&self.key).map_err(wrong)?;
                // Behind the last item is a place too, and counted from the end it is the first.
                let index = index(&self.key, items.len() + 1)?;
                if index > items.len() {
                    return Err(out_of_range(&self.key));
                }
                items.insert(index, node);
            }
            Node::Object(fields) => {
                fields.insert(std::mem::take(&mut self.key), node);
            }
            Node::Null | Node::Whole(_) => return Err("missing value".to_owned()),
        }
        Ok(())
    }

    /// Puts something in the place of what is there.
    pub(super) fn set(&mut self, node: Node) -> Result<(), String> {
        let Node::List(items) = self.holder else { return self.add(node) };
        let index = index(&self.key, items.len())?;
        let item = items.get_mut(index).ok_or_else(|| out_of_range(&self.key))?;
        *item = node;
        Ok(())
    }

    fn bound(&self, node: &Node) -> Result<(), String> {
        if self.depth + node.depth() > MAXIMUM_DEPTH {
            return Err(format!("the object would nest more than {MAXIMUM_DEPTH} levels deep"));
        }
        Ok(())
    }
}

/// The index that a text names in a list of that length; a negative one counts from the end.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let number = number(key)?;
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let index = if number < 0 { number.checked_add(length) } else { Some(number) };
    index.and_then(|index| usize::try_from(index).ok()).ok_or_else(|| out_of_range(key))
}

fn number(key: &str) -> Result<i64, String> {
    key.parse().map_err(|_| {
        let digits = key.strip_prefix(['+', '-']).unwrap_or(key);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let why = if is_number { "value out of range" } else { "invalid syntax" };
        format!("strconv.Atoi: parsing \"{key}\": {why}")
    })
}

fn nonexistent(key: &str) -> String {
    format!("Unable to remove nonexistent key: {key}: missing value")
}

fn out_of_range(key: &str) -> String {
    let number = key.parse::<i64>().unwrap_or_default();
    format!("Unable to access invalid index: {number}: invalid index referenced")
}

fn unescape(name: &str) -> String {
    // One pass: `~01` is `~1`, not `/`.
    let mut text = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('~') {
        text.push_str(before);
        let (letter, end) = match after.as_bytes().first() {
            Some(b'1') => ('/', 1),
            Some(b'0') => ('~', 1),
            _ => ('~', 0),
        };
        text.push(letter);
        rest = after.get(end..).unwrap_or_default();
    }
    text + rest
}
