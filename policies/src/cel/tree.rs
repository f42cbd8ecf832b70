//! A JSON document parsed once into flat memory, from which values are borrowed without conversion.

mod index;
mod late;
mod read;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use index::{FEW, Index};
pub(crate) use late::Late;
use read::Reader;

/// Why a text is no JSON document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The byte at which reading stopped.
    pub offset: usize,
    /// What is wrong there.
    pub message: &'static str,
}

/// A parsed document. Strings are borrowed from the text unless they hold escapes.
#[derive(Debug)]
pub struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    index: Index,
}

/// One value of a document, and the key it is found under if it is part of an object.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) key: Cow<'a, str>,
    pub(crate) item: Item<'a>,
}

/// A value of a document.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    Null,
    Bool(bool),
    /// A number without fraction and exponent that fits.
    Int(i64),
    Double(f64),
    String(Cow<'a, str>),
    List(Children),
    Map(Children),
    /// Something that hardly anybody looks at, and that is read when somebody does.
    Late(Box<Late<'a>>),
}

/// The place of a container's children, which lie side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Children {
    start: u32,
    length: u32,
}

impl Children {
    pub(crate) fn len(self) -> usize {
        self.length as usize
    }
}

/// Containers within containers; more is refused, as Kubernetes' decoder refuses it.
const MAXIMUM_DEPTH: usize = 10_000;

impl<'a> Tree<'a> {
    /// Parses `text` in one pass, without recursion.
    ///
    /// # Errors
    ///
    /// When `text` is not one JSON value, or nests too deeply.
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        Self::parse_knowing(text, &[], |_| None)
    }

    /// Parses like [`Tree::parse`]; the values under those keys of the outermost object that are replaced are passed
    /// unread. What is passed or read later, and is one of these known parts of `text`, is passed without looking for
    /// its end.
    ///
    /// # Errors
    ///
    /// As [`Tree::parse`]; what is passed is not checked.
    pub(crate) fn parse_knowing(
        text: &'a str,
        known: &[Option<&str>],
        replaced: impl Fn(&str) -> Option<Item<'a>>,
    ) -> Result<Self, Malformed> {
        let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, known };
        // What is passed makes no nodes, and about so many bytes make one.
        let passed: usize = known.iter().flatten().map(|part| part.len()).sum();
        let nodes = text.len().saturating_sub(passed) / 24 + 8;
        let mut building = Building {
            done: Vec::with_capacity(nodes),
            pending: Vec::with_capacity(32),
            open: Vec::with_capacity(8),
            index: Index::default(),
        };
        loop {
            // One value, or the end of a container that has none left.
            reader.blank();
            let byte = reader.byte();
            let closes = building.open.last().is_some_and(|open| open.closes_empty(byte, &building.pending));
            if closes {
                reader.at += 1;
                building.close();
            } else {
                let key = match building.open.last() {
                    Some(Open { map: true, .. }) => reader.key()?,
                    _ => Cow::Borrowed(""),
                };
                reader.blank();
                let replacement = if building.open.len() == 1 { replaced(&key) } else { None };
                match (reader.byte(), replacement) {
                    (_, Some(item)) => {
                        reader.pass();
                        building.pending.push(Node { key, item });
                    }
                    (b'[', None) if building.open.len() == 2 && key == late::FIELD => match reader.late() {
                        Some(late) => building.pending.push(Node { key, item: Item::Late(Box::new(late)) }),
                        None => {
                            reader.at += 1;
                            building.open.push(Open { map: false, start: building.pending.len(), key });
                            continue;
                        }
                    },
                    (open @ (b'{' | b'['), None) => {
                        if building.open.len() >= MAXIMUM_DEPTH {
                            return Err(reader.wrong("nested too deeply"));
                        }
                        reader.at += 1;
                        building.open.push(Open { map: open == b'{', start: building.pending.len(), key });
                        continue;
                    }
                    _ => {
                        let item = reader.scalar()?;
                        building.pending.push(Node { key, item });
                    }
                }
            }
            // What follows a value: a comma, or the ends of containers.
            loop {
                reader.blank();
                let Some(open) = building.open.last() else {
                    if reader.at < reader.bytes.len() {
                        return Err(reader.wrong("trailing characters"));
                    }
                    building.done.append(&mut building.pending);
                    return Ok(Self { nodes: building.done, index: building.index });
                };
                match (reader.byte(), open.map) {
                    (b',', _) => {
                        reader.at += 1;
                        reader.blank();
                        if matches!(reader.byte(), b']' | b'}') {
                            return Err(reader.wrong("a value is missing"));
                        }
                        break;
                    }
                    (b'}', true) | (b']', false) => {
                        reader.at += 1;
                        building.close();
                    }
                    _ => return Err(reader.wrong("expected a comma or the end of the container")),
                }
            }
        }
    }

    /// The same document, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> Tree<'static> {
        let owned = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        let nodes = self.nodes.into_iter().map(|node| Node {
            key: owned(node.key),
            item: match node.item {
                Item::Null => Item::Null,
                Item::Bool(value) => Item::Bool(value),
                Item::Int(value) => Item::Int(value),
                Item::Double(value) => Item::Double(value),
                Item::String(text) => Item::String(owned(text)),
                Item::List(children) => Item::List(children),
                Item::Map(children) => Item::Map(children),
                Item::Late(late) => Item::Late(Box::new(late.into_owned())),
            },
        });
        Tree { nodes: nodes.collect(), index: self.index }
    }

    pub(crate) fn root(&self) -> Option<&Node<'a>> {
        self.nodes.last()
    }

    /// How many lists and objects it has.
    pub(crate) fn containers(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node.item, Item::List(_) | Item::Map(_))).count()
    }

    pub(crate) fn children(&self, of: Children) -> &[Node<'a>] {
        let start = of.start as usize;
        self.nodes.get(start..start + of.len()).unwrap_or_default()
    }

    pub(crate) fn find(&self, of: Children, key: &str) -> Option<&Node<'a>> {
        let entries = self.children(of);
        if entries.len() > FEW {
            return self.index.find(of.start, entries, key);
        }
        entries.iter().find(|node| node.key == key)
    }
}

/// A container whose end has not been seen; its children are pending from `start` on.
struct Open<'a> {
    map: bool,
    start: usize,
    key: Cow<'a, str>,
}

impl Open<'_> {
    fn closes_empty(&self, byte: u8, pending: &[Node<'_>]) -> bool {
        self.start == pending.len() && byte == if self.map { b'}' } else { b']' }
    }
}

struct Building<'a> {
    done: Vec<Node<'a>>,
    pending: Vec<Node<'a>>,
    open: Vec<Open<'a>>,
    index: Index,
}

impl Building<'_> {
    /// Moves the children of the innermost container side by side, and makes the container itself pending.
    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        if open.map {
            self.last_of_each_key(open.start);
        }
        let start = self.done.len();
        self.done.extend(self.pending.drain(open.start..));
        let children = Children {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            length: u32::try_from(self.done.len() - start).unwrap_or(u32::MAX),
        };
        if open.map && children.len() > FEW {
            let hashed = self.index.hashed(self.done.get(start..).unwrap_or_default());
            self.index.add(children.start, hashed);
        }
        let item = if open.map { Item::Map(children) } else { Item::List(children) };
        self.pending.push(Node { key: open.key, item });
    }

    /// Of equal keys the last one counts.
    fn last_of_each_key(&mut self, start: usize) {
        let entries = self.pending.get(start..).unwrap_or_default();
        let repeated = if entries.len() <= FEW {
            let mut seen = 0_u64;
            entries.iter().enumerate().any(|(at, entry)| {
                // Keys of other sketches are other keys, and that is almost all of them.
                let bit = 1 << (sketch(&entry.key) % 64);
                let may_be_seen = seen & bit != 0;
                seen |= bit;
                may_be_seen
                    && entries.get(..at).unwrap_or_default().iter().any(|before| before.key == entry.key)
            })
        } else {
            let keys: HashSet<&str, RandomState> = entries.iter().map(|entry| entry.key.as_ref()).collect();
            keys.len() != entries.len()
        };
        if !repeated {
            return;
        }
        let mut kept: Vec<Node<'_>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for node in self.pending.drain(start..) {
            let place = places.get(node.key.as_ref()).copied();
            match place.and_then(|place| kept.get_mut(place)) {
                Some(earlier) => *earlier = node,
                None => {
                    places.insert(node.key.as_ref().to_owned(), kept.len());
                    kept.push(node);
                }
            }
        }
        self.pending.append(&mut kept);
    }
}

/// A number that is the same for equal keys, and seldom for others: of their length and their last bytes.
fn sketch(key: &str) -> u64 {
    let bytes = key.as_bytes();
    let last = bytes.last_chunk::<4>().map_or_else(
        || bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
        |last| u32::from_le_bytes(*last),
    );
    (u64::from(last) ^ (bytes.len() as u64) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

#[cfg(test)]
mod tests {
    use super::{Cow, Item, Node, Tree};

    /// The document written back, without blanks.
    fn written(tree: &Tree<'_>, node: &Node<'_>) -> String {
        match &node.item {
            Item::Null => "null".to_owned(),
            Item::Bool(value) => value.to_string(),
            Item::Int(value) => value.to_string(),
            Item::Double(value) => format!("{value:?}"),
            Item::String(value) => format!("{value:?}"),
            Item::Late(late) => {
                let tree = late.tree().unwrap();
                written(tree, tree.root().unwrap())
            }
            Item::List(of) => {
                let items: Vec<_> = tree.children(*of).iter().map(|node| written(tree, node)).collect();
                format!("[{}]", items.join(","))
            }
            Item::Map(of) => {
                let entry = |node: &Node<'_>| format!("{:?}:{}", node.key, written(tree, node));
                let entries: Vec<_> = tree.children(*of).iter().map(entry).collect();
                format!("{{{}}}", entries.join(","))
            }
        }
    }

    #[test]
    fn documents_are_read() {
        for (text, expected) in [
            ("null", "null"),
            (" [ ] ", "[]"),
            ("{}", "{}"),
            (r#"{"a":[1,{"b":true}],"c":"x"}"#, r#"{"a":[1,{"b":true}],"c":"x"}"#),
            (r#"[[1,2],[3],[]]"#, "[[1,2],[3],[]]"),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (
                "[1.0, 1e2, -0, 9223372036854775807, 9223372036854775808]",
                "[1.0,100.0,0,9223372036854775807,9.223372036854776e18]",
            ),
            (r#""a\n\u00e9\ud83d\ude00\ud800""#, "\"a\\né😀\u{fffd}\""),
        ] {
            let tree = Tree::parse(text).expect(text);
            assert_eq!(written(&tree, tree.root().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn parts_can_be_passed_unread() {
        let text = r#"{"a":{"b":["}",1]},"c":"\"]","d":{"a":1},"e":2}"#;
        let replaced = |key: &str| match key {
            "a" => Some(Item::Null),
            "c" => Some(Item::String(Cow::Borrowed("x"))),
            _ => None,
        };
        let tree = Tree::parse_knowing(text, &[text.get(5..18)], replaced).unwrap();
        let expected = r#"{"a":null,"c":"x","d":{"a":1},"e":2}"#;
        assert_eq!(written(&tree, tree.root().unwrap()), expected);
        let owned = tree.into_owned();
        assert_eq!(written(&owned, owned.root().unwrap()), expected);
    }

    #[test]
    fn who_manages_what_is_read_when_it_is_looked_at() {
        let text = r#"{"metadata":{"managedFields":[{"f:spec":{"b":[1,"\u00e9"]}}],"name":"x"},"managedFields":[2]}"#;
        let tree = Tree::parse(text).unwrap();
        let expected =
            r#"{"metadata":{"managedFields":[{"f:spec":{"b":[1,"é"]}}],"name":"x"},"managedFields":[2]}"#;
        assert_eq!(written(&tree, tree.root().unwrap()), expected);
        assert!(tree.nodes.iter().any(|node| matches!(node.item, Item::Late(_))));
        let owned = Tree::parse(text).unwrap().into_owned();
        assert_eq!(written(&owned, owned.root().unwrap()), expected);
        assert!(Tree::parse(r#"{"metadata":{"managedFields":[1,]}}"#).is_err());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "[",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "01",
            "1.",
            "nul",
            "[1 2]",
            "\"a",
            "\"\\x\"",
            "1 1",
            "[}",
            "+1",
            "{1:2}",
        ] {
            assert!(Tree::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded_and_needs_no_stack() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(Tree::parse(&deep).is_ok());
        let deeper = format!("[{deep}]");
        assert_eq!(Tree::parse(&deeper).unwrap_err().message, "nested too deeply");
    }

    #[test]
    fn keys_of_a_large_object_are_found_and_the_last_of_equal_ones_counts() {
        let entries: Vec<String> = (0..5_000).map(|at| format!("\"key{}\":{at}", at % 4_000)).collect();
        let text = format!("{{{}}}", entries.join(","));
        let tree = Tree::parse(&text).unwrap();
        let Some(Node { item: Item::Map(of), .. }) = tree.root() else { panic!("no object") };
        assert_eq!(of.len(), 4_000);
        let found = |key: &str| tree.find(*of, key).map(|node| written(&tree, node));
        assert_eq!(found("key0").as_deref(), Some("4000"));
        assert_eq!(found("key3999").as_deref(), Some("3999"));
        assert_eq!(found("key4000"), None);
    }
}
