//! Text into tokens.

use super::diagnostic::{Diagnostic, Span};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ident,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    True,
    False,
    Null,
    In,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Not,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Question,
    Colon,
    Comma,
    Dot,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    End,
}

/// A token and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

/// All tokens of `text`, the last of them [`Kind::End`].
pub(crate) fn lex(text: &str) -> Result<Vec<Token>, Diagnostic> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0 };
    let mut tokens = Vec::with_capacity(text.len() / 3 + 1);
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        let kind = lexer.next()?;
        tokens.push(Token { kind, span: Span::new(start, lexer.at) });
        if kind == Kind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        // A byte no token holds stands for the end.
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) {
        loop {
            match self.peek(0) {
                b'\t' | b' ' | b'\r' | b'\n' | 0x0c => self.at += 1,
                b'/' if self.peek(1) == b'/' => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn next(&mut self) -> Result<Kind, Diagnostic> {
        if self.at >= self.bytes.len() {
            return Ok(Kind::End);
        }
        let first = self.peek(0);
        if let Some(quote) = self.string_prefix() {
            return self.string(quote);
        }
        if first.is_ascii_alphabetic() || first == b'_' {
            return Ok(self.word());
        }
        if first.is_ascii_digit() || (first == b'.' && self.peek(1).is_ascii_digit()) {
            return Ok(self.number());
        }
        let two = match (first, self.peek(1)) {
            (b'=', b'=') => Some(Kind::Equal),
            (b'!', b'=') => Some(Kind::NotEqual),
            (b'<', b'=') => Some(Kind::LessEqual),
            (b'>', b'=') => Some(Kind::GreaterEqual),
            (b'&', b'&') => Some(Kind::And),
            (b'|', b'|') => Some(Kind::Or),
            _ => None,
        };
        if let Some(kind) = two {
            self.at += 2;
            return Ok(kind);
        }
        let kind = match first {
            b'<' => Kind::Less,
            b'>' => Kind::Greater,
            b'!' => Kind::Not,
            b'+' => Kind::Plus,
            b'-' => Kind::Minus,
            b'*' => Kind::Star,
            b'/' => Kind::Slash,
            b'%' => Kind::Percent,
            b'?' => Kind::Question,
            b':' => Kind::Colon,
            b',' => Kind::Comma,
            b'.' => Kind::Dot,
            b'[' => Kind::OpenBracket,
            b']' => Kind::CloseBracket,
            b'{' => Kind::OpenBrace,
            b'}' => Kind::CloseBrace,
            b'(' => Kind::OpenParen,
            b')' => Kind::CloseParen,
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(kind)
    }

    fn unexpected(&self) -> Diagnostic {
        let found = self.text.get(self.at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
        let span = Span::new(self.at, self.at + found.len_utf8());
        if found == '`' {
            return Diagnostic::new(span, "unsupported syntax: '`'");
        }
        Diagnostic::new(span, format!("syntax error: token recognition error at: '{found}'"))
    }

    fn word(&mut self) -> Kind {
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'_' {
            self.at += 1;
        }
        match self.text.get(start..self.at) {
            Some("in") => Kind::In,
            Some("true") => Kind::True,
            Some("false") => Kind::False,
            Some("null") => Kind::Null,
            _ => Kind::Ident,
        }
    }

    fn digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Kind {
        if self.peek(0) == b'0' && self.peek(1) == b'x' && self.peek(2).is_ascii_hexdigit() {
            self.at += 2;
            while self.peek(0).is_ascii_hexdigit() {
                self.at += 1;
            }
            return self.unsigned_suffix();
        }
        self.digits();
        let mut double = false;
        if self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            double = true;
            self.at += 1;
            self.digits();
        }
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if matches!(self.peek(0), b'e' | b'E') && self.peek(1 + sign).is_ascii_digit() {
            double = true;
            self.at += 1 + sign;
            self.digits();
        }
        if double { Kind::Double } else { self.unsigned_suffix() }
    }

    fn unsigned_suffix(&mut self) -> Kind {
        if matches!(self.peek(0), b'u' | b'U') {
            self.at += 1;
            return Kind::Uint;
        }
        Kind::Int
    }

    /// What a string literal here is made of, if one begins here.
    fn string_prefix(&self) -> Option<Prefix> {
        let bytes = matches!(self.peek(0), b'b' | b'B');
        let skip = usize::from(bytes);
        let raw = matches!(self.peek(skip), b'r' | b'R');
        let skip = skip + usize::from(raw);
        let quote = self.peek(skip);
        matches!(quote, b'"' | b'\'').then_some(Prefix { bytes, raw, skip, quote })
    }

    fn string(&mut self, prefix: Prefix) -> Result<Kind, Diagnostic> {
        let start = self.at;
        self.at += prefix.skip;
        let triple = self.peek(1) == prefix.quote && self.peek(2) == prefix.quote;
        if self.body(&prefix, triple).is_none() {
            // Two quotes and then anything but a whole triple-quoted text are an empty string.
            self.at = start + prefix.skip;
            if !triple || self.body(&prefix, false).is_none() {
                let text = self.text.get(start..).unwrap_or_default();
                let shown: String = text.chars().take(20).collect();
                return Err(Diagnostic::new(
                    Span::new(start, self.text.len()),
                    format!("syntax error: token recognition error at: '{shown}'"),
                ));
            }
        }
        Ok(if prefix.bytes { Kind::Bytes } else { Kind::String })
    }

    /// Steps over the quotes and what is between them; nothing when it does not end or holds a wrong escape.
    fn body(&mut self, prefix: &Prefix, triple: bool) -> Option<()> {
        let quotes = if triple { 3 } else { 1 };
        self.at += quotes;
        loop {
            let byte = *self.bytes.get(self.at)?;
            if byte == prefix.quote && (0..quotes).all(|ahead| self.peek(ahead) == prefix.quote) {
                self.at += quotes;
                return Some(());
            }
            match byte {
                b'\n' | b'\r' if !triple => return None,
                b'\\' if !prefix.raw => self.at += self.escape()?,
                _ => self.at += 1,
            }
        }
    }

    /// The length of the escape sequence here.
    fn escape(&self) -> Option<usize> {
        let hexadecimal = |count: usize| {
            (2..2 + count).all(|ahead| self.peek(ahead).is_ascii_hexdigit()).then_some(2 + count)
        };
        let octal = |ahead: usize| matches!(self.peek(ahead), b'0'..=b'7');
        match self.peek(1) {
            b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Some(2),
            b'x' | b'X' => hexadecimal(2),
            b'u' => hexadecimal(4),
            b'U' => hexadecimal(8),
            b'0'..=b'3' => (octal(2) && octal(3)).then_some(4),
            _ => None,
        }
    }
}

struct Prefix {
    bytes: bool,
    raw: bool,
    skip: usize,
    quote: u8,
}
