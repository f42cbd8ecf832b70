//! Classes of characters, `[…]`.

use super::Translation;

impl Translation<'_> {
    /// A class in brackets, the opening one read already.
    pub(super) fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some(next) = self.rest.next() else { return self.refuse("missing closing ]") };
            match next {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' if self.rest.peek() == Some(&':') => self.named_class()?,
                '\\' if self.class_escape()? => {}
                _ => self.range(next)?,
            }
            first = false;
        }
    }

    /// `[:alpha:]`, or a bracket that is itself.
    pub(super) fn named_class(&mut self) -> Result<(), String> {
        let ahead: String = self.rest.clone().take(12).collect();
        let Some(end) = ahead.find(":]") else { return self.range('[') };
        let name = ahead.get(1..end).unwrap_or_default();
        let bare = name.strip_prefix('^').unwrap_or(name);
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        if !NAMES.contains(&bare) {
            return self.refuse("invalid character class range");
        }
        self.out.push_str("[:");
        self.out.push_str(name);
        self.out.push_str(":]");
        for _ in 0..end + 2 {
            self.rest.next();
        }
        Ok(())
    }

    /// A class written as an escape within brackets; false if the escape is a character.
    pub(super) fn class_escape(&mut self) -> Result<bool, String> {
        let Some(kind) = self.rest.peek().copied() else {
            return self.refuse("trailing backslash at end of expression");
        };
        if !matches!(kind, 'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'p' | 'P') {
            return Ok(false);
        }
        // Written as brackets within brackets, which the other library joins.
        self.escape()?;
        Ok(true)
    }

    /// One character or a range of them.
    pub(super) fn range(&mut self, next: char) -> Result<(), String> {
        let low = self.class_character(next)?;
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('-') || matches!(ahead.peek(), Some(']') | None) {
            self.class_literal(low);
            return Ok(());
        }
        self.rest = ahead;
        let Some(next) = self.rest.next() else { return self.refuse("missing closing ]") };
        let high = self.class_character(next)?;
        if high < low {
            return self.refuse("invalid character class range");
        }
        self.class_literal(low);
        self.out.push('-');
        self.class_literal(high);
        Ok(())
    }

    pub(super) fn class_character(&mut self, next: char) -> Result<char, String> {
        if next != '\\' {
            return Ok(next);
        }
        match self.rest.next() {
            Some(kind) => self.character(kind),
            None => self.refuse("trailing backslash at end of expression"),
        }
    }

    pub(super) fn class_literal(&mut self, character: char) {
        if character.is_ascii_punctuation() {
            self.out.push('\\');
        }
        self.out.push(character);
    }
}
