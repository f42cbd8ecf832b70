//! From a character of a string to where it is written, in whatever style.

use granit_parser::ScalarStyle;

/// How a string is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// After `|`, or `>`.
    Block,
}

impl From<ScalarStyle> for Style {
    fn from(style: ScalarStyle) -> Self {
        match style {
            ScalarStyle::Plain => Self::Plain,
            ScalarStyle::SingleQuoted => Self::SingleQuoted,
            ScalarStyle::DoubleQuoted => Self::DoubleQuoted,
            ScalarStyle::Literal | ScalarStyle::Folded => Self::Block,
        }
    }
}

impl Style {
    /// Where in `written`, the text between the ends of the scalar, the bytes of `value` at `wanted` are written.
    ///
    /// Both are walked side by side. Every character but white space is written in the order it is read, so only blanks
    /// that indent or fold, and what quotes escape, have to be passed.
    pub(crate) fn locate(
        self,
        written: &str,
        value: &str,
        wanted: &std::ops::Range<usize>,
    ) -> std::ops::Range<usize> {
        let mut at = match self {
            Self::Plain => 0,
            Self::SingleQuoted | Self::DoubleQuoted => 1,
            // The line of `|` and its indicators is no part of the value.
            Self::Block => match written.trim_start().starts_with(['|', '>']) {
                true => written.find('\n').map_or(written.len(), |line| line + 1),
                false => 0,
            },
        };
        let mut start = None;
        let mut end = at;
        for (place, character) in value.char_indices() {
            let (from, to) = self.next(written, at, character);
            if place >= wanted.end && start.is_some() {
                break;
            }
            if place >= wanted.start && start.is_none() {
                start = Some(from);
            }
            (at, end) = (to, to);
        }
        let start = start.unwrap_or(end);
        start..end.max(start)
    }

    /// From where to where the next character, which is `wanted`, is written.
    fn next(self, written: &str, at: usize, wanted: char) -> (usize, usize) {
        let mut from = at;
        loop {
            let rest = written.get(from..).unwrap_or_default();
            let Some(first) = rest.chars().next() else { return (from, from) };
            let length = match (self, first) {
                (Self::DoubleQuoted, '\\') => match escape(rest) {
                    // A line that goes on.
                    None => {
                        from += 1;
                        continue;
                    }
                    Some(length) => return (from, from + length),
                },
                (Self::SingleQuoted, '\'') => 2.min(rest.len()),
                _ => first.len_utf8(),
            };
            if first == wanted || (wanted.is_whitespace() && matches!(first, '\n' | '\r')) {
                return (from, from + length);
            }
            if !first.is_whitespace() {
                // A break between lines that the fold left out, or left to the next character.
                return if wanted.is_whitespace() { (from, from) } else { (from, from + length) };
            }
            from += length;
        }
    }
}

/// How long the escape is that `rest` begins with; nothing if it only joins two lines.
fn escape(rest: &str) -> Option<usize> {
    let length = match rest.as_bytes().get(1)? {
        b'x' => 4,
        // A pair of halves is one character.
        b'u' if rest.get(6..8) == Some("\\u")
            && matches!(
                rest.as_bytes().get(2..4),
                Some([b'd' | b'D', b'8'..=b'9' | b'a'..=b'b' | b'A'..=b'B'])
            ) =>
        {
            12
        }
        b'u' => 6,
        b'U' => 10,
        b'\n' | b'\r' => return None,
        _ => 2,
    };
    Some(length.min(rest.len()))
}
