//! Where in an object a field is.

/// The path of a field. All of them are known when the program is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// Names joined by dots.
    Field(&'static str),
    /// An annotation, whose name has dots of its own.
    Annotation(&'static str),
}

/// The names on a path, or on the rest of one.
#[derive(Clone, Debug)]
pub(super) struct Below {
    dotted: Option<&'static str>,
    last: Option<&'static str>,
}

const METADATA: &str = "metadata";
const ANNOTATIONS: &str = "metadata.annotations";

impl Path {
    pub(super) fn names(self) -> Below {
        match self {
            Self::Field(path) => Below { dotted: Some(path), last: None },
            Self::Annotation(key) => Below { dotted: Some(ANNOTATIONS), last: Some(key) },
        }
    }

    /// The field that holds this one, by its dotted path; nothing for a field of the object itself.
    pub(super) fn parent(self) -> Option<&'static str> {
        match self {
            Self::Field(path) => {
                let end = path.bytes().rposition(|byte| byte == b'.')?;
                path.get(..end)
            }
            Self::Annotation(_) => Some(ANNOTATIONS),
        }
    }

    /// Splits behind that many names and one more.
    pub(super) fn split_after(self, names: usize) -> (Self, Below) {
        let below = |dotted, last| Below { dotted, last };
        match (self, names) {
            (Self::Annotation(key), 0) => (Self::Field(METADATA), below(Some("annotations"), Some(key))),
            (Self::Annotation(key), 1) => (Self::Field(ANNOTATIONS), below(None, Some(key))),
            (Self::Annotation(_), _) => (self, below(None, None)),
            (Self::Field(path), _) => {
                let dots = path.bytes().enumerate().filter(|(_, byte)| *byte == b'.');
                match dots.map(|(end, _)| path.split_at(end)).nth(names) {
                    Some((at, rest)) => (Self::Field(at), below(rest.strip_prefix('.'), None)),
                    None => (self, below(None, None)),
                }
            }
        }
    }

    /// Adds it as users write it.
    pub(super) fn dotted(self, text: &mut String) {
        match self {
            Self::Field(path) => text.push_str(path),
            Self::Annotation(key) => {
                text.push_str(ANNOTATIONS);
                text.push('.');
                text.push_str(key);
            }
        }
    }

    /// Adds it as RFC 6901 has it. No name has anything in it that JSON would escape.
    pub(super) fn write_pointer(self, into: &mut Vec<u8>) {
        match self {
            Self::Field(path) => {
                into.push(b'/');
                into.extend(path.bytes().map(|byte| if byte == b'.' { b'/' } else { byte }));
            }
            Self::Annotation(key) => {
                into.extend_from_slice(b"/metadata/annotations/");
                for byte in key.bytes() {
                    match byte {
                        b'~' => into.extend_from_slice(b"~0"),
                        b'/' => into.extend_from_slice(b"~1"),
                        byte => into.push(byte),
                    }
                }
            }
        }
    }
}

impl Iterator for Below {
    type Item = &'static str;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(dotted) = self.dotted else { return self.last.take() };
        match dotted.bytes().position(|byte| byte == b'.') {
            Some(end) => {
                self.dotted = dotted.get(end + 1..);
                dotted.get(..end)
            }
            None => self.dotted.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_behind_what_is_there() {
        let split = |path: Path, names| {
            let (at, below) = path.split_after(names);
            let mut pointer = Vec::new();
            at.write_pointer(&mut pointer);
            (String::from_utf8(pointer).unwrap(), below.collect::<Vec<_>>().join(" "))
        };
        let field = Path::Field("spec.workers.replicas");
        assert_eq!(split(field, 0), ("/spec".to_owned(), "workers replicas".to_owned()));
        assert_eq!(split(field, 1), ("/spec/workers".to_owned(), "replicas".to_owned()));
        assert_eq!(split(field, 2), ("/spec/workers/replicas".to_owned(), String::new()));
        assert_eq!(split(field, 3), ("/spec/workers/replicas".to_owned(), String::new()));
        let annotation = Path::Annotation("a.b/c");
        assert_eq!(split(annotation, 0), ("/metadata".to_owned(), "annotations a.b/c".to_owned()));
        assert_eq!(split(annotation, 1), ("/metadata/annotations".to_owned(), "a.b/c".to_owned()));
        assert_eq!(split(annotation, 2), ("/metadata/annotations/a.b~1c".to_owned(), String::new()));
    }
}
