//! Go's patterns into those of the `regex` crate.
//!
//! They agree but for this: Go's `\d`, `\w`, `\s` and `\b` know ASCII only; it has `\Q…\E`, `\C`-less escapes and
//! POSIX classes written the same; braces that are no repetition are themselves; in brackets, `[`, `&&`, `--` and
//! `~~` mean nothing; a repetition of a repetition, and one of more than a thousand, is refused.

mod class;

use std::iter::Peekable;
use std::str::Chars;

/// Repetitions of one part, also through those around it.
const MAXIMUM_REPETITIONS: u32 = 1_000;
/// Groups within groups.
const MAXIMUM_DEPTH: usize = 1_000;

pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut translation = Translation {
        pattern,
        rest: pattern.chars().peekable(),
        out: String::with_capacity(pattern.len() + 8),
    };
    translation.run()?;
    Ok(translation.out)
}

struct Translation<'p> {
    pattern: &'p str,
    rest: Peekable<Chars<'p>>,
    out: String,
}

/// What the last thing written was: a repetition may follow an item only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Item,
    Repetition,
}

/// A group that is open, and the largest repetition within it.
struct Group {
    repetitions: u32,
}

impl Translation<'_> {
    fn refuse<T>(&self, reason: &str) -> Result<T, String> {
        Err(format!("error parsing regexp: {reason} in `{}`", self.pattern))
    }

    fn run(&mut self) -> Result<(), String> {
        let mut groups = vec![Group { repetitions: 1 }];
        // The largest repetition within the last item.
        let mut within = 1;
        let mut last = Last::Nothing;
        while let Some(next) = self.rest.next() {
            match next {
                '(' => {
                    last = if self.open()? {
                        if groups.len() >= MAXIMUM_DEPTH {
                            return self.refuse("expression nests too deeply");
                        }
                        groups.push(Group { repetitions: 1 });
                        Last::Nothing
                    } else {
                        Last::Nothing
                    };
                }
                ')' => {
                    let Some(group) = groups.pop().filter(|_| !groups.is_empty()) else {
                        return self.refuse("unexpected )");
                    };
                    within = group.repetitions;
                    self.keep(&mut groups, within);
                    self.out.push(')');
                    last = Last::Item;
                }
                '|' => {
                    self.out.push('|');
                    last = Last::Nothing;
                }
                '*' | '+' | '?' => {
                    last = self.repetition(last, &next.to_string())?;
                }
                '{' => match self.braces() {
                    Some((text, count)) => {
                        let Some(count) =
                            count.filter(|count| count.saturating_mul(within) <= MAXIMUM_REPETITIONS)
                        else {
                            return self.refuse("invalid repeat count");
                        };
                        last = self.repetition(last, &text)?;
                        within = within.saturating_mul(count.max(1));
                        self.keep(&mut groups, within);
                    }
                    None => {
                        self.out.push_str("\\{");
                        (last, within) = (Last::Item, 1);
                    }
                },
                '[' => {
                    self.class()?;
                    (last, within) = (Last::Item, 1);
                }
                '\\' => {
                    self.escape()?;
                    (last, within) = (Last::Item, 1);
                }
                '}' | ']' | '#' | '&' | '~' | '-' => {
                    self.out.push('\\');
                    self.out.push(next);
                    (last, within) = (Last::Item, 1);
                }
                other => {
                    self.out.push(other);
                    (last, within) = (Last::Item, 1);
                }
            }
        }
        if groups.len() > 1 {
            return self.refuse("missing closing )");
        }
        Ok(())
    }

    fn keep(&self, groups: &mut [Group], within: u32) {
        if let Some(group) = groups.last_mut() {
            group.repetitions = group.repetitions.max(within);
        }
    }

    fn repetition(&mut self, last: Last, text: &str) -> Result<Last, String> {
        match last {
            Last::Nothing => return self.refuse("missing argument to repetition operator"),
            Last::Repetition => return self.refuse("invalid nested repetition operator"),
            Last::Item => {}
        }
        self.out.push_str(text);
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        Ok(Last::Repetition)
    }

    /// The repetition after an opening brace and its largest count, if it is one.
    fn braces(&mut self) -> Option<(String, Option<u32>)> {
        let mut ahead = self.rest.clone();
        let mut text = String::from("{");
        loop {
            let next = ahead.next()?;
            text.push(next);
            match next {
                '}' => break,
                '0'..='9' | ',' => {}
                _ => return None,
            }
        }
        let inner = text.get(1..text.len() - 1)?;
        let (least, most) = inner.split_once(',').unwrap_or((inner, inner));
        let canonical = |digits: &str| !digits.is_empty() && (digits.len() == 1 || !digits.starts_with('0'));
        if !canonical(least) || most.contains(',') || !(most.is_empty() || canonical(most)) {
            return None;
        }
        let least: Option<u32> = least.parse().ok();
        let most: Option<u32> = if most.is_empty() { least } else { most.parse().ok() };
        self.rest = ahead;
        let count = match (least, most) {
            (Some(least), Some(most)) if least <= most && most <= MAXIMUM_REPETITIONS => Some(most),
            _ => None,
        };
        Some((text, count))
    }

    /// What an opening parenthesis begins; false if it only sets flags.
    fn open(&mut self) -> Result<bool, String> {
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(true);
        }
        self.out.push('?');
        let named = self.rest.next_if_eq(&'P').is_some();
        if named || self.rest.peek() == Some(&'<') {
            if self.rest.next_if_eq(&'<').is_none() {
                return self.refuse("invalid named capture");
            }
            let mut name = String::new();
            loop {
                match self.rest.next() {
                    Some('>') if !name.is_empty() => break,
                    Some(next) if next.is_alphanumeric() || next == '_' => name.push(next),
                    _ => return self.refuse("invalid named capture"),
                }
            }
            // A name of ours, since the other library wants names to begin with a letter.
            self.out.push_str("P<n_");
            self.out.push_str(&name);
            self.out.push('>');
            return Ok(true);
        }
        let mut negated = false;
        let mut any = false;
        loop {
            match self.rest.next() {
                Some(flag @ ('i' | 'm' | 's' | 'U')) => {
                    self.out.push(flag);
                    any = true;
                }
                Some('-') if !negated => {
                    self.out.push('-');
                    (negated, any) = (true, false);
                }
                Some(end @ (':' | ')')) if !negated || any => {
                    self.out.push(end);
                    return Ok(end == ':');
                }
                _ => return self.refuse("invalid or unsupported Perl syntax"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(next) = self.rest.next() else {
            return self.refuse("trailing backslash at end of expression");
        };
        match next {
            'd' => self.out.push_str("[0-9]"),
            'D' => self.out.push_str("[^0-9]"),
            'w' => self.out.push_str("[0-9A-Za-z_]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            's' => self.out.push_str("[\\t\\n\\x0C\\r ]"),
            'S' => self.out.push_str("[^\\t\\n\\x0C\\r ]"),
            'b' => self.out.push_str("(?-u:\\b)"),
            'B' => self.out.push_str("(?-u:\\B)"),
            'A' => self.out.push_str("\\A"),
            'z' => self.out.push_str("\\z"),
            'Q' => self.quoted(),
            'p' | 'P' => self.property(next)?,
            other => {
                let character = self.character(other)?;
                self.literal(character);
            }
        }
        Ok(())
    }

    /// Everything up to `\E` as it is.
    fn quoted(&mut self) {
        while let Some(next) = self.rest.next() {
            if next == '\\' && self.rest.next_if_eq(&'E').is_some() {
                return;
            }
            self.literal(next);
        }
    }

    fn literal(&mut self, character: char) {
        if r"\.+*?()|[]{}^$#&-~".contains(character) {
            self.out.push('\\');
        }
        self.out.push(character);
    }

    fn property(&mut self, kind: char) -> Result<(), String> {
        let mut name = String::new();
        match self.rest.next() {
            Some('{') => loop {
                match self.rest.next() {
                    Some('}') => break,
                    Some(next) => name.push(next),
                    None => return self.refuse("invalid character class range"),
                }
            },
            Some(next) => name.push(next),
            None => return self.refuse("invalid character class range"),
        }
        let (negated, name) = match name.strip_prefix('^') {
            Some(name) => (kind == 'p', name),
            None => (kind == 'P', name.as_str()),
        };
        self.out.push_str(if negated { "\\P{" } else { "\\p{" });
        self.out.push_str(name);
        self.out.push('}');
        Ok(())
    }

    /// The character that an escape other than a class stands for.
    fn character(&mut self, kind: char) -> Result<char, String> {
        let value = match kind {
            'a' => 7,
            'f' => 12,
            't' => 9,
            'n' => 10,
            'r' => 13,
            'v' => 11,
            'x' => return self.hexadecimal(),
            // Octal needs a leading zero or three digits in all.
            '0' => return Ok(self.octal(0, 2)),
            '1'..='7' => match self.rest.peek() {
                Some('0'..='7') => {
                    let first = kind.to_digit(8).unwrap_or(0);
                    return Ok(self.octal(first, 2));
                }
                _ => return self.refuse("invalid escape sequence"),
            },
            other if other.is_ascii_punctuation() => return Ok(other),
            _ => return self.refuse("invalid escape sequence"),
        };
        Ok(char::from(value))
    }

    fn octal(&mut self, first: u32, digits: usize) -> char {
        let mut value = first;
        for _ in 0..digits {
            match self.rest.peek().and_then(|next| next.to_digit(8)) {
                Some(digit) => {
                    value = value * 8 + digit;
                    self.rest.next();
                }
                None => break,
            }
        }
        char::from_u32(value).unwrap_or_default()
    }

    fn hexadecimal(&mut self) -> Result<char, String> {
        let mut digits = String::new();
        match self.rest.next() {
            Some('{') => loop {
                match self.rest.next() {
                    Some('}') => break,
                    Some(next) if next.is_ascii_hexdigit() => digits.push(next),
                    _ => return self.refuse("invalid escape sequence"),
                }
            },
            Some(first) => {
                digits.push(first);
                digits.extend(self.rest.next());
            }
            None => return self.refuse("invalid escape sequence"),
        }
        let value = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() <= 8);
        match value.and_then(char::from_u32) {
            Some(character) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => Ok(character),
            _ => self.refuse("invalid escape sequence"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::cel::cost::Meter;
    use crate::cel::functions::regex::Pattern;

    #[test]
    fn patterns_match_what_go_matches() {
        for (pattern, text, expected) in [
            (r"^\d+$", "123", true),
            (r"^\d$", "٣", false),
            (r"^[\w.]+$", "a.b", true),
            (r"^[^\d\s]+$", "ab", true),
            (r"^[^\d\s]+$", "a1", false),
            (r"^[\D]$", "a", true),
            (r"\Qa.b\E", "axb", false),
            (r"\Qa.b\E", "a.b", true),
            ("^a{2}$", "aa", true),
            ("^a{,2}$", "a{,2}", true),
            ("^a{$", "a{", true),
            ("^[a&&b]+$", "&", true),
            ("^[[a]$", "[", true),
            ("^[]a]$", "]", true),
            ("^[a-]$", "-", true),
            ("^[[:alpha:]]+$", "abc", true),
            (r"^\x41\x{42}\103$", "ABC", true),
            (r"^\pL\p{^L}$", "a1", true),
            ("(?i)ABC", "abc", true),
            ("(?P<1a>x)", "x", true),
            ("a-b#c~d&e", "a-b#c~d&e", true),
            (r"\bfoo\b", "a foo b", true),
            ("a(?:b|c)*?$", "abcb", true),
            ("", "anything", true),
        ] {
            let regex = Pattern::compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            let found = regex.is_match(&mut Meter::new(0), text);
            assert_eq!(found.ok(), Some(expected), "{pattern} on {text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "a**",
            "*a",
            "a{1001}",
            "(a{100}){100}",
            "(",
            ")",
            "[",
            "[z-a]",
            r"\8",
            r"\c",
            "(?=a)",
            "(?<!a)",
            "a\\",
            "(?P<>a)",
            r"\p{Nope}",
            "[[:nope:]]",
            "a{3,2}",
            "x{2}{3}",
            "(?x)a",
        ] {
            assert!(Pattern::compile(pattern).is_err(), "{pattern}");
        }
    }
}
