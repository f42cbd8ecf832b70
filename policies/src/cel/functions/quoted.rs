//! Texts as Go quotes them, which is how errors show them.

use std::fmt::Write as _;

pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            _ if is_shown(character) => quoted.push(character),
            _ => {
                let code = u32::from(character);
                // Writing into a text cannot fail.
                let _ = match code {
                    0..=0x7f => write!(quoted, "\\x{code:02x}"),
                    0x80..=0xffff => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a character can be seen. A mark that joins the letter before it can.
fn is_shown(character: char) -> bool {
    let text: String = ['a', character].iter().collect();
    character == '\'' || text.escape_debug().eq(text.chars())
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn texts_are_quoted_as_go_quotes_them() {
        for (text, expected) in [
            ("v1.2", r#""v1.2""#),
            ("a\"b\\c'd", r#""a\"b\\c'd""#),
            ("\x01\x07\n\x7f", r#""\x01\a\n\x7f""#),
            ("ü世🌍e\u{301}", "\"ü世🌍e\u{301}\""),
            ("a\u{a0}b\u{200b}", r#""a\u00a0b\u200b""#),
            ("\u{e0001}", r#""\U000e0001""#),
        ] {
            assert_eq!(quoted(text), expected, "{text:?}");
        }
    }
}
