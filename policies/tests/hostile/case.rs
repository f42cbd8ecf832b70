//! The cases, as they are written: a line `=== NAME`, what is hostile, and lines `=> STEP: ANSWER`.
//!
//! `«TEXT×COUNT»` stands for the text so many times; `№` in it for the number of each, from 0.

use std::fs;
use std::path::Path;

/// What is done with a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An expression, compiled, estimated and evaluated over `input.json`.
    Expression,
    /// A whole file, loaded; what is loaded judges and changes the ordinary object.
    File,
    /// The `spec` of a policy without what it matches, as a file with a binding.
    Policy,
    /// An object, judged and changed by the ordinary policies.
    Object,
}

const KINDS: [(&str, Kind); 4] = [
    ("expressions", Kind::Expression),
    ("files", Kind::File),
    ("policies", Kind::Policy),
    ("objects", Kind::Object),
];

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    topic: String,
    pub(crate) name: String,
    /// As it is written; [`expanded`] makes what is meant of it.
    pub(crate) text: String,
    pub(crate) expected: Vec<String>,
}

impl Case {
    pub(crate) fn title(&self) -> String {
        format!("{}: {}", self.topic, self.name)
    }
}

/// The text of a file of the corpus.
pub(crate) fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every case, by kind, file and order.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (folder, kind) in KINDS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile").join(folder);
        let mut names: Vec<String> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        for name in names {
            let topic = format!("{folder}/{}", name.trim_end_matches(".txt"));
            read(kind, &topic, &file(&format!("{folder}/{name}")), &mut cases);
        }
    }
    cases
}

fn read(kind: Kind, topic: &str, text: &str, cases: &mut Vec<Case>) {
    for part in text.split("=== ").skip(1) {
        let (name, rest) = part.split_once('\n').unwrap();
        let (body, answers) =
            rest.split_once("\n=> ").unwrap_or_else(|| panic!("{topic}: {name} expects nothing"));
        let expected = answers.trim_end().split("\n=> ").map(|line| line.trim_end().to_owned()).collect();
        cases.push(Case {
            kind,
            topic: topic.to_owned(),
            name: name.to_owned(),
            text: body.to_owned(),
            expected,
        });
    }
}

/// The text with all repetitions written out, innermost first.
pub(crate) fn expanded(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some(end) = text.find('»') {
        let start = text.get(..end).and_then(|before| before.rfind('«')).unwrap();
        let inner = text.get(start + '«'.len_utf8()..end).unwrap();
        let (repeated, count) = inner.rsplit_once('×').unwrap();
        let count: usize = count.parse().unwrap();
        let made = if repeated.contains('№') {
            (0..count).map(|at| repeated.replace('№', &at.to_string())).collect()
        } else {
            repeated.repeat(count)
        };
        text.replace_range(start..end + '»'.len_utf8(), &made);
    }
    text
}

#[test]
fn repetitions_are_written_out() {
    assert_eq!(expanded("«(×3»1«)×3»"), "(((1)))");
    assert_eq!(expanded("[«№, ×3»9]"), "[0, 1, 2, 9]");
    assert_eq!(expanded("«a«b×2»c×2»"), "abbcabbc");
}
