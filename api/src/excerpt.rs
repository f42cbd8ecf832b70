//! How a message quotes what a user wrote.

/// Longer input says nothing more to a reader, and a message must stay bounded whatever was sent.
const LONGEST: usize = 64;

/// The user's text as a message may quote it: control characters made visible, cut after 64 characters.
pub fn excerpt(text: &str) -> String {
    if text.len() <= LONGEST && !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    let mut shown = String::new();
    for character in text.chars().take(LONGEST) {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn short_text_is_quoted_as_it_is() {
        assert_eq!(excerpt("16Gi"), "16Gi");
        assert_eq!(excerpt(&"9".repeat(64)), "9".repeat(64));
    }

    #[test]
    fn long_text_is_cut_and_control_characters_are_visible() {
        assert_eq!(excerpt(&"9".repeat(65)), format!("{}…", "9".repeat(64)));
        assert_eq!(excerpt("1\n2"), "1\\n2");
    }
}
