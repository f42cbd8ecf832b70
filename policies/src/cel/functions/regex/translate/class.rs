//! Classes of characters, `[…]`.

use super::{CLASS_RANGE, MISSING_BRACKET, TRAILING, Translation, message};

impl Translation<'_> {
    /// A class in brackets, the opening one, at `start`, read already.
    pub(super) fn class(&mut self, start: usize) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if_eq('^') {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let part = self.at();
            let Some(next) = self.rest.next() else { return self.refuse_all(MISSING_BRACKET, start) };
            match next {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' if self.rest.peek() == Some(':') => self.named_class(start, part)?,
                '\\' if self.class_escape(part)? => {}
                _ => self.range(next, start, part)?,
            }
            first = false;
        }
    }

    /// `[:alpha:]`, or a bracket that is itself.
    fn named_class(&mut self, start: usize, part: usize) -> Result<(), String> {
        let ahead: String = self.rest.0.clone().take(12).collect();
        let Some(end) = ahead.find(":]") else { return self.range('[', start, part) };
        let name = ahead.get(1..end).unwrap_or_default();
        let bare = name.strip_prefix('^').unwrap_or(name);
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        let is_known = NAMES.contains(&bare);
        self.out.push_str("[:");
        self.out.push_str(name);
        self.out.push_str(":]");
        for _ in 0..ahead.get(..end + 2).unwrap_or_default().chars().count() {
            self.rest.next();
        }
        if is_known { Ok(()) } else { self.refuse(CLASS_RANGE, part) }
    }

    /// A class written as an escape within brackets; false if the escape is a character.
    fn class_escape(&mut self, part: usize) -> Result<bool, String> {
        let Some(kind) = self.rest.peek() else { return Err(message(TRAILING, "")) };
        if !matches!(kind, 'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'p' | 'P') {
            return Ok(false);
        }
        // Written as brackets within brackets, which the other library joins.
        self.escape(part)?;
        Ok(true)
    }

    /// One character or a range of them, which begins at `part`, in a class that begins at `start`.
    fn range(&mut self, next: char, start: usize, part: usize) -> Result<(), String> {
        let low = self.class_character(next, part)?;
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('-') || matches!(ahead.peek(), Some(']') | None) {
            self.class_literal(low);
            return Ok(());
        }
        self.rest = ahead;
        let above = self.at();
        let Some(next) = self.rest.next() else { return self.refuse_all(MISSING_BRACKET, start) };
        let high = self.class_character(next, above)?;
        if high < low {
            return self.refuse(CLASS_RANGE, part);
        }
        self.class_literal(low);
        self.out.push('-');
        self.class_literal(high);
        Ok(())
    }

    fn class_character(&mut self, next: char, at: usize) -> Result<char, String> {
        if next != '\\' {
            return Ok(next);
        }
        match self.rest.next() {
            Some(kind) => self.character(kind, at),
            None => Err(message(TRAILING, "")),
        }
    }

    fn class_literal(&mut self, character: char) {
        if character.is_ascii_punctuation() {
            self.out.push('\\');
        }
        self.out.push(character);
    }
}
