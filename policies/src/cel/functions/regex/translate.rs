//! Go's patterns into those of the `regex` crate.
//!
//! They agree but for this: Go's `\d`, `\w`, `\s` and `\b` know ASCII only; it has `\Q…\E`, `\C`-less escapes and
//! POSIX classes written the same; braces that are no repetition are themselves; in brackets, `[`, `&&`, `--` and
//! `~~` mean nothing; a repetition of a repetition, and one of more than a thousand, is refused.

mod class;

use std::str::Chars;

/// Repetitions of one part, also through those around it.
const MAXIMUM_REPETITIONS: u32 = 1_000;
/// Groups within groups.
const MAXIMUM_DEPTH: usize = 1_000;

const CLASS_RANGE: &str = "invalid character class range";
const ESCAPE: &str = "invalid escape sequence";
const MISSING_BRACKET: &str = "missing closing ]";
const REPEAT_COUNT: &str = "invalid repeat count";
const TRAILING: &str = "trailing backslash at end of expression";

fn message(reason: &str, part: &str) -> String {
    format!("error parsing regexp: {reason}: `{part}`")
}

pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut translation =
        Translation { pattern, rest: Rest(pattern.chars()), out: String::with_capacity(pattern.len() + 8) };
    translation.run()?;
    Ok(translation.out)
}

struct Translation<'p> {
    pattern: &'p str,
    rest: Rest<'p>,
    out: String,
}

/// What is still to be read.
#[derive(Clone)]
struct Rest<'p>(Chars<'p>);

impl Rest<'_> {
    fn next(&mut self) -> Option<char> {
        self.0.next()
    }

    fn peek(&self) -> Option<char> {
        self.0.clone().next()
    }

    fn next_if_eq(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.0.next();
        }
        is_next
    }

    fn len(&self) -> usize {
        self.0.as_str().len()
    }
}

/// What the last thing written was: a repetition may follow an item only.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Item,
    /// Where it began.
    Repetition(usize),
}

/// A group that is open, and the largest repetition within it.
struct Group {
    repetitions: u32,
}

impl Translation<'_> {
    /// How many bytes were read.
    fn at(&self) -> usize {
        self.pattern.len() - self.rest.len()
    }

    /// Says what is wrong with what was read from there on, in Go's words.
    fn refuse<T>(&self, reason: &str, from: usize) -> Result<T, String> {
        Err(message(reason, self.pattern.get(from..self.at()).unwrap_or_default()))
    }

    /// The same of everything from there to the end.
    fn refuse_all<T>(&self, reason: &str, from: usize) -> Result<T, String> {
        Err(message(reason, self.pattern.get(from..).unwrap_or_default()))
    }

    fn run(&mut self) -> Result<(), String> {
        let mut groups = vec![Group { repetitions: 1 }];
        // The largest repetition within the last item.
        let mut within = 1;
        let mut last = Last::Nothing;
        loop {
            let start = self.at();
            let Some(next) = self.rest.next() else { break };
            match next {
                '(' => {
                    last = if self.open(start)? {
                        if groups.len() >= MAXIMUM_DEPTH {
                            return self.refuse_all("expression nests too deeply", 0);
                        }
                        groups.push(Group { repetitions: 1 });
                        Last::Nothing
                    } else {
                        Last::Nothing
                    };
                }
                ')' => {
                    let Some(group) = groups.pop().filter(|_| !groups.is_empty()) else {
                        return self.refuse_all("unexpected )", 0);
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
                    last = self.repetition(last, &next.to_string(), start)?;
                }
                '{' => match self.braces() {
                    Some((text, count)) => {
                        let Some(count) = count else { return self.refuse(REPEAT_COUNT, start) };
                        last = self.repetition(last, &text, start)?;
                        within = within.saturating_mul(count.max(1));
                        if within > MAXIMUM_REPETITIONS {
                            return self.refuse(REPEAT_COUNT, start);
                        }
                        self.keep(&mut groups, within);
                    }
                    None => {
                        self.out.push_str("\\{");
                        (last, within) = (Last::Item, 1);
                    }
                },
                '[' => {
                    self.class(start)?;
                    (last, within) = (Last::Item, 1);
                }
                '\\' => {
                    self.escape(start)?;
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
            return self.refuse_all("missing closing )", 0);
        }
        Ok(())
    }

    fn keep(&self, groups: &mut [Group], within: u32) {
        if let Some(group) = groups.last_mut() {
            group.repetitions = group.repetitions.max(within);
        }
    }

    fn repetition(&mut self, last: Last, text: &str, start: usize) -> Result<Last, String> {
        self.out.push_str(text);
        if self.rest.next_if_eq('?') {
            self.out.push('?');
        }
        match last {
            Last::Nothing => self.refuse("missing argument to repetition operator", start),
            Last::Repetition(before) => self.refuse("invalid nested repetition operator", before),
            Last::Item => Ok(Last::Repetition(start)),
        }
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
    fn open(&mut self, start: usize) -> Result<bool, String> {
        self.out.push('(');
        if !self.rest.next_if_eq('?') {
            return Ok(true);
        }
        self.out.push('?');
        let named = self.rest.peek() == Some('<') || self.rest.0.as_str().starts_with("P<");
        if named {
            return self.name(start);
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
                _ => return self.refuse("invalid or unsupported Perl syntax", start),
            }
        }
    }

    fn name(&mut self, start: usize) -> Result<bool, String> {
        const REFUSED: &str = "invalid named capture";
        let mut name = String::new();
        let mut is_valid = true;
        self.rest.next_if_eq('P');
        self.rest.next_if_eq('<');
        loop {
            match self.rest.next() {
                Some('>') => break,
                Some(next) => {
                    is_valid &= next.is_alphanumeric() || next == '_';
                    name.push(next);
                }
                None => return self.refuse(REFUSED, start),
            }
        }
        if !is_valid || name.is_empty() {
            return self.refuse(REFUSED, start);
        }
        // A name of ours, since the other library wants names to begin with a letter.
        self.out.push_str("P<n_");
        self.out.push_str(&name);
        self.out.push('>');
        Ok(true)
    }

    /// What follows a backslash at `start`.
    fn escape(&mut self, start: usize) -> Result<(), String> {
        let Some(next) = self.rest.next() else { return Err(message(TRAILING, "")) };
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
            'p' | 'P' => self.property(next, start)?,
            other => {
                let character = self.character(other, start)?;
                self.literal(character);
            }
        }
        Ok(())
    }

    /// Everything up to `\E` as it is.
    fn quoted(&mut self) {
        while let Some(next) = self.rest.next() {
            if next == '\\' && self.rest.next_if_eq('E') {
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

    fn property(&mut self, kind: char, start: usize) -> Result<(), String> {
        let mut name = String::new();
        match self.rest.next() {
            Some('{') => loop {
                match self.rest.next() {
                    Some('}') => break,
                    Some(next) => name.push(next),
                    None => return self.refuse(CLASS_RANGE, start),
                }
            },
            Some(next) => name.push(next),
            None => return self.refuse(CLASS_RANGE, start),
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

    /// The character that an escape other than a class, with a backslash at `start`, stands for.
    fn character(&mut self, kind: char, start: usize) -> Result<char, String> {
        let value = match kind {
            'a' => 7,
            'f' => 12,
            't' => 9,
            'n' => 10,
            'r' => 13,
            'v' => 11,
            'x' => return self.hexadecimal(start),
            // Octal needs a leading zero or three digits in all.
            '0' => return Ok(self.octal(0, 2)),
            '1'..='7' => match self.rest.peek() {
                Some('0'..='7') => {
                    let first = kind.to_digit(8).unwrap_or(0);
                    return Ok(self.octal(first, 2));
                }
                _ => return self.refuse(ESCAPE, start),
            },
            other if other.is_ascii_punctuation() => return Ok(other),
            _ => return self.refuse(ESCAPE, start),
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

    fn hexadecimal(&mut self, start: usize) -> Result<char, String> {
        let mut digits = String::new();
        match self.rest.next() {
            Some('{') => loop {
                match self.rest.next() {
                    Some('}') => break,
                    Some(next) if next.is_ascii_hexdigit() => digits.push(next),
                    _ => return self.refuse(ESCAPE, start),
                }
            },
            Some(first) => {
                digits.push(first);
                digits.extend(self.rest.next());
            }
            None => return self.refuse(ESCAPE, start),
        }
        let value = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() <= 8);
        match value.and_then(char::from_u32) {
            Some(character) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => Ok(character),
            _ => self.refuse(ESCAPE, start),
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

    #[test]
    fn the_part_that_is_wrong_is_told_as_go_tells_it() {
        for (pattern, expected) in [
            ("ab[", "missing closing ]: `[`"),
            ("ab(c", "missing closing ): `ab(c`"),
            ("ab)c", "unexpected ): `ab)c`"),
            ("ab[z-a]c", "invalid character class range: `z-a`"),
            ("a[[:nope:]]", "invalid character class range: `[:nope:]`"),
            (r"a\p{", r"invalid character class range: `\p{`"),
            ("ab**c", "invalid nested repetition operator: `**`"),
            ("a{2}{3}?c", "invalid nested repetition operator: `{2}{3}?`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("ab{1001}c", "invalid repeat count: `{1001}`"),
            ("(a{100}){100}c", "invalid repeat count: `{100}`"),
            (r"a\1b", r"invalid escape sequence: `\1`"),
            (r"a[\8]", r"invalid escape sequence: `\8`"),
            (r"a\xzzb", r"invalid escape sequence: `\xzz`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
            ("a(?<=b)c", "invalid named capture: `(?<=b)c`"),
            ("a(?P<b-c>d)", "invalid named capture: `(?P<b-c>`"),
        ] {
            let error = Pattern::compile(pattern).err();
            assert_eq!(error, Some(format!("error parsing regexp: {expected}")), "{pattern}");
        }
    }
}
