//! Reads the tokens of a document.

use std::borrow::Cow;

use super::{Item, Late, Malformed};
use crate::review::scan::{Scan, plain_bytes};

pub(super) struct Reader<'a, 'k> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// Parts of the text that somebody has walked over already.
    pub(super) known: &'k [Option<&'k str>],
}

impl<'a> Reader<'a, '_> {
    pub(super) fn byte(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    pub(super) fn blank(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    #[cold]
    pub(super) fn wrong(&self, message: &'static str) -> Malformed {
        Malformed { offset: self.at, message }
    }

    pub(super) fn key(&mut self) -> Result<Cow<'a, str>, Malformed> {
        if self.byte() != b'"' {
            return Err(self.wrong("expected a key"));
        }
        let key = self.string()?;
        self.blank();
        if self.byte() != b':' {
            return Err(self.wrong("expected a colon"));
        }
        self.at += 1;
        Ok(key)
    }

    /// Passes a value that is not read before it is looked at; nothing if there is anything doubtful about it.
    pub(super) fn late(&mut self) -> Option<Late<'a>> {
        self.walk().map(Late::new)
    }

    /// Passes a value, at once if it is a known part of the text; nothing if there is anything doubtful about it.
    fn walk(&mut self) -> Option<&'a str> {
        let rest = self.text.get(self.at..)?;
        let known = self.known.iter().flatten().find(|part| part.as_ptr() == rest.as_ptr());
        let text = match known {
            Some(part) => rest.get(..part.len())?,
            None => Scan::new(rest).value()?,
        };
        self.at += text.len();
        Some(text)
    }

    /// Passes a value unread.
    pub(super) fn pass(&mut self) {
        if self.walk().is_some() {
            return;
        }
        let mut depth = 0_usize;
        let mut quoted = false;
        while let Some(byte) = self.bytes.get(self.at) {
            match (quoted, byte) {
                (true, b'\\') => self.at += 1,
                (_, b'"') => quoted = !quoted,
                (false, b'{' | b'[') => depth += 1,
                (false, b'}' | b']') if depth > 0 => depth -= 1,
                (false, b'}' | b']' | b',') if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    pub(super) fn scalar(&mut self) -> Result<Item<'a>, Malformed> {
        match self.byte() {
            b'"' => self.string().map(Item::String),
            b't' => self.word("true", Item::Bool(true)),
            b'f' => self.word("false", Item::Bool(false)),
            b'n' => self.word("null", Item::Null),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &'static str, item: Item<'a>) -> Result<Item<'a>, Malformed> {
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.wrong("expected a value"));
        }
        self.at += word.len();
        Ok(item)
    }

    fn number(&mut self) -> Result<Item<'a>, Malformed> {
        let start = self.at;
        self.at += usize::from(self.byte() == b'-');
        let digits = |reader: &mut Self| {
            let from = reader.at;
            while reader.byte().is_ascii_digit() {
                reader.at += 1;
            }
            reader.at > from
        };
        let leading_zero = self.byte() == b'0';
        let from = self.at;
        if !digits(self) || (leading_zero && self.at > from + 1) {
            return Err(self.wrong("expected a value"));
        }
        let mut whole = true;
        if self.byte() == b'.' {
            self.at += 1;
            whole = false;
            if !digits(self) {
                return Err(self.wrong("expected a digit"));
            }
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            whole = false;
            self.at += usize::from(matches!(self.byte(), b'+' | b'-'));
            if !digits(self) {
                return Err(self.wrong("expected a digit"));
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if whole && let Ok(value) = text.parse() {
            return Ok(Item::Int(value));
        }
        let value: f64 = text.parse().map_err(|_| self.wrong("no number"))?;
        if value.is_finite() { Ok(Item::Double(value)) } else { Err(self.wrong("number out of range")) }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Malformed> {
        self.at += 1;
        let start = self.at;
        let plain = plain_bytes(self.bytes.get(start..).unwrap_or_default());
        self.at = plain.map_or(self.bytes.len(), |plain| start + plain);
        match self.bytes.get(self.at) {
            Some(b'"') => {
                let text = self.text.get(start..self.at).unwrap_or_default();
                self.at += 1;
                Ok(Cow::Borrowed(text))
            }
            Some(b'\\') => self.escaped(start).map(Cow::Owned),
            _ => Err(self.wrong("unfinished string")),
        }
    }

    /// A string with escapes; what precedes the first of them begins at `start`.
    fn escaped(&mut self, start: usize) -> Result<String, Malformed> {
        let mut out = self.text.get(start..self.at).unwrap_or_default().to_owned();
        loop {
            let plain = self.at;
            while !matches!(self.bytes.get(self.at), Some(b'"' | b'\\' | 0..=0x1f) | None) {
                self.at += 1;
            }
            out.push_str(self.text.get(plain..self.at).unwrap_or_default());
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    let escape = self.byte();
                    self.at += 1;
                    out.push(match escape {
                        b'"' | b'\\' | b'/' => char::from(escape),
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => self.code_point()?,
                        _ => return Err(self.wrong("unknown escape")),
                    });
                }
                _ => return Err(self.wrong("unfinished string")),
            }
        }
    }

    fn unit(&mut self) -> Result<u32, Malformed> {
        let digits =
            self.text.get(self.at..self.at + 4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.wrong("expected four hexadecimal digits"))?;
        self.at += 4;
        Ok(unit)
    }

    /// A `\u` escape; half a pair stands for the replacement character, as Go reads it.
    fn code_point(&mut self) -> Result<char, Malformed> {
        let high = self.unit()?;
        if !(0xd800..0xdc00).contains(&high) {
            return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let back = self.at;
        if self.text.get(self.at..self.at + 2) == Some("\\u") {
            self.at += 2;
            let low = self.unit()?;
            if (0xdc00..0xe000).contains(&low) {
                let joined = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }
}
