//! YAML (and so JSON) as values that know their place in the file.
//!
//! Words mean what they mean to `kubectl`: `yes` and `off` are booleans, `0x10` is a number. Nests, nodes and copies by
//! alias are bounded, so that a small file cannot become a large value.

mod resolve;
mod scalar;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use granit_parser::{Event, Options, Parser, ScanError, Span, Tag};

use self::resolve::resolve;
pub(crate) use self::scalar::Style;
use super::problem::{Place, Problems, quoted};

/// Containers within containers; no object of ours needs a quarter of it.
const DEEPEST: usize = 64;
/// Values in all files of one load, copies by alias included.
const MOST_NODES: usize = 400_000;
/// Bytes of a text that count as a value when an alias copies them.
const BYTES_OF_A_NODE: usize = 64;
/// Documents in all files of one load.
const MOST_DOCUMENTS: usize = 10_000;

/// A value and where it is written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Yaml,
}

#[derive(Clone, Debug)]
pub(crate) enum Yaml {
    Null,
    Bool(bool),
    /// A number, written as JSON has it.
    Number(String),
    Text(Arc<str>, Style),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Arc<str>,
    pub(crate) span: Range<usize>,
    pub(crate) value: Node,
}

impl Node {
    /// What it is, in a message.
    pub(crate) fn what(&self) -> &'static str {
        match self.value {
            Yaml::Null => "null",
            Yaml::Bool(_) => "a boolean",
            Yaml::Number(_) => "a number",
            Yaml::Text(..) => "a string",
            Yaml::List(_) => "a list",
            Yaml::Map(_) => "an object",
        }
    }

    /// How many values it is when it is copied.
    fn size(&self) -> usize {
        match &self.value {
            Yaml::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Yaml::Map(entries) => 1 + entries.iter().map(|entry| entry.value.size()).sum::<usize>(),
            // Written out, a text that is there many times is many texts.
            Yaml::Text(text, _) => 1 + text.len() / BYTES_OF_A_NODE,
            _ => 1,
        }
    }

    /// The value as JSON.
    pub(crate) fn write_json(&self, out: &mut String) {
        match &self.value {
            Yaml::Null => out.push_str("null"),
            Yaml::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Yaml::Number(text) => out.push_str(text),
            Yaml::Text(text, _) => quote(text, out),
            Yaml::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write_json(out);
                }
                out.push(']');
            }
            Yaml::Map(entries) => {
                out.push('{');
                for (at, entry) in entries.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    quote(&entry.key, out);
                    out.push(':');
                    entry.value.write_json(out);
                }
                out.push('}');
            }
        }
    }
}

/// A text as a JSON string.
pub(crate) fn quote(text: &str, out: &mut String) {
    // Writing a string to memory does not fail.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// How much one load has read so far.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    nodes: usize,
    documents: usize,
}

/// All documents of a file, as far as they can be read.
pub(crate) fn read(text: &str, file: usize, budget: &mut Budget, problems: &mut Problems) -> Vec<Node> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = DEEPEST;
    options.block_nesting_limit = DEEPEST;
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut reader = Reader {
        text,
        file,
        budget,
        problems,
        open: Vec::new(),
        anchors: HashMap::new(),
        documents: Vec::new(),
    };
    loop {
        let failed = match parser.next_event() {
            None => break,
            Some(Err(error)) => {
                reader.syntax(&error);
                true
            }
            Some(Ok((Event::StreamEnd, _))) => break,
            Some(Ok((event, span))) => match reader.take(event, &span) {
                Ok(()) => false,
                // Whoever builds a value too large is not read any further.
                Err(TooLarge) => break,
            },
        };
        if failed {
            reader.open.clear();
            if reader.problems.is_full() || !matches!(parser.proceed_next_document(), Ok(true)) {
                break;
            }
        }
    }
    reader.documents
}

/// The load has read all it may.
struct TooLarge;

/// A container whose end has not been seen.
struct Open {
    span: Range<usize>,
    anchor: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, seen: HashSet<Arc<str>>, key: Option<(Arc<str>, Range<usize>)> },
}

struct Reader<'a> {
    text: &'a str,
    file: usize,
    budget: &'a mut Budget,
    problems: &'a mut Problems,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    documents: Vec<Node>,
}

impl Reader<'_> {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), TooLarge> {
        let span = span.byte_range().unwrap_or_default();
        match event {
            Event::DocumentStart(..) => {
                self.anchors.clear();
                self.open.clear();
                self.budget.documents += 1;
                if self.budget.documents > MOST_DOCUMENTS {
                    let message = format!("more than {MOST_DOCUMENTS} documents in all files together");
                    self.problems.error(&self.at(span), "too-large", message);
                    return Err(TooLarge);
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(&text, style.into(), tag.as_deref(), &span);
                self.put(Node { span, value }, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.untagged(tag.as_deref(), &span);
                self.push(span, anchor, Items::List(Vec::new()))?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.untagged(tag.as_deref(), &span);
                self.push(span, anchor, Items::Map { entries: Vec::new(), seen: HashSet::new(), key: None })?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { span: start, anchor, items }) = self.open.pop() {
                    let value = match items {
                        Items::List(items) => Yaml::List(items),
                        Items::Map { entries, .. } => Yaml::Map(entries),
                    };
                    self.put(Node { span: start.start..span.end.max(start.end), value }, anchor)?;
                }
            }
            Event::Alias(anchor) => {
                // An alias inside of what it names stands for nothing yet.
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    let message = "an alias cannot stand for what it is part of";
                    self.problems.error(&self.at(span.clone()), "yaml", message);
                    return self.put(Node { span, value: Yaml::Null }, 0);
                };
                self.count(node.size(), &span)?;
                self.put(node, 0)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, span: Range<usize>, anchor: usize, items: Items) -> Result<(), TooLarge> {
        if self.open.len() >= DEEPEST {
            self.problems.error(&self.at(span), "too-large", format!("nested more than {DEEPEST} deep"));
            return Err(TooLarge);
        }
        self.open.push(Open { span, anchor, items });
        Ok(())
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), TooLarge> {
        self.count(1, &node.span)?;
        if anchor > 0 {
            self.count(node.size(), &node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        let file = self.file;
        match self.open.last_mut().map(|open| &mut open.items) {
            None => {
                if !matches!(node.value, Yaml::Null) {
                    self.documents.push(node);
                }
            }
            Some(Items::List(items)) => items.push(node),
            Some(Items::Map { entries, seen, key }) => match key.take() {
                None => match key_of(&node) {
                    Some(text) => *key = Some((text, node.span)),
                    None => {
                        let place = Place { file, span: node.span.clone() };
                        let message = format!("a key is {}; it has to be a string", node.what());
                        self.problems.error(&place, "yaml", message);
                        *key = Some(("".into(), node.span));
                    }
                },
                Some((text, span)) => {
                    if !seen.insert(Arc::clone(&text)) {
                        let place = Place { file, span: span.clone() };
                        self.problems.error(
                            &place,
                            "duplicate-key",
                            format!("key {} is there twice", quoted(&text)),
                        );
                    } else if &*text == "<<" {
                        let place = Place { file, span: span.clone() };
                        let message = "merging by `<<` is not read here; write the fields themselves";
                        self.problems.error(&place, "yaml", message);
                    }
                    entries.push(Entry { key: text, span, value: node });
                }
            },
        }
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: Style, tag: Option<&Tag>, span: &Range<usize>) -> Yaml {
        let tag = tag.map(|tag| tag.core_suffix().map_or_else(|| "?".to_owned(), ToOwned::to_owned));
        match (tag.as_deref(), style) {
            (None, Style::Plain) => resolve(text).unwrap_or_else(|message| {
                self.problems.error(&self.at(span.clone()), "yaml", message);
                Yaml::Null
            }),
            (None | Some("str"), _) => Yaml::Text(text.into(), style),
            (Some("int" | "bool" | "null" | "float"), Style::Plain) => resolve(text).unwrap_or(Yaml::Null),
            _ => {
                let message = "a tag that Kubernetes does not read; remove it";
                self.problems.error(&self.at(span.clone()), "yaml", message);
                Yaml::Null
            }
        }
    }

    fn untagged(&mut self, tag: Option<&Tag>, span: &Range<usize>) {
        if tag.is_some_and(|tag| !matches!(tag.core_suffix(), Some("map" | "seq"))) {
            let message = "a tag that Kubernetes does not read; remove it";
            self.problems.error(&self.at(span.clone()), "yaml", message);
        }
    }

    fn count(&mut self, nodes: usize, span: &Range<usize>) -> Result<(), TooLarge> {
        self.budget.nodes = self.budget.nodes.saturating_add(nodes);
        if self.budget.nodes <= MOST_NODES {
            return Ok(());
        }
        let message =
            format!("more than {MOST_NODES} values in all files together, counting those that aliases copy");
        self.problems.error(&self.at(span.clone()), "too-large", message);
        Err(TooLarge)
    }

    fn syntax(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or(0).min(self.text.len());
        let at = (0..=at).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        let end =
            self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |next| at + next.len_utf8());
        self.problems.error(&self.at(at..end), "yaml", error.info());
    }

    fn at(&self, span: Range<usize>) -> Place {
        Place { file: self.file, span }
    }
}

/// A scalar as a key.
fn key_of(node: &Node) -> Option<Arc<str>> {
    match &node.value {
        Yaml::Text(text, _) => Some(Arc::clone(text)),
        Yaml::Bool(value) => Some(if *value { "true" } else { "false" }.into()),
        Yaml::Number(text) => Some(text.as_str().into()),
        Yaml::Null | Yaml::List(_) | Yaml::Map(_) => None,
    }
}

#[cfg(test)]
mod tests;
