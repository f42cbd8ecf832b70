//! A quick walk over JSON: where values begin and end, without reading them.
//!
//! Most of a review is not looked at by anybody, half of it the list of field managers, so finding what is looked at must
//! cost little. A walk takes only what is well-formed, and gives up (`None`) where it is in doubt: a name with an escape, a
//! nest deeper than any object has. Whoever walks has to have a slower way for what it gave up on.

use serde::Deserialize;
use wide::u8x16;

/// Deeper nests are not walked through. The API server's own limit for objects is far above it, and our kinds far below.
const DEEPEST: u32 = 60;

/// A walk over a text, at some place in it.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Nothing comes any more.
    pub(crate) fn end(mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// Walks through an object. `field` gets each name with the walk in front of the value, and has to pass it.
    pub(crate) fn object(&mut self, mut field: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let name = self.plain()?;
            self.expect(b':')?;
            field(self, name)?;
            match self.next()? {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Walks through a list. `item` has the walk in front of each item, and has to pass it.
    pub(crate) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            match self.next()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Whether `null` comes, or something that begins like it.
    pub(crate) fn is_null(&mut self) -> Option<bool> {
        self.peek().map(|byte| byte == b'n')
    }

    /// Whether an object comes, or something that begins like one.
    pub(crate) fn is_object(&mut self) -> Option<bool> {
        self.peek().map(|byte| byte == b'{')
    }

    /// Walks past any value, and gives its text.
    pub(crate) fn value(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.skip()?;
        self.text.get(start..self.at)
    }

    /// Reads a value and so walks past it.
    pub(crate) fn read<T: Deserialize<'a>>(&mut self) -> Option<T> {
        let mut values = serde_json::Deserializer::from_str(self.text.get(self.at..)?).into_iter();
        let value = values.next()?.ok()?;
        self.at += values.byte_offset();
        Some(value)
    }

    /// From a place that was passed to here.
    pub(crate) fn since(&self, start: usize) -> Option<&'a str> {
        self.text.get(start..self.at)
    }

    /// Where the next value begins.
    pub(crate) fn place(&mut self) -> Option<usize> {
        self.peek().map(|_| self.at)
    }

    /// Walks past a string, and gives its text with the quotes.
    pub(crate) fn string(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.skip_string()?;
        self.text.get(start..self.at)
    }

    /// Walks past a string that can be taken as it is, and gives what is between the quotes.
    pub(crate) fn plain(&mut self) -> Option<&'a str> {
        self.expect(b'"')?;
        let start = self.at;
        let end = start + plain_bytes(self.text.as_bytes().get(start..)?)?;
        self.at = end + 1;
        (self.byte(end)? == b'"').then(|| self.text.get(start..end)).flatten()
    }

    /// The next byte that is no white space, which is in front of the walk then.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn name(&mut self) -> Option<()> {
        self.peek()?;
        self.skip_string()?;
        self.expect(b':')
    }

    fn skip(&mut self) -> Option<()> {
        // Which of the nests around us are objects, the innermost in the lowest bit.
        let (mut nests, mut depth) = (0_u64, 0);
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                open @ (b'{' | b'[') => {
                    self.at += 1;
                    let is_object = open == b'{';
                    if self.peek()? == if is_object { b'}' } else { b']' } {
                        self.at += 1;
                    } else if depth == DEEPEST {
                        return None;
                    } else {
                        depth += 1;
                        nests = nests << 1 | u64::from(is_object);
                        if is_object {
                            self.name()?;
                        }
                        continue;
                    }
                }
                b't' => self.skip_literal("true")?,
                b'f' => self.skip_literal("false")?,
                b'n' => self.skip_literal("null")?,
                _ => self.skip_number()?,
            }
            loop {
                if depth == 0 {
                    return Some(());
                }
                match (self.next()?, nests & 1 == 1) {
                    (b',', true) => break self.name()?,
                    (b',', false) => break,
                    (b'}', true) | (b']', false) => (nests, depth) = (nests >> 1, depth - 1),
                    _ => return None,
                }
            }
        }
    }

    fn skip_literal(&mut self, literal: &str) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        self.at += literal.len();
        rest.starts_with(literal.as_bytes()).then_some(())
    }

    fn skip_string(&mut self) -> Option<()> {
        if self.byte(self.at)? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let plain = plain_bytes(rest)?;
            self.at += plain + 1;
            match rest.get(plain)? {
                b'"' => return Some(()),
                b'\\' => self.skip_escape()?,
                _ => return None,
            }
        }
    }

    fn skip_escape(&mut self) -> Option<()> {
        let escape = self.byte(self.at)?;
        self.at += 1;
        match escape {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
                self.at += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }

    fn skip_number(&mut self) -> Option<()> {
        if self.byte(self.at) == Some(b'-') {
            self.at += 1;
        }
        let first = self.byte(self.at)?;
        if self.skip_digits()? > 1 && first == b'0' {
            return None;
        }
        if self.byte(self.at) == Some(b'.') {
            self.at += 1;
            self.skip_digits()?;
        }
        if matches!(self.byte(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.skip_digits()?;
        }
        Some(())
    }

    /// One digit at least.
    fn skip_digits(&mut self) -> Option<usize> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += count;
        (count > 0).then_some(count)
    }
}

/// How many bytes come before the next quote, backslash or control character. Sixteen bytes at a time: a review is made
/// of hundreds of short strings.
#[inline]
pub(crate) fn plain_bytes(bytes: &[u8]) -> Option<usize> {
    let [quote, backslash, highest_control] = [b'"', b'\\', 0x1f].map(u8x16::splat);
    let (blocks, rest) = bytes.as_chunks::<16>();
    for (place, block) in blocks.iter().enumerate() {
        let block = u8x16::new(*block);
        let controls = block.min(highest_control).simd_eq(block);
        let found = (block.simd_eq(quote) | block.simd_eq(backslash) | controls).to_bitmask();
        if found != 0 {
            return Some(place * 16 + found.trailing_zeros() as usize);
        }
    }
    let place = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
    Some(blocks.len() * 16 + place)
}

/// What is between the quotes, unless it has to be read to be known.
pub(crate) fn plain(string: &str) -> Option<&str> {
    let inner = string.get(1..string.len().checked_sub(1)?)?;
    (!inner.as_bytes().contains(&b'\\')).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_walked(text: &str) -> bool {
        let mut scan = Scan::new(text);
        scan.value().is_some() && scan.end().is_some()
    }

    #[test]
    fn what_is_walked_through_is_json() {
        let good = [
            "null",
            " true ",
            "[]",
            "{}",
            "[1, -2.5e+10, 0, 0.1]",
            r#"{"a": {"b": [{}, [], "c\"\\\u00e9"]}, "": false}"#,
            "\"é\"",
            "[[[[1]]]]",
        ];
        let bad = [
            "",
            "nul",
            "[1,]",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":1,}"#,
            r#"{"a":1]"#,
            "[1}",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "\"a",
            "\"\u{1}\"",
            r#""\x""#,
            r#""\u12g4""#,
            "[1] 2",
            "{1:2}",
            "tru",
            "'a'",
        ];
        for text in good {
            assert!(is_walked(text), "{text}");
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(), "{text}");
        }
        for text in bad {
            assert!(!is_walked(text), "{text}");
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_end_of_a_string_is_found_wherever_it_is() {
        for end in [b'"', b'\\', 0, 0x1f] {
            for length in 0..40 {
                for filler in [b'a', b' ', b'!', b'#', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                    let mut bytes = vec![filler; 48];
                    bytes[length] = end;
                    bytes[length + 1] = b'"';
                    assert_eq!(plain_bytes(&bytes), Some(length), "{filler} {end}");
                    assert_eq!(plain_bytes(&bytes[..length]), None);
                }
            }
        }
    }

    #[test]
    fn deep_nests_are_given_up() {
        let nested = |depth: usize| "[".repeat(depth) + "1" + &"]".repeat(depth);
        assert!(is_walked(&nested(60)) && !is_walked(&nested(61)));
    }

    #[test]
    fn fields_are_found_in_their_order() {
        let mut scan = Scan::new(r#" { "a" : [1, {"b": 2}] , "c":"d" } "#);
        let mut found = Vec::new();
        scan.object(|scan, name| {
            found.push((name, scan.value()?));
            Some(())
        })
        .unwrap();
        assert_eq!(found, [("a", r#"[1, {"b": 2}]"#), ("c", r#""d""#)]);
        assert!(scan.end().is_some());
    }
}
