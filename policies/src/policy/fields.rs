//! The fields of an object, read strictly: each by its type, and none that nobody knows.

use std::ops::Range;
use std::sync::Arc;

use super::problem::{Place, Problems, quoted};
use super::yaml::{Entry, Node, Style, Yaml};
use crate::cel::Diagnostic;

/// A string of a file that knows where it is written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) text: Arc<str>,
    pub(crate) place: Place,
    /// The field, from the root of the object on.
    pub(crate) path: String,
    style: Style,
}

impl Written {
    /// Where a stretch of the string's bytes is written.
    pub(crate) fn locate(&self, source: &str, wanted: &Range<usize>) -> Place {
        let Some(written) = source.get(self.place.span.clone()) else { return self.place.clone() };
        let found = self.style.locate(written, &self.text, wanted);
        let start = self.place.span.start;
        Place { file: self.place.file, span: start + found.start..start + found.end }
    }
}

impl Written {
    /// The bytes of the string that a diagnostic of it is about.
    pub(crate) fn at_fault(&self, diagnostic: &Diagnostic) -> Range<usize> {
        diagnostic.at_fault(&self.text)
    }
}

/// What is being read: an object's fields, those left that nobody took.
pub(crate) struct Fields<'n> {
    pub(crate) path: String,
    pub(crate) place: Place,
    entries: &'n [Entry],
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The fields of an object; anything else is a problem.
    pub(crate) fn open(node: &'n Node, file: usize, path: &str, problems: &mut Problems) -> Option<Self> {
        let place = Place { file, span: node.span.clone() };
        match &node.value {
            Yaml::Map(entries) => Some(Self { path: path.to_owned(), place, entries, known: Vec::new() }),
            _ => {
                let what = if path.is_empty() { "the document".to_owned() } else { path.to_owned() };
                problems.error(
                    &place,
                    "wrong-type",
                    format!("{what}: is {}; it has to be an object", node.what()),
                );
                None
            }
        }
    }

    /// Where its key is written, or the whole object's first character if it has none.
    pub(crate) fn key_place(&self, name: &str) -> Place {
        let key = self.entries.iter().find(|entry| &*entry.key == name);
        key.map_or_else(|| self.start(), |entry| Place { file: self.place.file, span: entry.span.clone() })
    }

    /// The first key, which stands for the object where all of it would be too much to point at.
    fn start(&self) -> Place {
        let span = self.entries.first().map_or_else(|| self.place.span.clone(), |entry| entry.span.clone());
        Place { file: self.place.file, span }
    }

    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The value of a field; null is as good as none, as the API server has it.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        self.known.push(name);
        let entry = self.entries.iter().find(|entry| &*entry.key == name)?;
        (!matches!(entry.value.value, Yaml::Null)).then_some(&entry.value)
    }

    /// A field that has to be there.
    pub(crate) fn require(&mut self, name: &'static str, problems: &mut Problems) -> Option<&'n Node> {
        let node = self.take(name);
        if node.is_none() {
            self.missing(name, problems);
        }
        node
    }

    pub(crate) fn missing(&self, name: &str, problems: &mut Problems) {
        problems.error(
            &self.key_place(name),
            "missing-field",
            format!("{}: has to be set", self.path_of(name)),
        );
    }

    /// An object.
    pub(crate) fn object(&mut self, name: &'static str, problems: &mut Problems) -> Option<Fields<'n>> {
        let path = self.path_of(name);
        Fields::open(self.take(name)?, self.place.file, &path, problems)
    }

    /// A string, with its place.
    pub(crate) fn text(&mut self, name: &'static str, problems: &mut Problems) -> Option<Written> {
        let path = self.path_of(name);
        let node = self.take(name)?;
        written(node, self.place.file, path, problems)
    }

    /// A string that has to be there and to be more than blanks.
    pub(crate) fn some_text(&mut self, name: &'static str, problems: &mut Problems) -> Option<Written> {
        let path = self.path_of(name);
        let node = self.require(name, problems)?;
        let text = written(node, self.place.file, path, problems)?;
        if text.text.trim().is_empty() {
            problems.error(
                &text.place,
                "missing-field",
                format!("{}: is empty; it has to be set", text.path),
            );
            return None;
        }
        Some(text)
    }

    /// A boolean.
    pub(crate) fn boolean(&mut self, name: &'static str, problems: &mut Problems) -> Option<bool> {
        let node = self.take(name)?;
        match node.value {
            Yaml::Bool(value) => Some(value),
            _ => {
                self.is_no(node, name, "a boolean", problems);
                None
            }
        }
    }

    /// A number without a fraction.
    pub(crate) fn whole_number(&mut self, name: &'static str, problems: &mut Problems) -> Option<i64> {
        let node = self.take(name)?;
        let number = match &node.value {
            Yaml::Number(text) => text.parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.is_no(node, name, "a whole number", problems);
        }
        number
    }

    fn is_no(&self, node: &Node, name: &str, wanted: &str, problems: &mut Problems) {
        let place = Place { file: self.place.file, span: node.span.clone() };
        let message = format!("{}: is {}; it has to be {wanted}", self.path_of(name), node.what());
        problems.error(&place, "wrong-type", message);
    }

    /// Whether a field is written, whatever its value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| &*entry.key == name)
    }

    /// The items of a list, each with its path.
    pub(crate) fn list(&mut self, name: &'static str, problems: &mut Problems) -> Vec<(String, &'n Node)> {
        let path = self.path_of(name);
        match self.take(name) {
            None => Vec::new(),
            Some(Node { value: Yaml::List(items), .. }) => {
                items.iter().enumerate().map(|(at, item)| (format!("{path}[{at}]"), item)).collect()
            }
            Some(node) => {
                self.is_no(node, name, "a list", problems);
                Vec::new()
            }
        }
    }

    /// A list of strings.
    pub(crate) fn texts(&mut self, name: &'static str, problems: &mut Problems) -> Vec<Written> {
        let file = self.place.file;
        let items = self.list(name, problems);
        items.into_iter().filter_map(|(path, node)| written(node, file, path, problems)).collect()
    }

    /// A word out of few.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        name: &'static str,
        allowed: &[(&str, T)],
        problems: &mut Problems,
    ) -> Option<T> {
        let text = self.text(name, problems)?;
        one_of(&text, allowed, problems)
    }

    /// A map from strings to strings.
    pub(crate) fn string_map(
        &mut self,
        name: &'static str,
        problems: &mut Problems,
    ) -> Vec<(Written, Written)> {
        let Some(fields) = self.object(name, problems) else { return Vec::new() };
        let file = fields.place.file;
        let pairs = fields.entries.iter().filter_map(|entry| {
            let path = format!("{}[{}]", fields.path, entry.key);
            let value = written(&entry.value, file, path.clone(), problems)?;
            let place = Place { file, span: entry.span.clone() };
            Some((Written { text: Arc::clone(&entry.key), place, path, style: Style::Plain }, value))
        });
        pairs.collect()
    }

    /// Nobody takes any more: what is left is known to nobody.
    pub(crate) fn finish(self, problems: &mut Problems) {
        for entry in self.entries.iter().filter(|entry| !self.known.contains(&&*entry.key)) {
            if problems.is_full() {
                problems.pass_over();
                continue;
            }
            let place = Place { file: self.place.file, span: entry.span.clone() };
            let path = quoted(&self.path_of(&entry.key));
            match nearest(&entry.key, &self.known) {
                Some(near) => {
                    let help = format!("did you mean `{near}`?");
                    problems.error_with_help(
                        &place,
                        "unknown-field",
                        format!("{path}: there is no such field"),
                        help,
                    );
                }
                None => {
                    let help = format!("there are: {}", self.known.join(", "));
                    problems.error_with_help(
                        &place,
                        "unknown-field",
                        format!("{path}: there is no such field"),
                        help,
                    );
                }
            }
        }
    }
}

/// A string with its place; anything else is a problem.
pub(crate) fn written(node: &Node, file: usize, path: String, problems: &mut Problems) -> Option<Written> {
    let place = Place { file, span: node.span.clone() };
    match &node.value {
        Yaml::Text(text, style) => Some(Written { text: Arc::clone(text), place, path, style: *style }),
        Yaml::Bool(_) | Yaml::Number(_) => {
            let message = format!("{path}: is {}; it has to be a string", node.what());
            problems.error_with_help(&place, "wrong-type", message, "put it in quotes");
            None
        }
        _ => {
            problems.error(
                &place,
                "wrong-type",
                format!("{path}: is {}; it has to be a string", node.what()),
            );
            None
        }
    }
}

/// A word out of few.
pub(crate) fn one_of<T: Copy>(text: &Written, allowed: &[(&str, T)], problems: &mut Problems) -> Option<T> {
    let found = allowed.iter().find(|(word, _)| *word == &*text.text);
    if found.is_none() {
        let words: Vec<&str> = allowed.iter().map(|(word, _)| *word).collect();
        let message = format!("{}: is {}; allowed are {}", text.path, quoted(&text.text), words.join(", "));
        problems.error(&text.place, "invalid-value", message);
    }
    found.map(|(_, value)| *value)
}

/// The known word that somebody who wrote `word` may have meant.
fn nearest(word: &str, known: &[&'static str]) -> Option<&'static str> {
    let word: String = word.chars().take(64).collect::<String>().to_lowercase();
    let scored = known.iter().map(|known| (distance(&word, &known.to_lowercase()), *known));
    scored.filter(|(distance, known)| *distance * 3 <= known.len()).min().map(|(_, known)| known)
}

/// How many letters have to be added, taken or changed to make one word the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, letter) in left.chars().enumerate() {
        let mut before = at;
        let mut last = at + 1;
        let mut next = vec![last];
        for (old, other) in row.iter().skip(1).zip(&right) {
            last = (last + 1).min(old + 1).min(before + usize::from(letter != *other));
            before = *old;
            next.push(last);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn a_mistyped_field_is_recognized() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("validation", &["validations", "variables"]), Some("validations"));
        assert_eq!(nearest("failurepolicy", &["failurePolicy", "paramKind"]), Some("failurePolicy"));
        assert_eq!(nearest("foo", &["validations", "paramKind"]), None);
    }
}
